"""Which fused kernels does the installed modelling code of a model look for, and are they there?

Asked: ``model_type`` of the model (and of its text part), ``config``: fields for the class's own
defaults, ``want_layers``: whether those are wanted.
Answer: ``{"transformers", "needed": ["package:function"], "missing": [[name, why]],
"layer_types": [...], "boundaries": bool}`` or ``{"problem": code, "detail": text}``.

The modelling file is parsed, never imported: what it decorates with a fallback, what it imports
behind an ``is_..._available`` and which kernels it loads lazily are what it looks for. Then each
package is imported here, in the interpreter that trains: one that is installed and cannot be
imported counts as missing.
"""

import ast
import importlib
import importlib.util
import os
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

FALLBACK = "use_kernel_func_from_hub_with_fallback"
LAZY = "lazy_load_kernel"
# Not mambapy: another way without a kernel, which configurations leave off (use_mambapy).
PACKAGES = ("fla", "causal_conv1d", "mamba_ssm", "flash_linear_attention", "rwkv")
AVAILABLE = {
    "is_flash_linear_attention_available": "fla",
    "is_causal_conv1d_available": "causal_conv1d",
    "is_mamba_2_ssm_available": "mamba_ssm",
    "is_mamba_ssm_available": "mamba_ssm",
}
RECURRENT_WORDS = ("delta_rule", "scan", "conv1d", "kda", "ssd", "lightning")
BOUNDARIES = ("cu_seqlens", "seq_idx", "cu_seq_lens")
PROBLEM_MAX = 300


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Find the modelling file, read it, import what it names."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        return {"problem": "no_transformers", "detail": "transformers is not installed"}
    root = next(iter(spec.submodule_search_locations))
    version = _version()
    found = [_modelling(root, str(kind)) for kind in asked["model_type"] if kind]
    paths = [path for path in found if path]
    if not paths:
        return {"problem": "class_unknown", "detail": "transformers " + version, **_said(version)}
    needed: List[str] = []
    for path in paths:
        for name in _looked_for(path):
            if name not in needed:
                needed.append(name)
    missing = [(name, why) for name, why in ((n, _why_not(n)) for n in needed) if why]
    return {
        **_said(version),
        "needed": needed,
        "missing": [list(pair) for pair in missing],
        "layer_types": _layer_types(asked),
        "boundaries": any(_hands_boundaries(path) for path in paths),
    }


def _said(version: str) -> Dict[str, Any]:
    return {"transformers": version, "needed": [], "missing": [], "layer_types": []}


def _version() -> str:
    from importlib.metadata import version

    try:
        return version("transformers")
    except Exception:  # noqa: BLE001 - a source tree on the path has no distribution
        return ""


def _modelling(root: str, kind: str) -> Optional[str]:
    """The modelling file of a model type, or of the longer type it is the text part of."""
    longer = kind[: -len("_text")] if kind.endswith("_text") else kind  # noqa: FURB188 - 3.9 reads it
    for word in (kind, longer):
        name = word.replace("-", "_").replace(".", "_")
        if not name.isidentifier():  # a path is no model type
            continue
        path = os.path.join(root, "models", name, "modeling_" + name + ".py")  # noqa: PTH118
        if os.path.isfile(path):  # noqa: PTH113
            return path
    return None


def _looked_for(path: str) -> Iterator[str]:
    """``package:function`` for each kernel that a modelling file looks for."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        tree = ast.parse(file.read())
    seen: Set[str] = set()
    for name in _named(tree):
        if name not in seen:
            seen.add(name)
            yield name


def _hands_boundaries(path: str) -> bool:
    """Whether a recurrent function or short convolution is told where packed documents meet."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        nodes = list(ast.walk(ast.parse(file.read())))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    recurrent = [c for c in calls if any(w in _last_name(c.func) for w in RECURRENT_WORDS)]
    return any(keyword.arg in BOUNDARIES for call in recurrent for keyword in call.keywords)


def _named(tree: ast.AST) -> Iterator[str]:
    packages: Set[str] = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        for name in _by_call(node) if isinstance(node, ast.Call) else _by_import(node):
            packages.add(name.partition(":")[0].split(".")[0])
            yield name
    for node in nodes:
        if isinstance(node, ast.Call):
            package = AVAILABLE.get(_last_name(node.func), "")
            if package and package not in packages:
                packages.add(package)
                yield package + ":"


def _by_call(node: ast.Call) -> Iterator[str]:
    words = [a.value for a in node.args if isinstance(a, ast.Constant)]
    texts = [word for word in words if isinstance(word, str)]
    called = _last_name(node.func)
    if called == FALLBACK and len(texts) > 1:
        yield texts[1] + ":" + texts[0]
    elif called == LAZY and texts:
        yield texts[0].replace("-", "_") + ":"


def _by_import(node: ast.AST) -> Iterator[str]:
    known = isinstance(node, ast.ImportFrom) and not node.level and node.module
    if known and str(known).split(".")[0] in PACKAGES:
        for alias in node.names:  # type: ignore[attr-defined]
            yield str(known) + ":" + alias.name


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _why_not(name: str) -> str:
    """Why a kernel cannot be had; "" if it can."""
    package, _, function = name.partition(":")
    try:
        module = importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - what a broken binary raises when imported
        return (type(error).__name__ + ": " + str(error))[:PROBLEM_MAX]
    if not function or hasattr(module, function) or _deeper(package, function):
        return ""
    return "AttributeError: " + package + " has no " + function


def _deeper(package: str, function: str) -> bool:
    """Whether a module inside the package has the function: some do not export it at the top."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for folder in folders:
        for at, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py") and _defines(os.path.join(at, name), function):  # noqa: PTH118
                    return True
    return False


def _defines(path: str, function: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return ("def " + function + "(") in file.read()
    except OSError:
        return False


def _layer_types(asked: Dict[str, Any]) -> List[str]:
    """As the class itself completes them; code of the checkpoint is never loaded."""
    for kind, fields in _classes(asked):
        try:
            from transformers import CONFIG_MAPPING

            config = CONFIG_MAPPING[kind](**fields)
            words = getattr(config.get_text_config(), "layer_types", None)
        except Exception:  # noqa: BLE001, S112 - a class refuses fields in its own way
            continue
        if words:
            return [str(word) for word in words]
    return []


def _classes(asked: Dict[str, Any]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    fields = asked.get("config")
    if isinstance(fields, dict) and fields.get("model_type") and asked.get("want_layers"):
        given = {k: v for k, v in fields.items() if k not in ("model_type", "auto_map")}
        yield str(fields["model_type"]), given
