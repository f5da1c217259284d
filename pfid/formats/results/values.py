"""Values of a record as types; what is no such value makes the record bad."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from pfid.formats.results.problems import RecordError

WORDS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("C", "correct", "yes", "true", "pass"), 1.0),
    **dict.fromkeys(("I", "N", "incorrect", "no", "false", "fail", "noanswer"), 0.0),
    "P": 0.5,
}
"""How evaluation tools spell a score in letters (inspect-ai: correct, incorrect, partial, none)."""
SHOWN_CHARS: Final = 80
_ABSENT: Final = object()


def looked_up(data: Any, key: str) -> Any:
    """What stands under a dotted key; None if nothing does. A key that holds dots goes first."""
    found = _step(data, key)
    if found is not _ABSENT:
        return found
    head, dot, rest = key.partition(".")
    while dot:
        below = _step(data, head)
        if below is not _ABSENT:
            deeper = looked_up(below, rest)
            if deeper is not None:
                return deeper
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def _step(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        return data.get(key, _ABSENT)
    if isinstance(data, list) and key.lstrip("-").isdecimal() and len(key) < 10:
        place = int(key)
        return data[place] if -len(data) <= place < len(data) else _ABSENT
    return _ABSENT


def text(value: Any, what: str) -> str:
    """A text, a number as one, or messages joined.

    Raises:
        RecordError: if it is none of them.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list):
        return "\n".join(_part(part, what) for part in value)
    if isinstance(value, dict) and "content" in value:
        return text(value["content"], what)
    raise RecordError(f"{what}_is_no_text", shown(value))


def _part(part: Any, what: str) -> str:
    if isinstance(part, dict):
        inner = next((part[k] for k in ("content", "text", "reasoning") if part.get(k)), "")
        return text(inner, what)
    return text(part, what)


def whole(value: Any, what: str) -> int | None:
    """A whole number, also as text; None for null.

    Raises:
        RecordError: if it is none.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("-").isdecimal():
        return int(value)
    raise RecordError(f"{what}_is_no_number", shown(value))


def count(value: Any, what: str) -> int | None:
    """A whole number that is not negative.

    Raises:
        RecordError: if it is none.
    """
    found = whole(value, what)
    if found is not None and found < 0:
        raise RecordError(f"{what}_is_negative", shown(value))
    return found


def score(value: Any, name: str) -> float | None:
    """A finite number, a truth value, or a letter that stands for one; None for null.

    Raises:
        RecordError: if it is none; NaN and infinity are no scores.
    """
    if value is None:
        return None
    if isinstance(value, bool | int):
        if abs(value) > 2**53:
            raise RecordError("score_is_no_number", f"{name}: {shown(value)}")
        return float(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError("score_is_nan", f"{name} is {value}")
        return value
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    raise RecordError("score_is_no_number", f"{name}: {shown(value)}")


def words(value: Any, what: str) -> tuple[str, ...]:
    """Flags: a word, a list of words, or a table whose true entries count.

    Raises:
        RecordError: if it is none of them.
    """
    if value in (None, "", False):
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict) and all(isinstance(v, bool) for v in value.values()):
        return tuple(str(name) for name, on in value.items() if on)
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise RecordError(f"{what}_are_no_words", shown(value))


def shown(value: Any) -> str:
    """The beginning of a value, for the owner."""
    try:
        said = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        said = type(value).__name__
    return said[:SHOWN_CHARS]
