"""The distribution of step times that belongs beside every configured value (playbook 4.3).

Every figure is a step that happened: nearest rank, no interpolation. The first step is left out by
its position, because it carries compilation; never the slowest, which may be an ordinary one.
"""

import math
from typing import Any, Dict, Iterable, Sequence

UNIT = "seconds_per_optimizer_step"
_PERCENTILES = (("p50", 50.0), ("p90", 90.0), ("p99", 99.0))


def step_time_summary(durations: Iterable[float]) -> Dict[str, Any]:
    """Summarise the durations of a run's optimizer steps, in the order they were taken.

    Returns:
        ``n`` steps counted, the first not among them; ``first``; ``min p50 p90 p99 max``; ``unit``.
        What there is none of is None: every key is always there.

    Raises:
        ValueError: for a duration that is negative or no finite number.
    """
    taken = [float(seconds) for seconds in durations]
    bad = [s for s in taken if not (math.isfinite(s) and s >= 0)]
    if bad:
        raise ValueError(f"step times are finite and not negative; got {bad[0]}")
    ordered = sorted(taken[1:])
    summary: Dict[str, Any] = {
        "n": len(ordered),
        "first": taken[0] if taken else None,
        "min": ordered[0] if ordered else None,
    }
    for name, percent in _PERCENTILES:
        summary[name] = _nearest_rank(ordered, percent) if ordered else None
    summary["max"] = ordered[-1] if ordered else None
    summary["unit"] = UNIT
    return summary


def _nearest_rank(ordered: Sequence[float], percent: float) -> float:
    # Rounded first, because 99.9 % of 1,000 is 999.0000000000001 in floating point.
    rank = math.ceil(round(len(ordered) * percent / 100, 9))
    return ordered[min(max(rank, 1), len(ordered)) - 1]
