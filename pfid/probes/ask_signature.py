"""Would an installed class take these keyword arguments?

Asked: ``folder``, ``probes`` (this folder), ``signature_file`` (pfid/trainer/signature.py),
``targets``: a list of ``{"target": "module:Class", "arguments": {...}}``.
Answer: ``{"targets": [...]}``, one for each, in order: ``missing`` (why it cannot be imported) or
``why`` (why it has no signature), ``unknown``, ``unseen``, ``changed``, each a list of pairs.
"""

import importlib.util
import sys
from typing import Any, Dict


def _module(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Hold each list of arguments against its class."""
    loading = _module("pfid_loading", asked["probes"] + "/loading.py")
    signature = _module("pfid_signature", asked["signature_file"])
    loading.enter(asked["folder"])
    return {"targets": [_one(loading, signature, one) for one in asked["targets"]]}


def _one(loading: Any, signature: Any, asked: Dict[str, Any]) -> Dict[str, Any]:
    try:
        target = loading.load(asked["target"])
    except loading.MissingError as error:
        return {"missing": str(error)}
    found = signature.accepts(target, asked["arguments"])
    return {
        "why": found.why,
        "unknown": [[u.name, u.nearest] for u in found.unknown],
        "unseen": [[u.name, u.nearest] for u in found.unseen],
        "changed": [list(pair) for pair in found.changed],
    }
