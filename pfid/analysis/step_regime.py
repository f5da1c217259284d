"""Has the distribution of step times left its baseline: as a whole, or with a second mode?

A fallback is a shift of the whole distribution; a straggler is one point; a partial fallback
returns again and again between ordinary steps. Rules of DESIGN section 10. Two checks read this:
one for the shift itself, one to learn what a recompile limit has cost.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Final

from pfid.analysis.modes import split, weighted_median
from pfid.analysis.step_windows import Window, windows
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline
from pfid.spec.limits import limit

READ_EVENTS: Final = 512
"""How many events a reader needs to ask for."""
SPREAD_MAX: Final = 4.0
"""How far a baseline's own spread may raise a limit. A whole fallback (x20) is far beyond."""
_LEAST_WINDOWS: Final = 4
"""A median needs company: of fewer windows one long pause would be the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLimits:
    """Limits of DESIGN section 10 that say whether the baseline has been left at all.

    Attributes:
        slow_ratio: median of the last ``window_steps`` over the baseline, from which it is slow.
        window_steps: steps of the median, and how many steps it must hold.
        held_s: wall time it must hold as well, seconds.
        mode_ratio: how many times the lower mode a step takes that belongs to a second one.
        mode_share_min: share of steps in the second mode from which on it is one.
        mode_share_max: share up to which the rest is still the lower mode.
        mode_window_steps: steps over which shares are counted, or more of them where they do not
            span twice ``held_s``.
        mode_episodes: how often the second mode must have come back; once is a shift or a pause.
    """

    slow_ratio: float = limit(1.5, unit="ratio", factor=1.1)
    window_steps: int = limit(16, unit="steps", delta=2)
    held_s: float = limit(30.0, unit="s", factor=1.1)
    mode_ratio: float = limit(5.0, unit="ratio", factor=1.1)
    mode_share_min: float = limit(0.05, unit="ratio", factor=1.25)
    mode_share_max: float = limit(0.95, unit="ratio", factor=1.02)
    mode_window_steps: int = limit(128, unit="steps", delta=16)
    mode_episodes: int = limit(3, unit="1", delta=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeLimits(SlowLimits):
    """Likewise, and where a whole shift begins.

    Attributes:
        shifted_ratio: as ``slow_ratio``, from which the whole distribution has shifted (the
            playbook's fallback is x20).
    """

    shifted_ratio: float = limit(3.0, unit="ratio", factor=1.1)


def with_shift(limits: SlowLimits) -> RegimeLimits:
    """Complete limits for a reader to whom slow and shifted are the same."""
    return RegimeLimits(**asdict(limits), shifted_ratio=2 * limits.slow_ratio)


class Regime(Enum):
    """What the steps look like beside their baseline."""

    TOO_FEW = "too_few_steps"
    NORMAL = "normal"
    SLOW = "slow"
    SHIFTED = "shifted"
    SECOND_MODE = "second_mode"

    @property
    def bad(self) -> bool:
        """Whether the baseline has been left."""
        return self in {Regime.SLOW, Regime.SHIFTED, Regime.SECOND_MODE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was seen.

    Attributes:
        regime: the answer.
        ratio: median of the last window over the baseline; None with too few steps.
        pending: whether the median is beyond a limit that has not been held for long enough.
        steps: steps that were judged.
        held_steps: for how many steps the median has been at the limit that decided.
        held_s: for how much wall time.
        mode_share: share of steps in a second mode, 0 if there is none.
        mode_ratio: median of the second mode over the lower one, 0 if there is none.
    """

    regime: Regime
    ratio: float | None = None
    pending: bool = False
    steps: int = 0
    held_steps: int = 0
    held_s: float = 0.0
    mode_share: float = 0.0
    mode_ratio: float = 0.0


def read_regime(events: Sequence[StepEvent], baseline: Baseline, limits: RegimeLimits) -> Reading:
    """Judge the newest steps, oldest first, against ``baseline``.

    Events of other phases and without a duration are passed over. Sizes are accounted for where
    the baseline knows them. A whole shift outranks a second mode, which outranks slow.

    A median must also lie beyond nine of ten steps of the baseline, as far as its spread is
    known: of widely varying batches sixteen are often long by chance.
    """
    parts = windows(events, baseline, steps=limits.mode_window_steps, seconds=2 * limits.held_s)
    steps = sum(p.steps for p in parts)
    ratio = median_ratio(parts, limits.window_steps)
    if ratio is None:
        return Reading(regime=Regime.TOO_FEW, steps=steps)
    base = Reading(regime=Regime.NORMAL, ratio=ratio, steps=steps)
    wide = min(baseline.spread or 1.0, SPREAD_MAX)
    return (
        _held(base, Regime.SHIFTED, parts, max(limits.shifted_ratio, wide), limits)
        or _two_modes(base, parts, limits)
        or _held(base, Regime.SLOW, parts, max(limits.slow_ratio, wide), limits)
        or replace(base, pending=ratio >= max(limits.slow_ratio, wide))
    )


def after_first(events: tuple[StepEvent, ...], asked: int = READ_EVENTS) -> tuple[StepEvent, ...]:
    """Leave out the run's first step, by position: it is there only if nothing was cut off."""
    return events[1:] if len(events) < asked else events


def median_ratio(parts: Sequence[Window], window_steps: int) -> float | None:
    """Median over the last ``window_steps`` steps, in units of the baseline.

    Returns:
        None if ``parts`` do not hold that many, or hold them in too few windows.
    """
    first = _begin(parts, len(parts), window_steps)
    return None if first is None else _median(parts[first:])


def _begin(parts: Sequence[Window], end: int, window_steps: int) -> int | None:
    """Index at which the median's window begins that ends before ``end``."""
    steps = 0
    for first in range(end - 1, -1, -1):
        steps += parts[first].steps
        if steps >= window_steps and end - first >= _LEAST_WINDOWS:
            return first
    return None


def _median(parts: Sequence[Window]) -> float:
    return weighted_median([(p.ratio, p.steps) for p in parts])


def _held(
    base: Reading, regime: Regime, parts: Sequence[Window], least: float, limits: RegimeLimits
) -> Reading | None:
    """Return a reading if the median has been at ``least`` for long enough."""
    steps, seconds = 0, 0.0
    for end in range(len(parts), 0, -1):
        first = _begin(parts, end, limits.window_steps)
        if first is None or _median(parts[first:end]) < least:
            break
        steps += parts[end - 1].steps
        seconds += parts[end - 1].seconds
        if steps >= limits.window_steps and seconds >= limits.held_s:
            return replace(base, regime=regime, held_steps=steps, held_s=seconds)
    return None


def _two_modes(base: Reading, parts: Sequence[Window], limits: RegimeLimits) -> Reading | None:
    enough = sum(p.steps for p in parts) >= 2 * limits.window_steps
    if not enough or sum(p.seconds for p in parts) < limits.held_s:
        return None
    modes = split(
        [(p.ratio, p.steps) for p in parts],
        ratio=limits.mode_ratio,
        lower_share=1 - limits.mode_share_max,
    )
    if modes is None or modes.share < limits.mode_share_min:
        return None
    if modes.episodes < limits.mode_episodes or not modes.apart:
        return None
    return replace(base, regime=Regime.SECOND_MODE, mode_share=modes.share, mode_ratio=modes.ratio)
