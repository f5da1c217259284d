"""What the steps of many ranks come to, in one array of numbers.

The more ranks there are, the coarser is what is kept of each: a run has one budget of memory. An
object for each rank and each sum would take more than the sums.
"""

from array import array
from collections.abc import Iterator, MutableSequence, Sequence
from typing import Final, NamedTuple

WINDOW_S: Final = 60.0
"""Seconds of steps that a figure rests on, as long as the window GPUs are judged over."""
STEPS_MIN: Final = 16
"""Fewer steps tell nothing where work is launched ahead."""
QUANTITIES: Final = 4
SUMS: Final = 2 + 2 * QUANTITIES
"""Seconds, steps, and of each quantity the amount and the seconds of the steps that say it."""
Sums = Sequence[float]


class Grain(NamedTuple):
    """How fine the newest steps of each rank are told apart.

    Attributes:
        ranks: as many at most.
        entry_s: steps are kept together until they are as long, so that memory is bounded by time.
        entries: more than make up the window, and ``STEPS_MIN`` of long steps.
        steps: likewise kept together where work is launched ahead, and more steps are needed.
    """

    ranks: int
    entry_s: float
    entries: int
    steps: int


GRAINS: Final = (
    Grain(ranks=8, entry_s=4.0, entries=17, steps=1),
    Grain(ranks=16, entry_s=16.0, entries=5, steps=4),
    Grain(ranks=64, entry_s=WINDOW_S, entries=2, steps=STEPS_MIN),
)
_NOTHING: Final = Grain(ranks=0, entry_s=0.0, entries=0, steps=0)
_AT, _LAST, _WRITER, _LAUNCHES, _OLDER = range(5)
_RECENT: Final = _OLDER + SUMS
_WRITER_BITS: Final = 2**53 - 1


class RankSums:
    """One row a rank: when it was heard last, its older steps, and the newest, newest first."""

    __slots__ = ("_grain", "_places", "_rows")

    def __init__(self) -> None:
        """Hold no rank."""
        self._grain = GRAINS[0]
        self._places: dict[int, int] = {}
        self._rows = array("d")

    @property
    def size_bytes(self) -> int:
        """Return what the numbers take."""
        return len(self._rows) * self._rows.itemsize

    def __iter__(self) -> Iterator[int]:
        """Go through the places of the ranks."""
        return iter(self._places.values())

    def place(self, rank: int) -> int | None:
        """Return where a rank is kept; None if it is not, and there are too many of them."""
        found = self._places.get(rank)
        if found is not None or not self._grain.ranks:
            return found
        if len(self._places) >= GRAINS[-1].ranks:
            return None
        if len(self._places) >= self._grain.ranks:
            self._regrain(next(g for g in GRAINS if len(self._places) < g.ranks))
        place = len(self._rows)
        self._places[rank] = place
        self._rows = self._rows + array("d", bytes(8 * self._stride))  # as long as it must be
        return place

    @property
    def _stride(self) -> int:
        return _RECENT + self._grain.entries * SUMS

    def heard(self, place: int) -> bool:
        """Whether the rank has stepped."""
        return self._rows[place + _RECENT + 1] > 0

    def is_of(self, place: int, writer: str) -> bool:
        """Whether the rank has stepped and is heard through this writer."""
        rows = self._rows
        return rows[place + _WRITER] == _number(writer) and rows[place + _RECENT + 1] > 0

    def begin(self, place: int, writer: str, *, launches: bool) -> None:
        """Hear the rank through another writer: what the one before said is forgotten."""
        self._rows[place : place + self._stride] = array("d", bytes(8 * self._stride))
        self._rows[place + _WRITER] = _number(writer)
        self._rows[place + _LAUNCHES] = launches

    def add(self, place: int, one: Sums, at_s: float) -> None:
        """Take in what one event says of a rank."""
        self._enter(place, one)
        self._rows[place + _AT], self._rows[place + _LAST] = at_s, one[0] / one[1]

    def _enter(self, place: int, one: Sums) -> None:
        rows, newest, grain = self._rows, place + _RECENT, self._grain
        if rows[newest] >= grain.entry_s and (
            rows[newest + 1] >= grain.steps or not rows[place + _LAUNCHES]
        ):
            end = newest + grain.entries * SUMS
            _add(rows, rows[end - SUMS : end], place + _OLDER)
            rows[newest + SUMS : end] = rows[newest : end - SUMS]
            rows[newest : newest + SUMS] = array("d", one)
        else:
            _add(rows, one, newest)

    def enough(self, place: int) -> bool:
        """Whether there are steps enough for a figure."""
        first = place + _RECENT
        steps = sum(self._rows[first + 1 : place + self._stride : SUMS])
        return steps >= (STEPS_MIN if self._rows[place + _LAUNCHES] else 1)

    def newest(self, place: int) -> Sums:
        """Sums of so many of the newest steps as make up the window."""
        found = array("d", bytes(8 * SUMS))
        for entry in self._entries(place):
            if found[0] >= WINDOW_S and (
                found[1] >= STEPS_MIN or not self._rows[place + _LAUNCHES]
            ):
                break
            _add(found, entry)
        return found

    def _entries(self, place: int) -> Iterator[Sums]:
        for first in range(place + _RECENT, place + self._stride, SUMS):
            if not self._rows[first + 1]:
                return
            yield self._rows[first : first + SUMS]

    def whole(self, place: int) -> Sums:
        """Sums of all steps of a rank."""
        found = self._rows[place + _OLDER : place + _RECENT]
        for entry in self._entries(place):
            _add(found, entry)
        return found

    def heard_s(self, place: int) -> tuple[float, float]:
        """When a rank was heard last, and how long its last step took."""
        return self._rows[place + _AT], self._rows[place + _LAST]

    def forget_newest(self) -> None:
        """Keep the whole alone; nothing is taken in any more."""
        self._regrain(_NOTHING)

    @property
    def closed(self) -> bool:
        """Whether the whole alone is kept."""
        return not self._grain.entries

    def _regrain(self, grain: Grain) -> None:
        old, places = RankSums(), self._places
        old._grain, old._rows = self._grain, self._rows
        self._grain, self._rows, self._places = grain, array("d"), {}
        for rank, place in places.items():
            here = self._places[rank] = len(self._rows)
            recent = array("d", bytes(8 * grain.entries * SUMS))
            self._rows = self._rows + old._rows[place : place + _RECENT] + recent
            for entry in reversed([*old._entries(place)]):
                if grain.entries:
                    self._enter(here, entry)
                else:
                    _add(self._rows, entry, here + _OLDER)


def _number(writer: str) -> float:
    """Tells the writers of one rank apart; never written down."""
    return float(hash(writer) & _WRITER_BITS)


def _add(sums: MutableSequence[float], one: Sums, at: int = 0) -> None:
    for place, value in enumerate(one, at):
        sums[place] += value
