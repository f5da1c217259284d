"""Which class does the engine itself load for a model, and what does that class say it can do?

Asked: ``engine``, ``architectures``, ``providers``: pairs of module and class. The engine is
imported, its plugins are loaded as it would.
Answer: ``{"architecture", "class", "module", "order": [names], "mapping": [bool or None],
"lora": bool}``; ``mapping`` is, for each provider, whether that class has ``get_expert_mapping``,
None where the engine has no such class; or ``{"problem", "detail"}``.
"""

import importlib
from typing import Any, Dict, List, Optional

WANTED = "get_expert_mapping"
DETAIL_MAX = 300


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Import, and ask the class."""
    engine = str(asked["engine"])
    try:
        _load_plugins(engine)
        models = importlib.import_module(engine + ".model_executor.models")
        registry = models.ModelRegistry
        interfaces = importlib.import_module(engine + ".model_executor.models.interfaces")
        for name in asked["architectures"]:
            if name in registry.models:
                found = registry.models[name].load_model_cls()
                mapping = [_maps(str(m), str(c)) for m, c in asked.get("providers", [])]
                return _said(str(name), found, interfaces, mapping)
    except BaseException as error:  # noqa: BLE001 - an engine raises what it likes, SystemExit too
        detail = type(error).__name__ + ": " + str(error)
        return {"problem": "engine_not_imported", "detail": detail[:DETAIL_MAX]}
    return {"problem": "architecture_unknown", "detail": "not in the engine's registry"}


def _load_plugins(engine: str) -> None:
    plugins = importlib.import_module(engine + ".plugins")
    plugins.load_general_plugins()


def _maps(module: str, name: str) -> Optional[bool]:
    found = getattr(importlib.import_module(module), name, None)
    return callable(getattr(found, WANTED, None)) if isinstance(found, type) else None


def _said(name: str, found: Any, interfaces: Any, mapping: List[Optional[bool]]) -> Dict[str, Any]:
    return {
        "architecture": name,
        "class": found.__name__,
        "module": found.__module__,
        "order": [c.__name__ for c in found.__mro__],
        "mapping": mapping,
        "lora": bool(interfaces.supports_lora(found)),
    }
