"""JSON that any reader takes: what is not finite becomes its name, what is foreign its text."""

import json
import math
from typing import Any

MAX_DEPTH = 16
"""Deeper than this a value is written as its text: it may hold itself."""


def json_line(value: Any) -> bytes:
    """One line of ASCII JSON with its end."""
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False)
    return text.encode("ascii") + b"\n"


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """``value`` as JSON can say it."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(float(value))
    if depth and isinstance(value, dict):
        return {str(key): plain(each, depth - 1) for key, each in value.items()}
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each, depth - 1) for each in value]
    return plain(value.item(), 0) if depth and _is_scalar(value) else str(value)


def _is_scalar(value: Any) -> bool:
    """Whether it is a single number of torch or numpy."""
    return getattr(value, "shape", None) == () and callable(getattr(value, "item", None))
