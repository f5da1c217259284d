"""Reads the figures of a line however they are written: formats, units, ranges, `20k`, tables.

The quick look (:mod:`pfid.formats.figures.prefilter`) says which lines are worth it; here their
numbers are read and their values compared.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pfid.formats.durations_written import Lasting, durations_in
from pfid.formats.figures.bare_values import may_be
from pfid.formats.figures.broken_lines import goes_on_below, joined_lines
from pfid.formats.figures.likely import likely
from pfid.formats.figures.markup import readings
from pfid.formats.figures.pairs import (
    are_ends_over,
    is_named_range,
    is_range,
    unit_ahead,
    unit_before_bracket,
)
from pfid.formats.figures.prefilter import wholes
from pfid.formats.figures.unwritten import (
    beside,
    in_seconds,
    named_by_key,
    named_unit,
    stem_of,
    telling_ends,
    told_before,
    unwritten,
)
from pfid.formats.figures.wanted import Wanted, equal
from pfid.formats.number_words import Written, numbers_in, within
from pfid.formats.table_headers import cells_of
from pfid.formats.unit_names import units_over
from pfid.formats.units import UNIT_AFTER, Unit, spread_after, unit_of

_BILLIONS: Final = "B"
"""Behind a blank it is bytes, or of what no bytes are, a billion: 1.755 B parameters."""
_SPELLED_MAX: Final = 80
_NEXT: Final = re.compile(r"[\s|]+")
_COUNTED: Final = re.compile(r"\s*(?:/|of|out of|in|von)\s*(?:the\s)?\Z", re.IGNORECASE)


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
        numbers: of the line.
        at: which of them is read.
        second: the other end, if that is the lower one of a range.
        before: unit of the figure before a pair in brackets, which is the pair's too.
    """

    line: str
    row: str
    over: str
    numbers: Sequence[Written]
    at: int
    second: Written | None = None
    before: str = ""

    @property
    def about(self) -> str:
        """Where words may stand that say what a number is."""
        return f"{self.row} {self.over}"

    @property
    def number(self) -> Written:
        """That is read."""
        return self.numbers[self.at]


def figures_in(
    line: str, wanted: Sequence[Wanted], header: str = "", below: str = ""
) -> Iterator[Spelled]:
    """Every wanted figure of one line.

    Args:
        line: to be read.
        wanted: figures.
        header: of the table that the line is a row of; "" if it is none.
        below: the next line, on which the unit of a last number may stand.
    """
    below = below if goes_on_below(line) and not header else ""
    joined = joined_lines(line, below) if below else ""
    text = f"{line}\n{below}" if below else line
    around = "\n".join(plain.text for one in (line, joined) for plain in readings(one))
    wanted = likely(wanted, text, around, header)
    if not wanted:
        return
    seen: set[tuple[str, int]] = set()
    for found in _in_readings(line, wanted, header, below):
        if (found.key, found.at) not in seen and found.at < len(line):
            seen.add((found.key, found.at))
            yield found


def _in_readings(line: str, wanted: Sequence[Wanted], header: str, below: str) -> Iterator[Spelled]:
    for at, cell, over in _cells(header, line):
        for plain in readings(cell):
            row = line if plain.text == cell else f"{line} {plain.text}"
            for key, start, end in _in_cell(plain.text, row, over, wanted):
                text = cell[plain.at(start) : plain.at(end)].strip()[:_SPELLED_MAX]
                yield Spelled(key, at + plain.at(start), text)
    if below:
        joined = joined_lines(line, below)
        for plain in readings(joined):
            row = f"{joined} {plain.text}"
            for key, start, end in _in_cell(plain.text, row, "", wanted):
                yield Spelled(key, plain.at(start), joined[plain.at(start) : plain.at(end)])


def _cells(header: str, line: str) -> Iterator[tuple[int, str, str]]:
    """Each cell, and each two beside each other that their headers call ends of one range."""
    cells = list(cells_of(header, line))
    yield from cells
    if header.startswith("<th>") or "\t" in header:  # its unit may stand in the next cell
        yield 0, line, ""
    for one, other in pairwise(cells):
        if one[2] and are_ends_over(one[2], other[2]):
            yield one[0], f"{one[1]}\u2013{other[1]}", f"{one[2]} {other[2]}"


def _in_cell(
    line: str, row: str, over: str, wanted: Sequence[Wanted]
) -> Iterator[tuple[str, int, int]]:
    """Key, beginning and end of each figure."""
    wanted = likely(wanted, line, row if line in row else f"{line}\n{row}", over)
    if not wanted:
        return
    lasting = list(durations_in(line))
    for one in wanted:
        for span in _lasting(lasting, one):
            yield one.key, span.start, span.end
    spans = sorted((span.start, span.end) for span in lasting)
    numbers = [n for n in numbers_in(line) if not within(spans, n.start)]
    for at, number in enumerate(numbers):
        meant = [one for one in wanted if may_be(one, number)]
        if not meant:
            continue
        second = numbers[at + 1] if at + 1 < len(numbers) else None
        pair = second if second is not None and is_range(line, number, second) else None
        bracketed = at and pair is not None
        before = unit_before_bracket(line, numbers[at - 1], number) if bracketed else ""
        place = _Place(line, row, over, numbers, at, pair, before)
        for one in meant:
            end = _matches(place, one)
            if end is not None:
                yield one.key, number.start, end


