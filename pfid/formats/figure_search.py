"""Finds a figure in text however it is written: formats, units, ranges, `20k`, `2h05m`, tables.

Two stages. ``prefilter`` is one regular expression that any engine takes; every line that holds one
of the figures matches it. ``figures_in`` then reads the numbers of such a line and compares values.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

from pfid.formats.durations_written import Lasting, durations_in, parts_pattern
from pfid.formats.number_words import MULTIPLIERS, Written, joins, numbers_in, within
from pfid.formats.table_headers import cells_of
from pfid.formats.unit_names import in_a_name, units_over
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
_MULTIPLIED: Final = (0.001, 1e6)
"""Between which a number stands before a letter that multiplies it."""
_BETWEEN_ENDS: Final = "([^0-9]{0,6}[0-9][0-9.,]*)?" + _BLANK
"""What may stand between the first number of a range and the letter behind its second."""
_TELLING_DIGITS: Final = 3
"""A share with fewer digits is written so by chance: 0.05 stands in every second file."""
_WORD_MIN: Final = 4
_SHARE_WORDS: Final = (
    *("share", "ratio", "fraction", "rate", "portion", "proportion", "percent", "pct"),
    *("utilisation", "utilization", "mfu", "accuracy", "probability"),
)
_NO_SHARE: Final = re.compile(
    r"\b(?:loss|lr|learning[ _]rate|eps|epsilon|beta\d?|betas|alpha|gamma|momentum|weight_decay|"
    r"temperature|top_p|min_p|dropout|version|perplexity)\W{0,4}\Z",
    re.IGNORECASE,
)
"""Names of what is no share, right before a number."""
_DIGITS_FLOAT: Final = 16
"""Beyond these, the digits of a float are its binary form and nobody's figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A figure that is looked for.

    Attributes:
        key: of the claim it belongs to.
        low: the figure, or the lower end of a range.
        high: the upper end; None for a single figure.
        unit: as the claim writes it; "" for none. A word that is no unit must stand on the line,
            or over its column.
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


@dataclass(frozen=True, slots=True)
class _Place:
    """A line, or a cell of a row with what stands over it.

    Attributes:
        line: what is read.
        row: the whole row.
        over: of the column.
        before: unit of the figure before a pair in brackets, which is the pair's too.
    """

    line: str
    row: str
    over: str
    before: str = ""

    @property
    def about(self) -> str:
        """Where words may stand that say what a number is."""
        return f"{self.row} {self.over}"


def prefilter(wanted: Iterable[Wanted]) -> str:
    """A regular expression, without look-around, that every spelling matches; "" for none."""
    figures = list(wanted)
    parts = {part for one in figures for value in _forms(one) for part in _digits(value)}
    parts |= {part for one in figures for part in _durations(one)}
    return rf"\b0*({'|'.join(sorted(parts))})" if parts else ""


def figures_in(line: str, wanted: Sequence[Wanted], header: str = "") -> Iterator[Spelled]:
    """Every wanted figure of one line.

    Args:
        line: to be read.
        wanted: figures.
        header: of the table that the line is a row of; "" if it is none.
    """
    for at, cell, over in cells_of(header, line):
        place = _Place(line=cell, row=line, over=over)
        for found in _in_cell(place, wanted):
            yield Spelled(found.key, at + found.at, found.text)


def _in_cell(place: _Place, wanted: Sequence[Wanted]) -> Iterator[Spelled]:
    line = place.line
    lasting = list(durations_in(line))
    for one in wanted:
        for span in _lasting(lasting, one):
            yield Spelled(one.key, span.start, line[span.start : span.end].strip()[:_SPELLED_MAX])
    spans = sorted((span.start, span.end) for span in lasting)
    numbers = [n for n in numbers_in(line) if not within(spans, n.start)]
    for at, number in enumerate(numbers):
        second = numbers[at + 1] if at + 1 < len(numbers) else None
        pair = second if second is not None and _is_range(line, number, second) else None
        bracketed = place
        if pair is not None and at:
            bracketed = replace(place, before=_before_bracket(line, numbers[at - 1], number))
        for one in wanted:
            end = _matches(bracketed, number, pair, one)
            if end is not None:
                text = line[number.start : end].strip()[:_SPELLED_MAX]
                yield Spelled(one.key, number.start, text)


def _lasting(lasting: Iterable[Lasting], one: Wanted) -> Iterator[Lasting]:
    meant = unit_of(one.unit) if one.unit else None
    if meant is None or meant.dimension != "time" or one.high is not None:
        return
    yield from (span for span in lasting if _equal((span.seconds,), one.low * meant.factor))


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


def _before_bracket(line: str, earlier: Written, first: Written) -> str:
    """The unit in ``11.78% [9.49, 14.07]``; "" where nothing of the kind stands there."""
    unit = UNIT_AFTER.match(line, earlier.end, first.start)
    opened = unit is not None and line[unit.end() : first.start].strip() in {"[", "("}
    return unit[1] if unit is not None and opened else ""


