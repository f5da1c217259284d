"""Numbers as people write them: separators, decimal commas, powers of ten, ranges."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_GROUP: Final = "[,_'\u2019\u00a0\u202f\u2009 ]"
_WHOLE: Final = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+)"
_POWER: Final = (
    r"(?:[eE][+-]?\d+|\s?[x\u00d7*\u00b7\u22c5]\s?10\s?(?:\^|\*\*)?\{?[-\u2212+]?\d+\}?)"
)
NUMBER: Final = re.compile(
    rf"(?<![\w.])(?<!\d,)(?P<sign>(?<![\w)\]\s])[-\u2212]|(?<=\s)[-\u2212](?=\d))?"
    rf"(?P<whole>{_WHOLE})(?P<fraction>[.,]\d+)?(?P<power>{_POWER})?(?![\d])(?![.,]\d)"
)
"""Not a part of a longer number, of a version or of a name."""
_JOIN: Final = re.compile(r"\s*(?:-|\u2013|\u2014|\u2212|\.{2,3}|\u2026|,|to|and|bis|und)\s*\Z")


@dataclass(frozen=True, slots=True)
class Written:
    """A number in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        values: what it can mean: ``1,312`` is 1312 and, in half the world, 1.312.
    """

    start: int
    end: int
    values: tuple[float, ...]


def numbers_in(text: str) -> Iterator[Written]:
    """Every number of a line."""
    for found in NUMBER.finditer(text):
        whole, fraction, power = found["whole"], found["fraction"] or "", found["power"] or ""
        digits = re.sub(_GROUP, "", whole)
        factor = _factor(power)
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
        )


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
