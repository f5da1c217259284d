"""Has the distribution of step times left its baseline: as a whole, or with a second mode?

A fallback is a shift of the whole distribution; a straggler is one point; a partial fallback
returns again and again between ordinary steps. Rules of DESIGN section 10. Two checks read this:
one for the shift itself, one to learn what a recompile limit has cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.analysis.step_windows import Window, windows
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline
from pfid.spec.limits import limit

READ_EVENTS: Final = 512
"""How many events a reader needs to ask for."""
_LEAST_WINDOWS: Final = 4
"""A median needs company: of fewer windows one long pause would be the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeLimits:
    """Limits of DESIGN section 10; each can be configured.

    Attributes:
        shifted_ratio: median of the last ``window_steps`` over the baseline, from which the whole
            distribution has shifted (the playbook's fallback is x20).
        slow_ratio: likewise, from which it is slow.
        window_steps: steps of the median, and how many steps it must hold.
        held_s: wall time it must hold as well, seconds.
        mode_ratio: how many times the lower mode a step takes that belongs to a second one.
        mode_share_min: share of steps in the second mode from which on it is one.
        mode_share_max: share up to which the rest is still the lower mode.
        mode_window_steps: steps over which shares are counted.
        mode_episodes: how often the second mode must have come back; once is a shift or a pause.
    """

    shifted_ratio: float = limit(3.0, unit="ratio", factor=1.1)
    slow_ratio: float = limit(1.5, unit="ratio", factor=1.1)
    window_steps: int = limit(16, unit="steps", delta=2)
    held_s: float = limit(30.0, unit="s", factor=1.1)
    mode_ratio: float = limit(5.0, unit="ratio", factor=1.1)
    mode_share_min: float = limit(0.05, unit="ratio", factor=1.25)
    mode_share_max: float = limit(0.95, unit="ratio", factor=1.02)
    mode_window_steps: int = limit(128, unit="steps", delta=16)
    mode_episodes: int = limit(3, unit="1", delta=1)


class Regime(Enum):
    """What the steps look like beside their baseline."""

    TOO_FEW = "too_few"
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
        steps: steps that were judged.
        held_steps: for how many steps the median has been at the limit that decided.
        held_s: for how much wall time.
        mode_share: share of steps in a second mode, 0 if there is none.
        mode_ratio: median of the second mode over the lower one, 0 if there is none.
    """

    regime: Regime
    ratio: float | None = None
    steps: int = 0
    held_steps: int = 0
    held_s: float = 0.0
    mode_share: float = 0.0
    mode_ratio: float = 0.0


def read_regime(events: Iterable[StepEvent], baseline: Baseline, limits: RegimeLimits) -> Reading:
    """Judge the newest steps, oldest first, against ``baseline``.

    Events of other phases and without a duration are passed over. Sizes are accounted for where
    the baseline knows them. A whole shift outranks a second mode, which outranks slow.
    """
    parts = windows(events, baseline)
    steps = sum(p.steps for p in parts)
    ratio = _median_at(parts, len(parts), limits.window_steps)
    if ratio is None:
        return Reading(regime=Regime.TOO_FEW, steps=steps)
    for regime, least in (
        (Regime.SHIFTED, limits.shifted_ratio),
        (Regime.SECOND_MODE, None),
        (Regime.SLOW, limits.slow_ratio),
    ):
        found = (
            _second_mode(parts, limits) if least is None else _held(parts, least, limits, regime)
        )
        if found is not None:
            return found
    return Reading(regime=Regime.NORMAL, ratio=ratio, steps=steps)
