"""Finds a figure in text however it is written: formats, units, ranges, as a whole number.

Two stages. ``prefilter`` is one regular expression that any engine takes; every line that holds one
of the figures matches it. ``figures_in`` then reads the numbers of such a line and compares values.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

from pfid.formats.number_words import Written, joins, numbers_in
from pfid.formats.units import UNIT_AFTER, UNITS, Unit, spellings, unit_of

_SEPARATORS: Final = "[,_'\u2019\u00a0\u202f\u2009 ]?"
_BLANK: Final = (
    "[\\s\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000]?"
)
"""Every blank by itself: for some engines, only those of ASCII are."""
_EXACT: Final = 1e-9
_SPELLED_MAX: Final = 80
_DIGITS_MAX: Final = 9
"""Significant digits that somebody would write a converted figure with."""
_DIGITS_FLOAT: Final = 16
"""Beyond these, the digits of a float are its binary form and nobody's figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A figure that is looked for.

    Attributes:
        key: of the claim it belongs to.
        low: the figure, or the lower end of a range.
        high: the upper end; None for a single figure.
        unit: as the claim writes it; "" for none. A word that is no unit must stand on the line.
    """

    key: str
    low: float
    high: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A figure that was found: whose, where in the line, and as it stands there."""

    key: str
    at: int
    text: str


def prefilter(wanted: Iterable[Wanted]) -> str:
    """A regular expression, without look-around, that every spelling matches; "" for none."""
    parts = {part for one in wanted for value in _forms(one) for part in _digits(value)}
    return rf"\b0*({'|'.join(sorted(parts))})" if parts else ""


def figures_in(line: str, wanted: Sequence[Wanted]) -> Iterator[Spelled]:
    """Every wanted figure of one line."""
    numbers = list(numbers_in(line))
    for at, number in enumerate(numbers):
        second = numbers[at + 1] if at + 1 < len(numbers) else None
        pair = second if second is not None and _is_range(line, number, second) else None
        for one in wanted:
            end = _matches(line, number, pair, one)
            if end is not None:
                text = line[number.start : end].strip()[:_SPELLED_MAX]
                yield Spelled(one.key, number.start, text)


def is_same_figure(one: Wanted, other: Wanted) -> bool:
    """Whether two figures say the same, each in its own unit: 1.5 h is 90 min."""
    units = [unit_of(figure.unit) if figure.unit else None for figure in (one, other)]
    if units[0] is None or units[1] is None:
        scale, same = 1.0, one.unit.strip().rstrip("s") == other.unit.strip().rstrip("s")
    else:
        scale, same = units[1].factor / units[0].factor, units[0].dimension == units[1].dimension
    ends = [(f.low, f.low if f.high is None else f.high) for f in (one, other)]
    return same and all(_equal((a,), b * scale) for a, b in zip(*ends, strict=True))


def _is_range(line: str, first: Written, second: Written) -> bool:
    unit = UNIT_AFTER.match(line, first.end, second.start)
    ends = (first.end, *((unit.end(),) if unit is not None else ()))
    return any(joins(line[end : second.start]) for end in ends)


def _matches(line: str, number: Written, pair: Written | None, one: Wanted) -> int | None:
    """Where the spelling ends; None if it is another figure."""
    if one.high is not None:
        if pair is None:
            return None
        end = _is(line, number, pair, one.low, one.unit)
        return end if end is not None and _is(line, pair, None, one.high, one.unit) else None
    return _is(line, number, pair, one.low, one.unit)


def _is(line: str, number: Written, pair: Written | None, value: float, unit: str) -> int | None:
    """Where a number of this value and unit ends; the first of a range takes the second's unit."""
    after = UNIT_AFTER.match(line, number.end)
    if after is None and pair is not None:
        after = UNIT_AFTER.match(line, pair.end)
    written = UNITS.get(re.sub(r"\s", "-", after[1]).lower()) if after is not None else None
    end = after.end() if after is not None else number.end
    meant = unit_of(unit) if unit else None
    if meant is None:
        fits = _equal(number.values, value) and (not unit or _beside(line, (unit,)))
        alone = not unit and written is not None and written.dimension != "times"
        return end if fits and not alone else None
    if written is not None:
        same = written.dimension == meant.dimension
        scaled = value * meant.factor / written.factor
        return end if same and _equal(number.values, scaled) else None
    return _named_unit(line, number, value, meant)


