"""Two numbers that are the ends of one range, and numbers that share the unit of a later one."""

import re
from collections.abc import Sequence
from typing import Final

from pfid.formats.number_words import Written, joins
from pfid.formats.units import UNIT_AFTER

LOW_NAMES: Final = (
    r"(?:low(?:er|est)?|lo|min(?:imum)?|from|start|begin|p5|p10|p25|q1|left|bottom|floor)"
)
"""What the lower end of a range is called."""
_HIGH: Final = (
    r"(?:hi(?:gh(?:er|est)?)?|max(?:imum)?|upper|to|until|stop|end|p75|p90|p95|q3|right|top|ceil)"
)
_NAMED_LOW: Final = re.compile(
    rf"(?:\b|_){LOW_NAMES}(?:_\w*)?[\"'\])]*\s*(?:[=:]|:=|=>|is)?\s*[({{\[]*\Z", re.IGNORECASE
)
_NAMED_HIGH: Final = re.compile(
    rf"[\s\"',;)}}\]%/|]*\s*(?:\w*_)?(?:{_HIGH})(?:_\w*)?[\"'\])]*\s*(?:[=:]|:=|=>|is)?\s*[({{\[]*\Z",
    re.IGNORECASE,
)
_LOW_OVER: Final = re.compile(rf"(?:\b|_){LOW_NAMES}(?:\b|_)", re.IGNORECASE)
_HIGH_OVER: Final = re.compile(rf"(?:\b|_){_HIGH}(?:\b|_)", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"\s*(?:[/,;|\u00b7]\s*)?(?:[a-zA-Z][a-zA-Z0-9_]{0,12}\s*[=:]?\s*[~\u2248]?)?\Z"
)
"""What stands between two numbers of ``min 11.84 / p50 19.75 / max 45.79 s/it``."""
_LISTED_MAX: Final = 8
_NAME_CHARS: Final = 40


def is_range(line: str, first: Written, second: Written) -> bool:
    """Whether two numbers that follow each other are the ends of one range."""
    return any(
        joins(line[end : second.start]) for end in _ends(line, first, second)
    ) or is_named_range(line, first, second)


def is_named_range(line: str, first: Written, second: Written) -> bool:
    """`low=9.49, high=14.07`: each end is called what it is."""
    before = line[max(first.start - _NAME_CHARS, 0) : first.start]
    if _NAMED_LOW.search(before) is None or second.start - first.end > _NAME_CHARS:
        return False
    return any(
        _NAMED_HIGH.match(line, end, second.start) is not None for end in _ends(line, first, second)
    )


def are_ends_over(low: str, high: str) -> bool:
    """Whether two headers say that the columns below them are the ends of one range."""
    return _LOW_OVER.search(low) is not None and _HIGH_OVER.search(high) is not None


def unit_ahead(line: str, numbers: Sequence[Written], at: int) -> re.Match[str] | None:
    """The unit that a list of numbers has behind its last one."""
    for n in range(at, min(at + _LISTED_MAX, len(numbers))):
        unit = UNIT_AFTER.match(line, numbers[n].end)
        if unit is not None or n + 1 == len(numbers):
            return unit
        between = line[numbers[n].end : numbers[n + 1].start]
        if not (_LISTED.match(between) or joins(between)):
            return None
    return None


def unit_before_bracket(line: str, earlier: Written, first: Written) -> str:
    """The unit in ``11.78% [9.49, 14.07]``; "" where nothing of the kind stands there."""
    unit = UNIT_AFTER.match(line, earlier.end, first.start)
    opened = unit is not None and line[unit.end() : first.start].strip() in {"[", "("}
    return unit[1] if unit is not None and opened else ""


def _ends(line: str, first: Written, second: Written) -> tuple[int, ...]:
    unit = UNIT_AFTER.match(line, first.end, second.start)
    return (first.end, *((unit.end(),) if unit is not None else ()))
