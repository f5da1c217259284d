"""What reported steps come to in a second: tokens, real tokens, FLOPs (playbook section 3.8).

Rates are sums over elapsed time, never means of rates: a short step would count as much as a long
one. A step that does not say a quantity is left out of that quantity's time as well.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pfid.analysis.rank_sums import QUANTITIES, RankSums, Sums
from pfid.domain.inside import Achieved, Inside, StepReport
from pfid.domain.step import Phase, StepClock, StepEvent

FRESH_S: Final = 120.0
"""A figure is void this long after the last step, or ten steps after it if that is longer."""
_LONG_STEPS: Final = 10
_NOTHING: Final = StepReport()
_FLOPS: Final = 2


def _rate(sums: Sums, quantity: int) -> float | None:
    amount, seconds = sums[2 + 2 * quantity], sums[3 + 2 * quantity]
    return amount / seconds if seconds > 0 else None


class AchievedRates:
    """Takes the steps of every rank of a run; 1.5 KB a rank of a few, 0.3 KB of many.

    Where there are many the window of a figure is up to twice as long
    (:mod:`pfid.analysis.rank_sums`).
    """

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._sums = RankSums()

    def take(self, event: StepEvent, at_s: float) -> None:
        """Take in one step that came at ``at_s`` (monotonic); pauses are no steps.

        A rank is heard through one writer: its first, until another process takes its place.
        """
        report = event.report or _NOTHING
        told = (event.tokens, report.real_tokens, report.flops, report.recompute_flops)
        if event.phase is not Phase.TRAIN or not event.seconds or all(a is None for a in told):
            return
        sums = self._sums
        place = None if sums.closed else sums.place(event.rank or 0)
        if place is None:
            return
        if not sums.is_of(place, event.writer):
            if sums.heard(place) and self._fresh(place, at_s):
                return
            launches = event.clock is StepClock.ASYNCHRONOUS
            sums.begin(place, event.writer, launches=launches)
        sums.add(place, _said(event.seconds, event.interval_steps, told), at_s)

    def _fresh(self, place: int, now_s: float) -> bool:
        at_s, last_s = self._sums.heard_s(place)
        return now_s - at_s <= max(FRESH_S, _LONG_STEPS * last_s)

    def fresh(self, now_s: float) -> bool:
        """Whether any rank still steps."""
        return any(self._fresh(place, now_s) for place in self._sums)

    def freeze(self) -> None:
        """Keep what the whole run came to: no step comes any more."""
        self._sums.forget_newest()

    def now(self, now_s: float, inside: Inside | None) -> Achieved | None:
        """Figures of the newest window of every rank that still steps; None if there are none."""
        sums = self._sums
        stepping = (place for place in sums if sums.enough(place) and self._fresh(place, now_s))
        return _figures([sums.newest(place) for place in stepping], inside, whole_run=False)

    def whole(self, inside: Inside | None) -> Achieved | None:
        """Figures of the whole run, as far as this watcher has seen it."""
        sums = [self._sums.whole(place) for place in self._sums]
        return _figures(sums, inside, whole_run=True)


def _said(seconds: float, steps: int, told: Iterable[float | None]) -> Sums:
    found = [seconds, float(steps)]
    for amount in told:
        found += (0.0, 0.0) if amount is None else (float(amount), seconds)
    return found


def _figures(sums: Sequence[Sums], inside: Inside | None, *, whole_run: bool) -> Achieved | None:
    if not sums:
        return None
    tokens, real_tokens, flops, again = (_total(sums, each) for each in range(QUANTITIES))
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


def _total(sums: Iterable[Sums], quantity: int) -> float | None:
    rates = [rate for one in sums if (rate := _rate(one, quantity)) is not None]
    return sum(rates) if rates else None
