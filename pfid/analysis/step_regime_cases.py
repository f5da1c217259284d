"""Series of steps with a known regime, built around the limits in force.

Two checks judge steps by :mod:`pfid.analysis.step_regime` and take their controls from here: the
playbook's own runs, one case just either side of each limit, and everything that has fooled other
detectors.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pfid.analysis.step_regime import READ_EVENTS, Regime, RegimeLimits
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy
from pfid.spec.fakes import FixedSteps, moving, step_series
from pfid.spec.playbook_series import (
    RUN_1_RANKS,
    RUN_2_RANKS,
    run_1,
    run_1_summary,
    run_2,
    run_2_summary,
)

FALLBACK: Final = 20.25
"""The playbook's fallback: a median of 19.75 s becomes one of about 400 s."""
_NEWEST: Final = 320
"""Events of a long series that a case keeps; more change nothing."""
_LINEAR: Final = 6.87e-4
_QUADRATIC: Final = 8.85e-8
"""A and B of the playbook's own fit (section 8), seconds per token and per token squared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Steps and the regime they are in."""

    name: str
    steps: FixedSteps
    regime: Regime


def regime_cases(limits: RegimeLimits) -> Iterator[Case]:
    """Every case, for the limits in force."""
    yield from regime_edges(limits)
    yield from _playbook()
    yield from _harmless()
    yield from _clocks()
    yield from _bars(limits)


def regime_edges(limits: RegimeLimits) -> Iterator[Case]:
    """Only those just either side of a limit."""
    yield from _shift_edges(limits)
    yield from _mode_edges(limits)
    few = _of([10.0] * max(limits.window_steps, 4), 10.0)  # the first of them does not count
    yield Case(name="too_few_steps", steps=few, regime=Regime.TOO_FEW)


def _playbook() -> Iterator[Case]:
    first, second = run_1(), run_2()
    one = replace(_of(first, RUN_1_RANKS[50]), whole=run_1_summary())
    two = replace(_of(second, RUN_2_RANKS[50]), whole=run_2_summary())
    yield Case(name="playbook_run_1", steps=one, regime=Regime.NORMAL)
    yield Case(name="playbook_run_2", steps=two, regime=Regime.NORMAL)
    young = _of(first[:100], RUN_1_RANKS[50])
    yield Case(name="young_run_1_with_its_compile", steps=young, regime=Regime.NORMAL)
    for name, series, median_s in (
        ("run_1_slow_from_step_0", first, RUN_1_RANKS[50]),
        ("run_2_slow_from_step_0", second, RUN_2_RANKS[50]),
    ):
        fallen = _of([s * FALLBACK for s in series], median_s)
        yield Case(name=name, steps=fallen, regime=Regime.SHIFTED)
    partial = [s * FALLBACK if i % 5 == 0 else s for i, s in enumerate(second)]
    steps = _of(partial, RUN_2_RANKS[50])
    yield Case(name="every_fifth_step_falls_back", steps=steps, regime=Regime.SECOND_MODE)


def _shift_edges(limits: RegimeLimits) -> Iterator[Case]:
    """The ratios, the steps a shift must hold, and the wall time it must hold."""
    base_s = limits.held_s  # each step alone outlasts the wall floor
    lead, window = _lead(limits), max(limits.window_steps, 4)
    held = 2 * (lead + window)

    def shifted(ratio: float, slow: int, each_s: float = base_s) -> FixedSteps:
        return _of([each_s] * limits.mode_window_steps + [each_s * ratio] * slow, each_s)

    for name, ratio, regime in (
        ("at_shifted_ratio", limits.shifted_ratio * 1.05, Regime.SHIFTED),
        ("below_shifted_ratio", limits.shifted_ratio * 0.95, Regime.SLOW),
        ("at_slow_ratio", limits.slow_ratio * 1.05, Regime.SLOW),
        ("below_slow_ratio", limits.slow_ratio * 0.95, Regime.NORMAL),
    ):
        yield Case(name=name, steps=shifted(ratio, held), regime=regime)
    high = limits.shifted_ratio * 2
    needed = lead + window - 1
    yield Case(name="shift_held", steps=shifted(high, needed), regime=Regime.SHIFTED)
    yield Case(name="shift_too_young", steps=shifted(high, needed - 1), regime=Regime.NORMAL)
    each_s = limits.held_s / (150 * high)
    for name, slow, regime in (
        ("shift_held_half_a_minute", 155, Regime.SHIFTED),
        ("shift_not_half_a_minute", 145, Regime.NORMAL),
    ):
        yield Case(name=name, steps=shifted(high, slow + lead - 1, each_s), regime=regime)


