"""One GPU over one window: what its readings come to. A sample convicts nobody; a window may.

Utilisation and power are taken from the same readings, weighted by the time each stands for, so
that the two can be held against each other.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
    within = _within(samples, newest.at_s - window_s)
    both = [s for s in within if s.utilization is not None and s.power_w is not None]
    weights = [_stands_for_s(s) for s in both]
    tensor = _known(within, [s.tensor_activity for s in within])
    sources = {s.power_source for s in both}
    return GpuWindow(
        seconds=sum(weights),
        utilization=_weighed([s.utilization for s in both], weights)
        if both
        else _mean(within, "utilization"),
        power_w=_weighed([s.power_w for s in both], weights) if both else _mean(within, "power_w"),
        jitter_w=_jitter_w(both),
        power_source=sources.pop() if len(sources) == 1 else None,
        power_limit_w=newest.power_limit_w,
        tensor_activity=_plain_mean(tensor),
        tensor_moved=any(tensor),
        sm_activity=_plain_mean(_known(within, [s.sm_activity for s in within])),
        throttle=_throttle(within),
        temperature_c=newest.temperature_c,
        absent=newest.absent,
    )


def _within(samples: Sequence[GpuSample], since_s: float) -> Sequence[GpuSample]:
    """The newest samples, back to ``since_s``; at least one.

    A sample stands for the time before it, and belongs where the middle of that lies.
    """
    first = len(samples) - 1
    while first > 0:
        sample = samples[first - 1]
        if sample.at_s - _stands_for_s(sample) / 2 < since_s:
            break
        first -= 1
    return samples[first:]


def _weighed(values: Iterable[float | None], weights: Sequence[float]) -> float | None:
    """Mean of values that are all there."""
    total = sum(weights)
    if total <= 0:
        return None
    return sum(v * w for v, w in zip(values, weights, strict=True) if v is not None) / total


def _stands_for_s(sample: GpuSample) -> float:
    span_s = sample.window_s
    if span_s is None:
        return 1.0
    return min(GAP_MAX_S, span_s)


def _mean(samples: Sequence[GpuSample], name: str) -> float | None:
    weighed = [(getattr(s, name), _stands_for_s(s)) for s in samples]
    known = [(value, weight) for value, weight in weighed if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total > 0 else None


def _known(within: Sequence[GpuSample], values: Sequence[float | None]) -> list[float]:
    """The values that are there, if at least half of them are."""
    known = [v for v in values if v is not None]
    return known if 2 * len(known) >= len(within) else []


def _plain_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _jitter_w(samples: Sequence[GpuSample]) -> float:
    """Scatter of momentary readings from one to the next, as error of their mean."""
    momentary = [
        s.power_w
        for s in samples
        if s.power_w is not None and s.power_source is not PowerSource.ENERGY
    ]
    if len(momentary) < 2:
        return 0.0
    scatter_w = median(abs(b - a) for a, b in pairwise(momentary))
    return JITTERS * scatter_w / math.sqrt(len(momentary))


def _throttle(within: Sequence[GpuSample]) -> frozenset[str] | None:
    read = [s.throttle for s in within if s.throttle is not None]
    if 2 * len(read) < len(within):
        return None
    counts: Counter[str] = Counter()
    for reasons, n in Counter(read).items():
        counts.update(dict.fromkeys(reasons, n))
    return frozenset(reason for reason, n in counts.items() if 2 * n >= len(read))