def _lasting(lasting: Sequence[Lasting], one: Wanted) -> Iterator[Lasting]:
    meant = unit_of(one.unit) if one.unit else None
    if meant is None or meant.dimension != "time" or one.high is not None:
        return
    yield from (span for span in lasting if equal((span.seconds,), one.low * meant.factor))


def _matches(place: _Place, one: Wanted) -> int | None:
    """Where the spelling ends; None if it is another figure."""
    second = place.second
    if one.high is None:
        end = _is(place, second, one.low, one)
        return _as_a_count(place, one) if end is None else end
    if second is None:
        second = _beside_it(place)
        bare = second is not None and telling_ends(one) and _is_bare_range(place, second, one)
        return second.end if second is not None and bare else None
    end = _is(place, second, one.low, one)
    other = _is(replace(place, at=place.at + 1), None, one.high, one)
    if end is None or other is None:
        return second.end if _is_bare_range(place, second, one) else None
    return max(end, other)


def _is(place: _Place, pair: Written | None, value: float, one: Wanted) -> int | None:
    """Where a number of this value and unit ends; the first of a range takes the second's unit."""
    line, number, unit = place.line, place.number, one.unit
    after = UNIT_AFTER.match(line, spread_after(line, number.end))
    values = (*number.values, *number.dotted) if unit else number.values
    if pair is not None and after is None:
        values = (*values, *(v * pair.many for v in values)) if number.many == 1 else values
        after = UNIT_AFTER.match(line, spread_after(line, pair.end))
    word = after[1] if after is not None else place.before
    written = unit_of(word) if word else None
    end = after.end() if after is not None else number.end
    if after is None and _in_a_word(line, number, unit):
        return None
    meant = unit_of(unit) if unit else None
    if meant is None:
        if unit and after is not None and after[1] == _BILLIONS:
            values = (*values, *(v * 1e9 for v in values))
        glued = bool(unit) and line.startswith(unit, number.end)
        fits = equal(values, value) and (not unit or glued or beside(place.about, (unit,)))
        alone = not unit and written is not None and written.dimension != "times"
        return end if fits and not alone and not (number.in_words and not unit) else None
    if written is not None:
        return end if _scaled(values, value, meant, written) else None
    return number.end if not number.in_words and _unsaid(place, values, value, one) else None


def _unsaid(place: _Place, values: Sequence[float], value: float, one: Wanted) -> bool:
    """Whether a number without a unit behind it is one of this value all the same."""
    meant = unit_of(one.unit)
    if meant is None:
        return False
    over = units_over(place.over)
    if over:
        return any(_scaled(values, value, meant, unit) for unit in over)
    ahead = unit_ahead(place.line, place.numbers, place.at)
    listed = unit_of(ahead[1]) if ahead is not None else None
    return (
        (listed is not None and _scaled(values, value, meant, listed))
        or named_unit(place.row, values, value, meant)
        or told_before(place.line, place.number, value, meant)
        or in_seconds(place.line, place.number, value, meant)
        or unwritten(place.line, place.about, place.number, value, meant, one.key)
        or (equal(values, value) and named_by_key(place.about, one))
    )


def _scaled(values: Sequence[float], value: float, meant: Unit, written: Unit) -> bool:
    same = written.dimension == meant.dimension
    return same and equal(values, value * meant.factor / written.factor)


def _beside_it(place: _Place) -> Written | None:
    """The number in the next cell."""
    second = place.numbers[place.at + 1] if place.at + 1 < len(place.numbers) else None
    return (
        second if second and _NEXT.fullmatch(place.line, place.number.end, second.start) else None
    )


def _is_bare_range(place: _Place, second: Written, one: Wanted) -> bool:
    """`low=9.49, high=14.07`: a range without a unit whose ends nobody writes by chance."""
    bare = (
        not place.before
        and not units_over(place.over)
        and not any(UNIT_AFTER.match(place.line, number.end) for number in (place.number, second))
    )
    if not bare or one.high is None:
        return False
    meant = unit_of(one.unit) if one.unit else None
    told = meant is not None and told_before(place.line, place.number, one.low, meant)
    if not (told or telling_ends(one) or is_named_range(place.line, place.number, second)):
        return False
    scales = (1.0, meant.factor) if meant is not None and meant.dimension == "share" else (1.0,)
    return any(
        equal(place.number.values, one.low * scale) and equal(second.values, one.high * scale)
        for scale in scales
    )


def _as_a_count(place: _Place, one: Wanted) -> int | None:
    """Where `29/100` or `29 of 100` ends, which is 29 %."""
    meant = unit_of(one.unit) if one.unit and place.at + 1 < len(place.numbers) else None
    if meant is None or meant.dimension != "share":
        return None
    part, whole = place.number, place.numbers[place.at + 1]
    if not _COUNTED.fullmatch(place.line, part.end, whole.start):
        return None
    told = any(
        equal(part.values, p) and equal(whole.values, w) for p, w in wholes(one.low * meant.factor)
    )
    return whole.end if told else None


def _in_a_word(line: str, number: Written, unit: str) -> bool:
    """`1311a` is a name; only a unit of the claim's own may stand right behind a number."""
    tail = line[number.end : number.end + 40]
    letter = tail[:1].isascii() and (tail[:1].isalpha() or tail[:1] == "_")
    return letter and not (unit and tail.lower().startswith(stem_of(unit.lower())))