def _named_unit(line: str, number: Written, value: float, meant: Unit) -> int | None:
    """`rebuild_hours = 2`: the unit stands in a name on the line, as a word of its own."""
    for word in spellings(meant.dimension):
        scaled = value * meant.factor / UNITS[word].factor
        if _equal(number.values, scaled) and _in_a_name(line, word):
            return number.end
    return None


def _in_a_name(line: str, word: str) -> bool:
    """A short unit counts only as the end of a name (`timeout_s`), a long one as any word of it."""
    if not word.isalpha():
        return False
    before = r"_" if len(word) < 3 else r"(?:_|\b)"
    pattern = rf"{before}{word}(?:_|\b)" if len(word) >= 3 else rf"{before}{word}\b"
    return re.search(pattern, line, re.IGNORECASE) is not None


def _beside(line: str, words: Iterable[str]) -> bool:
    """Whether one of the words, in one or many, stands on the line."""
    return any(
        re.search(rf"(?:_|\b){re.escape(w.rstrip('s'))}s?(?:_|\b)", line, re.IGNORECASE)
        for w in words
    )


def _equal(values: Iterable[float], wanted: float) -> bool:
    return any(math.isclose(value, wanted, rel_tol=_EXACT) for value in values)


def _forms(one: Wanted) -> Iterator[float]:
    """The figure in each unit of its dimension in which somebody would write it out."""
    meant = unit_of(one.unit) if one.unit else None
    yield one.low
    if meant is None:
        return
    for word in spellings(meant.dimension):
        value = one.low * meant.factor / UNITS[word].factor
        if value == float(f"{value:.{_DIGITS_MAX}g}") or math.isclose(
            value, float(f"{value:.{_DIGITS_MAX}g}"), rel_tol=1e-12
        ):
            yield float(f"{value:.{_DIGITS_MAX}g}")


def _digits(value: float) -> Iterator[str]:
    """Patterns of the digits of a value, plain and with a power of ten, however many are written.

    Any number of digits that still means the value begins like one of these.
    """
    size = abs(value)
    if not math.isfinite(size):
        return
    for rounded in _roundings(size):
        plain = f"{rounded:f}"
        yield _pattern(plain) + ("" if "." in plain else "([^0-9]|$)")
        exponent = rounded.adjusted() if rounded else 0
        mantissa = f"{_bare(rounded.scaleb(-exponent, Context(prec=400))):f}"
        more = "[0-9]*" if "." in mantissa else "([.,][0-9]+)?"
        yield _pattern(mantissa) + more + _BLANK + "[eEx\u00d7*\u00b7\u22c5]"


def _roundings(size: float) -> set[Decimal]:
    """The value as it reads in every number of digits that :func:`_equal` takes for it."""
    exact = Decimal(size)
    read = {Decimal(f"{size:.{digits}g}") for digits in range(_DIGITS_MAX, _DIGITS_FLOAT + 1)}
    cut = Context(prec=_DIGITS_FLOAT, rounding=ROUND_DOWN).plus(exact)
    shortest = Decimal(repr(size))
    if size >= 10.0**_DIGITS_FLOAT:
        read.add(exact)
    return {_bare(one) for one in (*read, cut, shortest) if _equal((float(one),), size)}


def _bare(number: Decimal) -> Decimal:
    """The number without zeros at its end, however long it is."""
    return number.normalize(Context(prec=400))


def _pattern(plain: str) -> str:
    whole, _, fraction = plain.partition(".")
    head = len(whole) % 3 or 3
    groups = [whole[:head], *(whole[i : i + 3] for i in range(head, len(whole), 3))]
    body = _SEPARATORS.join(groups)
    return body + (rf"[.,]{fraction}" if fraction else "")
