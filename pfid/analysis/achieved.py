"""What reported steps come to in a second: tokens, real tokens, FLOPs (playbook section 3.8).

Rates are sums over elapsed time, never means of rates: a short step would count as much as a long
one. A step that does not say a quantity is left out of that quantity's time as well.
"""

from array import array
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Final

from pfid.domain.inside import Achieved, Inside, StepReport
from pfid.domain.step import Phase, StepClock, StepEvent

WINDOW_S: Final = 60.0
"""Seconds of steps that a figure rests on, as long as the window GPUs are judged over."""
FRESH_S: Final = 120.0
"""A figure is void this long after the last step, or ten steps after it if that is longer."""
STEPS_MIN: Final = 16
"""Fewer steps tell nothing where work is launched ahead."""
ENTRY_S: Final = 4.0
"""Steps shorter than this are kept together, so that memory is bounded by time."""
ENTRIES_MAX: Final = 17
"""More than make up the window, and more than ``STEPS_MIN`` of long ones."""
RANKS_MAX: Final = 64
_LONG_STEPS: Final = 10
_NOTHING: Final = StepReport()
_QUANTITIES: Final = 4
_FLOPS: Final = 2
_SUMS: Final = 2 + 2 * _QUANTITIES
"""Seconds, steps, and of each quantity the amount and the seconds of the steps that say it."""
_Sums = Sequence[float]


def _add(sums: MutableSequence[float], one: Sequence[float], at: int = 0) -> None:
    for place, value in enumerate(one, at):
        sums[place] += value


def _rate(sums: _Sums, quantity: int) -> float | None:
    amount, seconds = sums[2 + 2 * quantity], sums[3 + 2 * quantity]
    return amount / seconds if seconds > 0 else None


class _Rank:
    """One rank, heard through one writer: entries of sums, oldest first, and the whole."""

    __slots__ = ("at_s", "last_s", "launches", "recent", "whole", "writer")

    def __init__(self, event: StepEvent) -> None:
        self.writer = event.writer
        self.launches = event.clock is StepClock.ASYNCHRONOUS
        self.recent = array("d")
        self.whole = array("d", bytes(8 * _SUMS))
        self.at_s = self.last_s = 0.0

    def take(self, one: _Sums, at_s: float) -> None:
        last = len(self.recent) - _SUMS
        if last >= 0 and self.recent[last] < ENTRY_S:
            _add(self.recent, one, last)
        else:
            self.recent.extend(one)
            del self.recent[: -ENTRIES_MAX * _SUMS]
        _add(self.whole, one)
        self.at_s, self.last_s = at_s, one[0] / one[1]

    @property
    def enough(self) -> bool:
        """Whether there are steps enough for a figure."""
        return sum(self.recent[1::_SUMS]) >= (STEPS_MIN if self.launches else 1)

    def newest(self) -> _Sums:
        """Sums of so many of the newest steps as make up the window."""
        found = array("d", bytes(8 * _SUMS))
        for first in range(len(self.recent) - _SUMS, -1, -_SUMS):
            if found[0] >= WINDOW_S and (found[1] >= STEPS_MIN or not self.launches):
                break
            _add(found, self.recent[first : first + _SUMS])
        return found

    def fresh(self, now_s: float) -> bool:
        return now_s - self.at_s <= max(FRESH_S, _LONG_STEPS * self.last_s)


class AchievedRates:
    """Takes the steps of every rank of a run; 2 KB a rank."""

    __slots__ = ("_ranks",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._ranks: dict[int, _Rank] = {}

    def take(self, event: StepEvent, at_s: float) -> None:
        """Take in one step that came at ``at_s`` (monotonic); pauses are no steps.

        A rank is heard through one writer: its first, until another process takes its place.
        """
        report = event.report or _NOTHING
        told = (event.tokens, report.real_tokens, report.flops, report.recompute_flops)
        if event.phase is not Phase.TRAIN or not event.seconds or all(a is None for a in told):
            return
        number = event.rank or 0
        rank = self._ranks.get(number)
        if rank is None or (rank.writer != event.writer and not rank.fresh(at_s)):
            if len(self._ranks) >= RANKS_MAX and rank is None:
                return
            rank = self._ranks[number] = _Rank(event)
        if rank.writer == event.writer:
            rank.take(_sums(event.seconds, event.interval_steps, told), at_s)

    def fresh(self, now_s: float) -> bool:
        """Whether any rank still steps."""
        return any(rank.fresh(now_s) for rank in self._ranks.values())

    def freeze(self) -> None:
        """Keep what the whole run came to: no step comes any more."""
        for rank in self._ranks.values():
            rank.recent = array("d")

    def now(self, now_s: float, inside: Inside | None) -> Achieved | None:
        """Figures of the newest window of every rank that still steps; None if there are none."""
        ranks = (r for r in self._ranks.values() if r.enough and r.fresh(now_s))
        return _figures([rank.newest() for rank in ranks], inside, whole_run=False)

    def whole(self, inside: Inside | None) -> Achieved | None:
        """Figures of the whole run, as far as this watcher has seen it."""
        sums = [rank.whole for rank in self._ranks.values()]
        return _figures(sums, inside, whole_run=True)


def _sums(seconds: float, steps: int, told: Iterable[float | None]) -> _Sums:
    found = [seconds, float(steps)]
    for amount in told:
        found += (0.0, 0.0) if amount is None else (float(amount), seconds)
    return found


def _figures(sums: Sequence[_Sums], inside: Inside | None, *, whole_run: bool) -> Achieved | None:
    if not sums:
        return None
    tokens, real_tokens, flops, again = (_total(sums, each) for each in range(_QUANTITIES))
    peak = None if inside is None else inside.peak_flops_per_s
    counting = sum(_rate(s, _FLOPS) is not None for s in sums)
    return Achieved(
        window_s=max(s[0] for s in sums),
        steps=int(max(s[1] for s in sums)),
        ranks=len(sums),
        tokens_per_s=tokens,
        real_tokens_per_s=real_tokens,
        flops_per_s=flops,
        recompute_flops_per_s=again,
        accounting="" if inside is None or flops is None else inside.accounting,
        model_flops_utilization=None if flops is None or not peak else flops / counting / peak,
        whole_run=whole_run,
    )


def _total(sums: Iterable[_Sums], quantity: int) -> float | None:
    rates = [rate for one in sums if (rate := _rate(one, quantity)) is not None]
    return sum(rates) if rates else None
