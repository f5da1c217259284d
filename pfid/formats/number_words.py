"""Numbers as people write them: separators, decimal commas, powers of ten, `20k`, ranges.

A number that is part of something else is none: of a version, a date, a time of day, a hash, an
identifier, an address (:func:`look_alikes`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_GROUP: Final = "[,_'\u2019\u00a0\u202f\u2009 ]"
_WHOLE: Final = (
    rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d{{1,3}}(?:\.\d{{3}}){{2,}}(?![\d.])|\d+)"
)
_NO_WHOLE: Final = r"(?<![^\s=:(\[{<>~\u2248\"'`|-])(?=\.\d)"
"""Nothing, before the stop of `.086`."""
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
    rf"(?:(?<![\w.])|(?<=\.\.))(?:(?<!\d,)|(?<=\.\d,)|(?<=\.\d\d,))(?P<sign>(?<![\w)\]%\u2030\u00d7\u00b0\s-])[-\u2212]|(?<=\s)[-\u2212](?=\d))?"
    rf"(?P<whole>{_WHOLE}|{_NO_WHOLE})(?P<fraction>\.(?:\d\d?|\d{{4,}})(?=,\d)|[.,]\d+(?![.,]\d))?"
    rf"(?P<power>{_POWER})?(?!\d)(?!\.\d)(?(fraction)|(?!,\d))"
    rf"(?:(?P<many>[kKMGBT]|[ \u00a0\u202f-]?(?:{_MANY}|k))(?![\w/\u00b2^]))?"
)
"""Not a part of a longer number, of a version or of a name."""
_WORD_JOINS: Final = "up\\s+to|to|and|or|through|vs\\.?|versus|bis|und|oder"
_JOIN: Final = re.compile(
    rf"[\s$*`]*(?:-{{1,3}}|\u2013|\u2014|\u2212|~|\.{{2,3}}|\u2026|[,;/]|"
    rf"(?:[-\u2013]\s?)?(?:{_WORD_JOINS})(?:\s?-)?|"
    r"[<\u2264]=?\s?\w{1,12}\s?[<\u2264]=?|[-=]+>|[\u2192\u27f6\u21d2])[\s$*`]*\Z"
)
SPELLED_OUT: Final[Mapping[str, float]] = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "hundred": 100,
}  # fmt: skip
_IN_WORDS: Final = re.compile(
    rf"\b(?:{'|'.join(SPELLED_OUT)})(?=fold\b|[\s\u00a0-])", re.IGNORECASE
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
        dotted: what it means where a stop parts thousands: ``1.312`` is 1312 in half the world.
        in_words: it is written in letters.
    """

    start: int
    end: int
    values: tuple[float, ...]
    many: float = 1.0
    dotted: tuple[float, ...] = ()
    in_words: bool = False


def numbers_in(text: str) -> Iterator[Written]:
    """Every number of a line that is a figure, in order."""
    spelled = list(_in_words(text))
    if spelled:
        yield from sorted((*_in_digits(text), *spelled), key=lambda number: number.start)
    else:
        yield from _in_digits(text)


def spelled_out(value: float) -> Iterator[str]:
    """The number in words, if it is one that people write so."""
    yield from (word for word, number in SPELLED_OUT.items() if number == value)


def _in_words(text: str) -> Iterator[Written]:
    for found in _IN_WORDS.finditer(text):
        values = (SPELLED_OUT[found[0].lower()],)
        yield Written(start=found.start(), end=found.end(), values=values, in_words=True)


def _in_digits(text: str) -> Iterator[Written]:
    taken = look_alikes(text)
    for found in NUMBER.finditer(text):
        start = found.start("whole")
        if taken and within(taken, start):
            continue
        values, many, dotted = _meant(*found.group("sign", "whole", "fraction", "power", "many"))
        yield Written(start, found.end(), values, many, dotted)


@lru_cache(maxsize=4_096)
def _meant(
    sign: str | None, whole: str, fraction: str | None, power: str | None, word: str | None
) -> tuple[tuple[float, ...], float, tuple[float, ...]]:
    """What a number can mean, by what it is multiplied, and what it means with dotted thousands."""
    fraction = fraction or ""
    digits = whole if whole.isdigit() else re.sub(_GROUP, "", whole).replace(".", "")
    many = MULTIPLIERS[word.lstrip(" \u00a0\u202f-")] if word else 1.0
    factor = _factor(power or "") * many * (-1.0 if sign else 1.0)
    values = [_float(f"{digits}{fraction.replace(',', '.')}")]
    if not fraction and whole.find(",") in (1, 2, 3) and whole.replace(",", "", 1).isdigit():
        values.append(_float(whole.replace(",", ".")))
    if fraction.startswith(",") and len(fraction) == 4 and len(digits) <= 3:
        values.append(_float(digits + fraction[1:]))
    dotted = fraction.startswith(".") and len(fraction) == 4 and 0 < len(digits) <= 3
    thousands = (_float(digits + fraction[1:]),) if dotted and digits[0] != "0" else ()
    return (
        tuple(value * factor for value in values),
        many,
        tuple(value * factor for value in thousands),
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
    if power[0] in "eE":
        return float(f"1{power}")
    exponent = re.sub(r"\A\s?[x\u00d7*\u00b7\u22c5]\s?10\s?(?:\^|\*\*)?|[{}]", "", power).replace(
        "\u2212", "-"
    )
    return float(f"1e{exponent}")


def _float(text: str) -> float:
    return float(text) if len(text) < 300 else float("inf")
