"""Numbers as people write them: separators, decimal commas, powers of ten, `20k`, ranges.

A number that is part of something else is none: of a version, a date, a time of day, a hash, an
identifier, an address (:func:`look_alikes`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_GROUP: Final = "[,_'\u2019\u00a0\u202f\u2009 ]"
_WHOLE: Final = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+)"
_POWER: Final = (
    r"(?:[eE][+-]?\d+|\s?[x\u00d7*\u00b7\u22c5]\s?10\s?(?:\^|\*\*)?\{?[-\u2212+]?\d+\}?)"
)
MULTIPLIERS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("k", "K", "thousand", "Thousand", "Tsd"), 1e3),
    **dict.fromkeys(("M", "mn", "mln", "million", "Million", "millions", "Mio"), 1e6),
    **dict.fromkeys(("G", "B", "bn", "billion", "Billion", "billions", "Mrd"), 1e9),
    **dict.fromkeys(("T", "tn", "trillion", "Trillion"), 1e12),
}
"""What stands behind a number and makes it larger; a letter alone stands right behind it."""
_MANY: Final = "|".join(
    sorted((word for word in MULTIPLIERS if len(word) > 1), key=len, reverse=True)
)
NUMBER: Final = re.compile(
    rf"(?:(?<![\w.])|(?<=\.\.))(?:(?<!\d,)|(?<=\.\d,)|(?<=\.\d\d,))(?P<sign>(?<![\w)\]%\u2030\u00d7\u00b0\s])[-\u2212]|(?<=\s)[-\u2212](?=\d))?"
    rf"(?P<whole>{_WHOLE})(?P<fraction>\.(?:\d\d?|\d{{4,}})(?=,\d)|[.,]\d+(?![.,]\d))?"
    rf"(?P<power>{_POWER})?(?!\d)(?!\.\d)(?(fraction)|(?!,\d))"
    rf"(?:(?P<many>[kKMGBT]|[ \u00a0\u202f-]?(?:{_MANY}|k))(?![\w/\u00b2^]))?"
)
"""Not a part of a longer number, of a version or of a name."""
_JOIN: Final = re.compile(
    r"\s*(?:-|\u2013|\u2014|\u2212|~|\.{2,3}|\u2026|,|to|and|bis|und|[-=]+>|[\u2192\u27f6\u21d2])\s*\Z"
)
_LOOK_ALIKE: Final = re.compile(
    r"""
      https?://\S+
    | (?<![\d-])\d{4}-\d{2}-\d{2}(?![\d-])
      (?:[T ]\d{2}:?\d{2}(?::?\d{2}(?:[.,]\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?(?!\d)
    | (?<![\d/.])(?:\d{4}([/.])\d{2}\1\d{2}|\d{1,2}([/.])\d{1,2}\2(?:\d{4}|\d{2}))(?![\d/])
    | \b\d{8}T\d{6}Z?\b
    | (?<![\w:.])\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?![\w:])
    | \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b
    | \b(?!\d+[eE]\d+\b)(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{7,}\b
    | (?:\#|\u00a7\s?)\d+(?:\.\d+)*
    | \b(?:version|release|issue|pull\ request|PR|section|port|uid|pid)
      \s?[\#:=]?\s?\d+(?:\.\d+)*(?![\w%])
    | (?<=[\w\]])(?:==|~=|@)\d+(?:\.\d+)*
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Written:
    """A number in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        values: what it can mean: ``1,312`` is 1312 and, in half the world, 1.312.
        many: by what a word or letter behind it multiplies it; that is in the values already.
    """

    start: int
    end: int
    values: tuple[float, ...]
    many: float = 1.0


def numbers_in(text: str) -> Iterator[Written]:
    """Every number of a line that is a figure."""
    taken = look_alikes(text)
    for found in NUMBER.finditer(text):
        if within(taken, found.start("whole")):
            continue
        whole, fraction, power = found["whole"], found["fraction"] or "", found["power"] or ""
        digits = re.sub(_GROUP, "", whole)
        many = MULTIPLIERS[found["many"].lstrip(" \u00a0\u202f-")] if found["many"] else 1.0
        factor = _factor(power) * many
        sign = -1.0 if found["sign"] else 1.0
        values = [_float(f"{digits}{fraction.replace(',', '.')}")]
        if not fraction and whole.count(",") == 1 and whole.index(",") <= 3:
            values.append(_float(whole.replace(",", ".")))
        if fraction.startswith(",") and len(fraction) == 4 and len(digits) <= 3:
            values.append(_float(digits + fraction[1:]))
        yield Written(
            start=found.start("whole"),
            end=found.end(),
            values=tuple(sign * value * factor for value in values),
            many=many,
        )


def look_alikes(text: str) -> list[tuple[int, int]]:
    """In order, where digits are no figure: dates, times, hashes, versions, addresses."""
    return [found.span() for found in _LOOK_ALIKE.finditer(text)]


def within(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether a place lies in one of the spans, which are in order and apart."""
    place = bisect_right(spans, (at, _END)) - 1
    return place >= 0 and at < spans[place][1]


_END: Final = 1 << 62


def joins(between: str) -> bool:
    """Whether what stands between two numbers makes them the ends of one range."""
    return _JOIN.fullmatch(between) is not None


def _factor(power: str) -> float:
    if not power:
        return 1.0
    exponent = re.sub(r"\A\s?[x\u00d7*\u00b7\u22c5]\s?10\s?(?:\^|\*\*)?|[eE{}]", "", power).replace(
        "\u2212", "-"
    )
    return 10.0 ** int(exponent) if len(exponent) < 5 else float("inf")


def _float(text: str) -> float:
    return float(text) if len(text) < 300 else float("inf")
