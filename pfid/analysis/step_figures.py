"""Step times as the figures of a verdict: (value, unit) by name, None where not known."""

from pfid.analysis.step_regime import Reading
from pfid.domain.step_summary import Baseline, StepSummary

Figures = dict[str, tuple[float | None, str]]


def of_summary(whole: StepSummary | None) -> Figures:
    """Statistics over the run; the first step stands beside, it is in none of the others."""
    if whole is None:
        return {}
    return {
        "n": (whole.n, "steps"),
        "first_step": (whole.first_s, "s"),
        "min": (whole.min_s, "s"),
        "p50": (whole.p50_s, "s"),
        "p90": (whole.p90_s, "s"),
        "p99": (whole.p99_s, "s"),
        "max": (whole.max_s, "s"),
    }


def of_reading(reading: Reading, baseline: Baseline) -> Figures:
    """What was read, and what it was held against."""
    two_modes = reading.mode_share > 0
    return {
        "ratio": (reading.ratio, "ratio"),
        "judged": (reading.steps, "steps"),
        "baseline": (baseline.median_s, "s"),
        "baseline_steps": (baseline.n, "steps"),
        "held_steps": (reading.held_steps or None, "steps"),
        "held": (reading.held_s or None, "s"),
        "mode_share": (reading.mode_share if two_modes else None, "ratio"),
        "mode_ratio": (reading.mode_ratio if two_modes else None, "ratio"),
    }


def sentence(reading: Reading, baseline: Baseline) -> str:
    """Say the decisive figure in words."""
    against = baseline.source.value.replace("_", " ")
    if reading.mode_share > 0:
        share, times = reading.mode_share, reading.mode_ratio
        return f"{share:.0%} of steps take {times:.1f} times the others"
    if reading.ratio is None:
        return f"{reading.steps} steps so far"
    so_far = "of late, and not for long enough to tell: " if reading.pending else ""
    return f"{so_far}{reading.ratio:.2f} times {baseline.median_s:.4g} s ({against})"
