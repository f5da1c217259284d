"""One GPU over one window: what its readings come to. A sample convicts nobody; a window may.

Utilisation and power are taken from the same readings, weighted by the time each stands for, so
that the two can be held against each other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from pfid.domain.gpu import AbsentReason, GpuSample, PowerSource

GAP_MAX_S: Final = 10.0
"""A reading stands for so long at most: after an outage nobody knows what was in between."""
JITTERS: Final = 3.0
"""How many times its standard error a mean of momentary readings may be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuWindow:
    """What a window of readings comes to; a figure that could not be had is None.

    Attributes:
        seconds: covered by readings with both utilisation and power.
        utilization: mean engine-active share, 0..1.
        power_w: mean power.
        jitter_w: by how much ``power_w`` may be off for the sensor's own scatter; 0 for an energy
            counter, whose mean is exact.
        power_source: how power was had; None with ``power_w``, and where it is mixed.
        power_limit_w: enforced limit in the newest reading.
        tensor_activity: mean over the readings that have it, None if fewer than half do.
        tensor_moved: whether it was ever above 0; a counter that is stuck looks like idleness.
        sm_activity: mean likewise.
        throttle: reasons active in at least half of the readings; None if not readable.
        temperature_c: in the newest reading.
        absent: why figures are missing from the newest reading.
    """

    seconds: float = 0.0
    utilization: float | None = None
    power_w: float | None = None
    jitter_w: float = 0.0
    power_source: PowerSource | None = None
    power_limit_w: float | None = None
    tensor_activity: float | None = None
    tensor_moved: bool = False
    sm_activity: float | None = None
    throttle: frozenset[str] | None = None
    temperature_c: float | None = None
    absent: Mapping[str, AbsentReason] = field(default_factory=dict)


_KEPT_MAX: Final = 256
_kept: Final[dict[tuple[str, float], tuple[tuple[GpuSample, ...], GpuWindow]]] = {}
"""The newest answers: eight runs on one card ask the same about the same samples."""


def newest_window(samples: Sequence[GpuSample], window_s: float) -> GpuWindow:
    """Sum up the last ``window_s`` seconds of samples, oldest first."""
    if not samples:
        return GpuWindow()
    if not isinstance(samples, tuple):
        return _summed(samples, window_s)
    about = (samples[-1].uuid, window_s)
    kept = _kept.get(about)
    if kept is not None and kept[0] is samples:
        return kept[1]
    if len(_kept) >= _KEPT_MAX:
        _kept.clear()
    window = _summed(samples, window_s)
    _kept[about] = (samples, window)
    return window


def _summed(samples: Sequence[GpuSample], window_s: float) -> GpuWindow:
    newest = samples[-1]
    sums = _Sums()
    for sample in _within(samples, newest.at_s - window_s):
        sums.take(sample)
    return GpuWindow(
        seconds=sums.seconds,
        utilization=sums.utilization,
        power_w=sums.power_w,
        jitter_w=_jitter_w(sums.momentary_w),
        power_source=next(iter(sums.sources)) if len(sums.sources) == 1 else None,
        power_limit_w=newest.power_limit_w,
        tensor_activity=sums.mean(sums.tensor),
        tensor_moved=any(sums.tensor),
        sm_activity=sums.mean(sums.sm),
        throttle=sums.throttle,
        temperature_c=newest.temperature_c,
        absent=newest.absent,
    )


class _Sums:
    """What a window comes to, one reading after the other: it is summed up many times a minute."""

    def __init__(self) -> None:
        self.n = 0
        self.seconds = 0.0
        """Of readings with both utilisation and power."""
        self._both = [0.0, 0.0]
        self._alone = [[0.0, 0.0], [0.0, 0.0]]
        self.sources: set[PowerSource | None] = set()
        self.momentary_w: list[float] = []
        self.tensor: list[float] = []
        self.sm: list[float] = []
        self._reasons: dict[frozenset[str], int] = {}

    def take(self, sample: GpuSample) -> None:
        self.n += 1
        utilization, power_w, stands_s = sample.utilization, sample.power_w, _stands_for_s(sample)
        if utilization is not None and power_w is not None:
            self.seconds += stands_s
            self._both[0] += utilization * stands_s
            self._both[1] += power_w * stands_s
            self.sources.add(sample.power_source)
            if sample.power_source is not PowerSource.ENERGY:
                self.momentary_w.append(power_w)
        else:
            for value, alone in zip((utilization, power_w), self._alone, strict=True):
                if value is not None:
                    alone[0] += value * stands_s
                    alone[1] += stands_s
        if sample.tensor_activity is not None:
            self.tensor.append(sample.tensor_activity)
        if sample.sm_activity is not None:
            self.sm.append(sample.sm_activity)
        if sample.throttle is not None:
            self._reasons[sample.throttle] = self._reasons.get(sample.throttle, 0) + 1

    @property
    def utilization(self) -> float | None:
        return self._weighed(0)

    @property
    def power_w(self) -> float | None:
        return self._weighed(1)

    def _weighed(self, which: int) -> float | None:
        """Mean over the readings that have both; where none has, over those that have this one."""
        total, seconds = (self._both[which], self.seconds) if self.sources else self._alone[which]
        return total / seconds if seconds > 0 else None

    def mean(self, known: Sequence[float]) -> float | None:
        """Plain mean, if at least half of the readings have the value."""
        return sum(known) / len(known) if known and 2 * len(known) >= self.n else None

    @property
    def throttle(self) -> frozenset[str] | None:
        read = sum(self._reasons.values())
        if 2 * read < self.n:
            return None
        counts: dict[str, int] = {}
        for reasons, n in self._reasons.items():
            for reason in reasons:
                counts[reason] = counts.get(reason, 0) + n
        return frozenset(reason for reason, n in counts.items() if 2 * n >= read)


def _within(samples: Sequence[GpuSample], since_s: float) -> Sequence[GpuSample]:
    """The newest samples, back to ``since_s``; at least one.

    A sample stands for the time before it, and belongs where the middle of that lies. Whatever was
    read before a clock was set back is of no time that can be told.
    """
    first = len(samples) - 1
    newest_s = samples[first].at_s
    while first > 0:
        sample = samples[first - 1]
        if sample.at_s > newest_s or sample.at_s - _stands_for_s(sample) / 2 < since_s:
            break
        first -= 1
    return samples[first:]


def _stands_for_s(sample: GpuSample) -> float:
    span_s = sample.window_s
    if span_s is None:
        return 1.0
    return min(GAP_MAX_S, span_s)


def _jitter_w(momentary_w: Sequence[float]) -> float:
    """Scatter of momentary readings from one to the next, as error of their mean."""
    if len(momentary_w) < 2:
        return 0.0
    scatter_w = median(abs(b - a) for a, b in pairwise(momentary_w))
    return JITTERS * scatter_w / math.sqrt(len(momentary_w))
