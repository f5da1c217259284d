"""Step times of runs: the distribution, and what it is held against."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from pfid.adapters.page.family import COUNTER, GAUGE, HISTOGRAM, Family, Spec, untrusted
from pfid.adapters.page.run_labels import LabelCache, RunLabels
from pfid.domain.snapshot import RunView, StepHistogram

TOTAL: Final = Spec("pfid_run_steps_total", COUNTER, "Optimizer steps seen.")
DURATION: Final = Spec(
    "pfid_step_duration_seconds", HISTOGRAM, "Seconds per optimizer step; the first one left out."
)
BASELINE: Final = Spec(
    "pfid_step_baseline_seconds", GAUGE, "Median step it is held against; absent without one."
)
SLOWDOWN: Final = Spec(
    "pfid_step_slowdown_ratio", GAUGE, "Median of the recent steps over the baseline."
)
TOKENS: Final = Spec(
    "pfid_run_tokens_per_second", GAUGE, "Tokens its ranks here report, padding included."
)
REAL_TOKENS: Final = Spec(
    "pfid_run_real_tokens_per_second", GAUGE, "Tokens its ranks here report, no padding in them."
)
FLOPS: Final = Spec(
    "pfid_run_achieved_flops_per_second",
    GAUGE,
    "FLOP/s of its ranks here as accounting counts them, nothing recomputed in them.",
)
RECOMPUTED: Final = Spec(
    "pfid_run_recompute_flops_per_second", GAUGE, "FLOP/s that checkpointing computes again."
)
UTILIZATION: Final = Spec(
    "pfid_run_model_flops_utilization_ratio",
    GAUGE,
    "Achieved FLOP/s of a rank over the peak that the program states.",
)


def families(views: Sequence[RunView], cache: LabelCache) -> Iterator[Family]:
    """Steps of each run; a run without a timed step has no distribution, not an empty one."""
    total, duration, baseline, slowdown = (
        Family(spec) for spec in (TOTAL, DURATION, BASELINE, SLOWDOWN)
    )
    for view in views:
        labels = cache.of(view.run.run_id)
        total.add(view.steps_total, labels.run)
        if view.histogram is not None:
            _add_histogram(duration, view.histogram, labels)
        if view.baseline is not None:
            baseline.add(view.baseline.median_s, labels.run)
        slowdown.add_known(view.slowdown_ratio, labels.run)
    yield from (total, duration, baseline, slowdown)
    yield from _achieved(views, cache)


def _achieved(views: Sequence[RunView], cache: LabelCache) -> Iterator[Family]:
    """Rates of runs that report from inside and step now; whoever says nothing has none."""
    specs = (TOKENS, REAL_TOKENS, FLOPS, RECOMPUTED, UTILIZATION)
    tokens, real, flops, again, share = made = tuple(Family(spec) for spec in specs)
    for view in views:
        done, labels = view.achieved, cache.of(view.run.run_id)
        if done is None or done.whole_run:
            continue
        tokens.add_known(done.tokens_per_s, labels.run)
        real.add_known(done.real_tokens_per_s, labels.run)
        flops.add_known(done.flops_per_s, labels.accounted(untrusted(done.accounting)))
        again.add_known(done.recompute_flops_per_s, labels.run)
        share.add_known(done.model_flops_utilization, labels.run)
    yield from made


def _add_histogram(family: Family, histogram: StepHistogram, labels: RunLabels) -> None:
    """Prometheus wants cumulative counts.

    Raises:
        ValueError: if the histogram does not have the buckets that METRICS names.
    """
    running = list(accumulate(histogram.counts))
    family.add_all(
        [("_bucket", bucket, n) for bucket, n in zip(labels.buckets, running, strict=True)]
    )
    family.add(running[-1], labels.run, "_count")
    family.add(histogram.sum_s, labels.run, "_sum")
