"""Conditions of an engine's source that the hardware platform decides, and which it was built for.

Some classes are written once a platform: a module takes its class from another file on each, by
``current_platform.is_rocm()`` and the like. Under one platform such conditions hold or do not.
"""

import ast
import re
from collections.abc import Callable
from typing import Final

from pfid.formats.python_source.bindings import constant_truth, dotted

PLATFORMS: Final = ("cuda", "rocm", "xpu", "cpu", "tpu")
"""Those that vLLM itself knows; others come with plugins."""
_CURRENT: Final = "current_platform"
_ASKS: Final = {f"is_{name}": frozenset({name}) for name in PLATFORMS} | {
    "is_cuda_alike": frozenset({"cuda", "rocm"}),
    "is_out_of_tree": frozenset(),
}
_DEVICE_TYPES: Final = {name: name for name in PLATFORMS} | {"rocm": "cuda"}
"""As torch calls the device of each."""
_BUILT: Final = re.compile(r"(?P<name>rocm|xpu|tpu|cpu|cuda|cu)[\d]*")
_NO_WORD: Final = re.compile(r"g[0-9a-f]{6,40}|d\d{8}|precompiled")
"""Parts of a version's local label that say which commit was built and when."""


def built_for(version: str) -> str:
    """The platform that a distribution of vLLM was built for; "" if its version does not tell.

    Source: vLLM's ``setup.py`` labels a version with every platform but the main one, CUDA.
    """
    public, _, label = version.strip().lower().partition("+")
    words = [w for w in re.split(r"[._-]", label) if w and not _NO_WORD.fullmatch(w)]
    if not public:
        return ""
    found = [_BUILT.fullmatch(word) for word in words]
    names = {"cuda" if one["name"] == "cu" else one["name"] for one in found if one is not None}
    if None in found or len(names) > 1:
        return ""
    return names.pop() if names else "cuda"


def deciding(platform: str) -> Callable[[ast.expr], bool | None]:
    """What tells whether a condition holds under a platform; "" decides what is constant alone."""

    def holds(test: ast.expr) -> bool | None:
        return _holds(test, platform)

    return holds


def _holds(test: ast.expr, platform: str) -> bool | None:
    found = constant_truth(test)
    if found is not None:
        return found
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(test.operand, platform)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return several([_holds(part, platform) for part in test.values], test.op)
    if not platform:
        return None
    if isinstance(test, ast.Call) and not test.args and not test.keywords:
        return _asked(dotted(test.func), platform)
    return _compared(test, platform) if isinstance(test, ast.Compare) else None


def several(parts: list[bool | None], joined: ast.boolop) -> bool | None:
    """Conditions joined by ``and`` or ``or``; None where one that is not decided decides."""
    ending = isinstance(joined, ast.Or)
    if ending in parts:
        return ending
    return None if None in parts else not ending


def _asked(path: str, platform: str) -> bool | None:
    holder, _, name = path.rpartition(".")
    if holder.rpartition(".")[2] != _CURRENT or name not in _ASKS:
        return None
    return platform in _ASKS[name]


def _compared(test: ast.Compare, platform: str) -> bool | None:
    """``current_platform.device_type == "tpu"``."""
    path, other = dotted(test.left).split("."), test.comparators[0]
    if path[-2:] != [_CURRENT, "device_type"] or not isinstance(other, ast.Constant):
        return None
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    same = _DEVICE_TYPES[platform] == other.value
    return same == isinstance(test.ops[0], ast.Eq)
