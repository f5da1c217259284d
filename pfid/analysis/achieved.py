"""What reported steps come to in a second: tokens, real tokens, FLOPs (playbook section 3.8).

Rates are sums over elapsed time, never means of rates: a short step would count as much as a long
one. A step that does not say a quantity is left out of that quantity's time as well.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pfid.domain.inside import Achieved, Inside, StepReport
from pfid.domain.step import Phase, StepClock, StepEvent

WINDOW_S: Final = 60.0
"""Seconds of steps that a figure rests on, as long as the window GPUs are judged over."""
FRESH_S: Final = 120.0
"""A figure is void this long after the last step, or ten steps after it if that is longer."""
STEPS_MIN: Final = 16
"""Fewer steps tell nothing where work is launched ahead."""
ENTRY_S: Final = 1.0
"""Steps shorter than this are kept together, so that memory is bounded by time."""
ENTRIES_MAX: Final = 256
RANKS_MAX: Final = 64
_LONG_STEPS: Final = 10
_NOTHING: Final = StepReport()


class _Taken(NamedTuple):
    seconds: float
    steps: int
    tokens: float | None
    real_tokens: float | None
    flops: float | None
    recompute_flops: float | None


def _known(one: _Taken) -> tuple[bool, ...]:
    return tuple(value is not None for value in one)


def _together(last: _Taken, one: _Taken) -> _Taken:
    """Both, of which the same quantities are known."""
    pairs = zip(last, one, strict=True)
    return _Taken(*(None if a is None or b is None else a + b for a, b in pairs))  # type: ignore[arg-type]


@dataclass(slots=True)
class _Sum:
    """One quantity over time."""

    amount: float = 0.0
    seconds: float = 0.0

    def add(self, amount: float | None, seconds: float) -> None:
        if amount is not None:
            self.amount += amount
            self.seconds += seconds

    @property
    def rate(self) -> float | None:
        return self.amount / self.seconds if self.seconds > 0 else None


class _Sums:
    """All quantities of one rank."""

    __slots__ = ("flops", "real_tokens", "recompute_flops", "seconds", "steps", "tokens")

    def __init__(self, taken: Iterable[_Taken] = ()) -> None:
        self.tokens, self.real_tokens = _Sum(), _Sum()
        self.flops, self.recompute_flops = _Sum(), _Sum()
        self.seconds, self.steps = 0.0, 0
        for one in taken:
            self.add(one)

    def add(self, one: _Taken) -> None:
        self.seconds += one.seconds
        self.steps += one.steps
        self.tokens.add(one.tokens, one.seconds)
        self.real_tokens.add(one.real_tokens, one.seconds)
        self.flops.add(one.flops, one.seconds)
        self.recompute_flops.add(one.recompute_flops, one.seconds)


class _Rank:
    """One rank, heard through one writer."""

    __slots__ = ("at_s", "launches", "recent", "whole", "writer")

    def __init__(self, event: StepEvent) -> None:
        self.writer = event.writer
        self.launches = event.clock is StepClock.ASYNCHRONOUS
        self.recent: deque[_Taken] = deque(maxlen=ENTRIES_MAX)
        self.whole = _Sums()
        self.at_s = 0.0

    def take(self, one: _Taken, at_s: float) -> None:
        last = self.recent[-1] if self.recent else None
        if last is not None and last.seconds < ENTRY_S and _known(last) == _known(one):
            self.recent[-1] = _together(last, one)
        else:
            self.recent.append(one)
        self.whole.add(one)
        self.at_s = at_s

    @property
    def enough(self) -> bool:
        """Whether there are steps enough for a figure."""
        return sum(one.steps for one in self.recent) >= (STEPS_MIN if self.launches else 1)

    def newest(self) -> list[_Taken]:
        """So many of the newest steps as make up the window."""
        found: list[_Taken] = []
        seconds, steps = 0.0, 0
        for one in reversed(self.recent):
            if seconds >= WINDOW_S and (steps >= STEPS_MIN or not self.launches):
                break
            found.append(one)
            seconds, steps = seconds + one.seconds, steps + one.steps
        return found

    def fresh(self, now_s: float) -> bool:
        last_s = self.recent[-1].seconds / self.recent[-1].steps if self.recent else 0.0
        return now_s - self.at_s <= max(FRESH_S, _LONG_STEPS * last_s)


class AchievedRates:
    """Takes the steps of every rank of a run; 50 KB a rank at most."""

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
            rank.take(_Taken(event.seconds, event.interval_steps, *told), at_s)

    def fresh(self, now_s: float) -> bool:
        """Whether any rank still steps."""
        return any(rank.fresh(now_s) for rank in self._ranks.values())

    def now(self, now_s: float, inside: Inside | None) -> Achieved | None:
        """Figures of the newest window of every rank that still steps; None if there are none."""
        ranks = (r for r in self._ranks.values() if r.enough and r.fresh(now_s))
        return _figures([_Sums(rank.newest()) for rank in ranks], inside, whole_run=False)

    def whole(self, inside: Inside | None) -> Achieved | None:
        """Figures of the whole run, as far as this watcher has seen it."""
        sums = [rank.whole for rank in self._ranks.values()]
        return _figures(sums, inside, whole_run=True)


def _figures(sums: Sequence[_Sums], inside: Inside | None, *, whole_run: bool) -> Achieved | None:
    if not sums:
        return None
    flops = _total(s.flops for s in sums)
    peak = None if inside is None else inside.peak_flops_per_s
    counting = sum(s.flops.rate is not None for s in sums)
    return Achieved(
        window_s=max(s.seconds for s in sums),
        steps=max(s.steps for s in sums),
        ranks=len(sums),
        tokens_per_s=_total(s.tokens for s in sums),
        real_tokens_per_s=_total(s.real_tokens for s in sums),
        flops_per_s=flops,
        recompute_flops_per_s=_total(s.recompute_flops for s in sums),
        accounting="" if inside is None or flops is None else inside.accounting,
        model_flops_utilization=None if flops is None or not peak else flops / counting / peak,
        whole_run=whole_run,
    )


def _total(sums: Iterable[_Sum]) -> float | None:
    rates = [rate for one in sums if (rate := one.rate) is not None]
    return sum(rates) if rates else None
