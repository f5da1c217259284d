"""A run's own early steps as a baseline: the last resort, and only for what comes after.

It cannot see a run that was slow from step 0; that is why anything older comes first
(:mod:`pfid.policy.baseline`). Once taken it is frozen, so that a run that degrades slowly cannot
drag its own measure along.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.modes import at_share, weighted_median
from pfid.analysis.step_size import SPREAD, Curve, fit
from pfid.analysis.step_windows import whole_seconds
from pfid.domain.step import Phase, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy

MIN_STEPS: Final = 32
"""Steps needed, the first not among them."""
MIN_WALL_S: Final = 3.0
"""Wall time they must span: a burst of fast steps says nothing about the machine."""
COARSE_WALL_S: Final = 30.0
"""Likewise where the clock prints whole seconds."""
CHANGED: Final = 3.0
"""If one half of the early steps took this many times the other, the regime changed on the way
and only the faster half counts; less is noise, and belongs to the spread."""
_MERGE_BELOW_S: Final = 0.02
TAKEN_MAX: Final = 192
"""Kept at most; honest steps are enough long before, only zeros of two clocks in turn are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Some early steps that were timed together; ``coarse`` in whole seconds of a counter."""

    steps: int
    seconds: float
    coarse: bool = False
    width: float | None = None
    tokens: float | None = None

    @property
    def each_s(self) -> float:
        """Seconds per step."""
        return self.seconds / self.steps

    def size(self, by: SizedBy | None) -> float | None:
        """Size of one step."""
        if by is None:
            return None
        return self.width if by is SizedBy.WIDTH else self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlySteps:
    """Plain data; ``EarlySteps()`` before the first event.

    Attributes:
        first_seen: whether the first event, which holds the compile, has been left out.
        taken: what was collected so far; empty again once the baseline is taken.
        baseline: what came out, frozen; None until then.
        refused: whether the run was judged slow against something older and may not be its own
            measure.
    """

    first_seen: bool = False
    taken: tuple[Taken, ...] = ()
    baseline: Baseline | None = None
    refused: bool = False


def take(state: EarlySteps, event: StepEvent) -> EarlySteps:
    """Take in one event: the first is left out by position, other phases are no steps."""
    if state.baseline is not None or state.refused:
        return state
    if not state.first_seen:
        return replace(state, first_seen=True)
    if event.phase is not Phase.TRAIN or event.seconds is None:
        return state
    state = replace(state, taken=_with(state.taken, _taken(event)))
    fine = [t for t in state.taken if not t.coarse]
    if _enough(fine, MIN_WALL_S):
        return _freeze(state, fine)
    return _freeze(state, state.taken) if _enough(state.taken, COARSE_WALL_S) else state


def refuse(state: EarlySteps) -> EarlySteps:
    """Note that the run was judged slow: what it has shown of itself is void."""
    return replace(state, taken=(), baseline=None, refused=True)


def _taken(event: StepEvent) -> Taken:
    return Taken(
        steps=event.interval_steps,
        seconds=event.seconds or 0.0,
        coarse=whole_seconds(event),
        width=float(event.width) if event.width else None,
        tokens=event.tokens / event.interval_steps if event.tokens else None,
    )


def _with(taken: tuple[Taken, ...], new: Taken) -> tuple[Taken, ...]:
    """Append; neighbours too short to time are put together, which also bounds their number."""
    last = taken[-1] if taken else None
    if last is None or last.seconds >= _MERGE_BELOW_S or last.coarse is not new.coarse:
        return (*taken[-(TAKEN_MAX - 1) :], new)
    joined = Taken(
        steps=last.steps + new.steps,
        seconds=last.seconds + new.seconds,
        coarse=last.coarse,
        width=_mean(last, new, last.width, new.width),
        tokens=_mean(last, new, last.tokens, new.tokens),
    )
    return (*taken[:-1], joined)


def _mean(a: Taken, b: Taken, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    return (left * a.steps + right * b.steps) / (a.steps + b.steps)


def _enough(taken: Sequence[Taken], wall_s: float) -> bool:
    return sum(t.steps for t in taken) >= MIN_STEPS and sum(t.seconds for t in taken) >= wall_s


def _freeze(state: EarlySteps, taken: Sequence[Taken]) -> EarlySteps:
    by = _sized_by(taken)
    kept = _faster_half(taken, by)
    points = [(size, t.each_s) for t in kept if (size := t.size(by)) is not None]
    curve = fit(points) if points else None
    sizes = sorted(w for w, _ in points)
    if curve is None and sizes and sizes[-1] >= SPREAD * sizes[0]:
        by, sizes = None, []  # sizes differ and do not explain the times
    baseline = Baseline(
        median_s=weighted_median([(t.each_s, t.steps) for t in kept]),
        source=BaselineSource.OWN_EARLY_STEPS,
        n=sum(t.steps for t in kept),
        linear_s_per_width=None if curve is None else curve.linear,
        quadratic_s_per_width2=None if curve is None else curve.quadratic,
        sized_by=by,
        min_size=sizes[0] if sizes else None,
        max_size=sizes[-1] if sizes else None,
        spread=_spread(kept, by, curve),
    )
    return replace(state, taken=(), baseline=baseline)


def _spread(kept: Sequence[Taken], by: SizedBy | None, curve: Curve | None) -> float | None:
    """90th percentile over median, of times or of residuals."""
    due = [1.0 if curve is None else curve.at(t.size(by) or 1.0) for t in kept]
    ratios = [(t.each_s / d, t.steps) for t, d in zip(kept, due, strict=True) if d > 0]
    middle = weighted_median(ratios) if ratios else 0.0
    return at_share(sorted(ratios), 0.9) / middle if middle > 0 else None


def _sized_by(taken: Sequence[Taken]) -> SizedBy | None:
    for by in SizedBy:
        if all(t.size(by) is not None for t in taken):
            return by
    return None


def _faster_half(taken: Sequence[Taken], by: SizedBy | None) -> Sequence[Taken]:
    """Return all of it, or the faster half if the regime changed on the way."""
    middle = len(taken) // 2
    if middle < 4:
        return taken
    halves = sorted((taken[:middle], taken[middle:]), key=lambda half: _cost(half, by))
    faster, slower = halves
    return faster if _cost(slower, by) >= CHANGED * _cost(faster, by) else taken


def _cost(taken: Sequence[Taken], by: SizedBy | None) -> float:
    """Median seconds per step, per unit of size where sizes are known."""
    return weighted_median([(t.each_s / (t.size(by) or 1.0), t.steps) for t in taken])