def _matches(place: _Place, number: Written, pair: Written | None, one: Wanted) -> int | None:
    """Where the spelling ends; None if it is another figure."""
    if one.high is not None:
        if pair is None:
            return None
        end = _is(place, number, pair, one.low, one)
        other = _is(place, pair, None, one.high, one)
        return None if end is None or other is None else max(end, other)
    return _is(place, number, pair, one.low, one)


def _is(
    place: _Place, number: Written, pair: Written | None, value: float, one: Wanted
) -> int | None:
    """Where a number of this value and unit ends; the first of a range takes the second's unit."""
    line, unit = place.line, one.unit
    after = UNIT_AFTER.match(line, number.end)
    values = number.values
    if pair is not None and number.many == 1:
        values = (*values, *(v * pair.many for v in values)) if after is None else values
    if after is None and pair is not None:
        after = UNIT_AFTER.match(line, pair.end)
    word = after[1] if after is not None else place.before
    written = UNITS.get(re.sub(r"\s", "-", word).lower()) if word else None
    end = after.end() if after is not None else number.end
    meant = unit_of(unit) if unit else None
    if after is None and _in_a_word(line, number, unit):
        return None
    if meant is None:
        fits = _equal(values, value) and (not unit or _beside(place.about, (unit,)))
        alone = not unit and written is not None and written.dimension != "times"
        return end if fits and not alone else None
    if written is not None:
        same = written.dimension == meant.dimension
        return end if same and _equal(values, value * meant.factor / written.factor) else None
    over = units_over(place.over)
    if over:
        scaled = [value * meant.factor / u.factor for u in over if u.dimension == meant.dimension]
        return number.end if any(_equal(values, to) for to in scaled) else None
    fits = _named_unit(place.row, values, value, meant) or _unwritten(
        place, number, value, meant, one
    )
    return number.end if fits else None


def _in_a_word(line: str, number: Written, unit: str) -> bool:
    """`1311a` is a name; only a unit of the claim's own may stand right behind a number."""
    tail = line[number.end : number.end + 40]
    letter = tail[:1].isascii() and (tail[:1].isalpha() or tail[:1] == "_")
    return letter and not (unit and tail.lower().startswith(unit.lower().rstrip("s")))


def _named_unit(line: str, values: Iterable[float], value: float, meant: Unit) -> bool:
    """`rebuild_hours = 2`: the unit stands in a name on the line, as a word of its own."""
    return any(
        _equal(values, value * meant.factor / UNITS[word].factor) and in_a_name(line, word)
        for word in spellings(meant.dimension)
    )


def _unwritten(place: _Place, number: Written, value: float, meant: Unit, one: Wanted) -> bool:
    """What people write without a unit: 0.678 for 67.8 %, 609M for megabytes."""
    base = value * meant.factor
    if meant.dimension == "size" and number.many > 1:
        return _equal(
            (*number.values, *(v / 1e9 for v in number.values if number.many == 1e9)), base
        )
    if meant.dimension != "share" or not 0 < base < 1 or not _equal(number.values, base):
        return False
    if _NO_SHARE.search(place.line, 0, number.start):
        return False
    about = (*_SHARE_WORDS, *(w for w in re.split(r"[\W_]+", one.key) if len(w) >= _WORD_MIN))
    told = len(f"{base:.12g}".partition(".")[2].lstrip("0")) >= _TELLING_DIGITS
    return told or _beside(place.about, about)


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


def _durations(one: Wanted) -> Iterator[str]:
    meant = unit_of(one.unit) if one.unit else None
    if meant is not None and meant.dimension == "time" and math.isfinite(one.low):
        yield from parts_pattern(abs(one.low) * meant.factor)


def _multiplied(size: float) -> Iterator[str]:
    """The digits that stand before a `k`, or before the second `k` of a range."""
    for many in sorted(set(MULTIPLIERS.values())):
        read = float(f"{size / many:.{_DIGITS_MAX}g}")
        if _equal((read * many,), size) and _MULTIPLIED[0] <= read < _MULTIPLIED[1]:
            plain = f"{_bare(Decimal(repr(read))):f}"
            zeros = "0*" if "." in plain else "([.,]0+)?"
            yield _pattern(plain) + zeros + _BETWEEN_ENDS + "[kKMGBTm]"
            yield _pattern(plain) + zeros + _BLANK + "-?(thousand|Thousand|Tsd|M|m|b|B|t|T)"


def _digits(value: float) -> Iterator[str]:
    """Patterns of the digits of a value, plain and with a power of ten, however many are written.

    Any number of digits that still means the value begins like one of these.
    """
    size = abs(value)
    if not math.isfinite(size):
        return
    yield from _multiplied(size)
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