def _mode_edges(limits: RegimeLimits) -> Iterator[Case]:
    """How far apart, how many and how often."""
    base_s, window = limits.held_s, limits.mode_window_steps
    far = limits.mode_ratio * 1.5
    recent = window - 16  # so that a shorter window sees a larger share

    def among(slow: int, ratio: float = far) -> FixedSteps:
        at = {i * recent // slow for i in range(slow)} if slow else set()
        tail = [base_s * (ratio if i in at else 1.0) for i in range(recent)]
        return _of([base_s] * window + tail, base_s)

    def bursts(times: int) -> FixedSteps:
        length = math.ceil(few / max(times, 1))
        burst = [base_s * far] * length + [base_s] * (recent // (times + 1) - length)
        tail = burst * times
        return _of([base_s] * window + tail, base_s)

    def fast(low: int) -> FixedSteps:
        at = {i * recent // low for i in range(low)}
        tail = [base_s / (far if i in at else 1.0) for i in range(recent)]
        return _of([base_s] * window + tail, base_s)

    few = math.ceil(window * limits.mode_share_min - 1e-9)
    least = math.ceil(window * (1 - limits.mode_share_max) - 1e-9)
    many = recent // 5
    yield _mode("at_mode_ratio", among(many, limits.mode_ratio * 1.05), seen=True)
    yield _mode("below_mode_ratio", among(many, limits.mode_ratio * 0.95), seen=False)
    yield _mode("share_just_enough", among(few), seen=True)
    yield _mode("share_just_too_small", among(few - 1), seen=False)
    yield _mode("few_still_fast", fast(least), seen=True)
    yield _mode("too_few_fast", fast(least - 1), seen=False)
    yield _mode("came_back_often_enough", bursts(limits.mode_episodes), seen=True)
    yield _mode("came_back_too_seldom", bursts(limits.mode_episodes - 1), seen=False)


def _harmless() -> Iterator[Case]:
    """What has fooled other detectors."""
    straggler = [10.0] * 60
    straggler[50] = 400.0
    yield Case(name="one_straggler", steps=_of(straggler, 10.0), regime=Regime.NORMAL)
    pauses = tuple(
        replace(e, seconds=900.0, phase=Phase.EVAL) if e.index % 5 == 0 else e
        for e in step_series((10.0,) * 200)
    )
    evals = FixedSteps(events=pauses, held_against=_plain(10.0), moves=moving())
    yield Case(name="evaluation_every_fifth", steps=evals, regime=Regime.NORMAL)
    sizes = [2048, 16384, 4096, 1024, 8192] * 30
    yield Case(name="wide_batches", steps=_sized(sizes, 1.0), regime=Regime.NORMAL)
    once = [4096] * 100 + [16384] * 50
    yield Case(name="schedule_widens_once", steps=_sized(once, 1.0), regime=Regime.NORMAL)
    yield Case(name="wide_and_fallen_back", steps=_sized(sizes, 20.0), regime=Regime.SHIFTED)
    beyond = [16384] * 100 + [24576] * 50
    yield Case(name="wider_than_ever", steps=_sized(beyond, 1.0), regime=Regime.NORMAL)


def _clocks() -> Iterator[Case]:
    """Intervals, and launches that run ahead."""
    for name, each_s, regime in (
        ("intervals", 10.0, Regime.NORMAL),
        ("intervals_fallen_back", 200.0, Regime.SHIFTED),
    ):
        events = _events([each_s * 10 * (1 + 0.1 * (i % 2)) for i in range(40)], steps=10)
        yield Case(name=name, steps=_fixed(events, 10.0), regime=regime)
    for name, factor, regime in (
        ("launches_in_bursts", 1.0, Regime.NORMAL),
        ("launches_fallen_back", 20.0, Regime.SHIFTED),
    ):
        bursts = [factor * (8.5 if i % 16 == 0 else 0.5) for i in range(256)]
        events = _events(bursts, clock=StepClock.ASYNCHRONOUS)
        yield Case(name=name, steps=_fixed(events, 1.0), regime=regime)


def _bars(limits: RegimeLimits) -> Iterator[Case]:
    """Bars that redraw a few times a second and print their elapsed time in whole seconds."""
    redraw_s = max(0.1, 4 * limits.held_s / READ_EVENTS)
    for name, each_s, regime in (
        ("bar_of_fast_steps", 0.014, Regime.NORMAL),
        ("bar_after_the_fallback", 0.24, Regime.SHIFTED),
    ):
        steps = math.ceil(redraw_s / each_s)
        shown = [math.floor(each_s * steps * i) for i in range(READ_EVENTS + 1)]
        elapsed = [later - earlier for earlier, later in pairwise(shown)]
        events = _events(elapsed, steps=steps, clock=StepClock.COUNTER)
        yield Case(name=name, steps=_fixed(events, 0.014), regime=regime)


def _mode(name: str, steps: FixedSteps, *, seen: bool) -> Case:
    return Case(name=name, steps=steps, regime=Regime.SECOND_MODE if seen else Regime.NORMAL)


def _lead(limits: RegimeLimits) -> int:
    """How many slow steps make the median of a window slow."""
    window = max(limits.window_steps, 4)
    return window - math.ceil(window / 2) + 1


def _plain(median_s: float) -> Baseline:
    return Baseline(median_s=median_s, source=BaselineSource.EARLIER_RUNS, n=1_000)


def _of(seconds: Sequence[float], median_s: float) -> FixedSteps:
    kept = tuple(seconds)[-_NEWEST:]
    events = step_series(kept, first_index=len(seconds) - len(kept) + 1)
    return _fixed(events, median_s)


def _fixed(events: tuple[StepEvent, ...], median_s: float) -> FixedSteps:
    seen = events[-1].index
    moves = moving(steps_seen=seen, last_index=seen)
    return FixedSteps(events=events, held_against=_plain(median_s), moves=moves)


def _events(
    seconds: Sequence[float], *, steps: int = 1, clock: StepClock = StepClock.PRINTED
) -> tuple[StepEvent, ...]:
    return tuple(
        StepEvent(index=i * steps, seconds=each_s, interval_steps=steps, clock=clock)
        for i, each_s in enumerate(seconds, start=1)
    )


def _sized(widths: Iterable[int], factor: float) -> FixedSteps:
    """Steps that take what the playbook's fit says for their width, times ``factor``."""
    events = tuple(
        StepEvent(
            index=i,
            seconds=factor * (_LINEAR * w + _QUADRATIC * w * w),
            clock=StepClock.REPORTED,
            width=w,
        )
        for i, w in enumerate(widths, start=1)
    )
    fitted = replace(
        _plain(4.3),
        linear_s_per_width=_LINEAR,
        quadratic_s_per_width2=_QUADRATIC,
        sized_by=SizedBy.WIDTH,
        min_size=1024.0,
        max_size=16384.0,
    )
    return replace(_fixed(events, 4.3), held_against=fitted)
