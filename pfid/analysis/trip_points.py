"""Trip points beside the rates that they stop: what was counted, by seed and by repeat.

Runs of one seed give the stack's jitter, other seeds the model's own spread (playbook 4.6.3.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pfid.analysis.proportion import wilson
from pfid.analysis.rates import Count, binomial_sd, exceeds_chance, pooled, spread
from pfid.analysis.result_rates import Runs, counts_by_seed, left_out
from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.trip_point_outside_jitter import TripPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One trip point beside what was counted.

    Attributes:
        at: the trip point.
        runs: counts by seed.
        left_out: records that the rate should be over and is not, of how many.
        figures: (value, unit) by name.
        distance_sds: from the rate to the trip point, in jitters; large where none is known.
        repeats: runs of the same seed, in effect: one more than its degrees of freedom.
    """

    at: TripPoint
    runs: Runs
    left_out: Count
    figures: Mapping[str, tuple[float | None, str]] = field(default_factory=dict)
    distance_sds: float = 0.0
    repeats: int = 0


def counted(at: TripPoint, records: Sequence[ResultRecord]) -> Point:
    """Count the rate of a trip point, apart by seed and by repeat."""
    runs = counts_by_seed(records, at)
    unscored = left_out([r for r in records if r.seed is not None], at)
    unseeded = sum(r.seed is None and at.family in (None, r.family) for r in records)
    lacking = Count(unscored.hits + unseeded, max(unscored.n + unseeded, 1))
    point = Point(at=at, runs=runs, left_out=lacking)
    if not runs:
        return point
    blocks = [counts[0] for counts in runs.values()]
    again = [c for counts in runs.values() if len(counts) > 1 for c in counts]
    jitter = spread(list(runs.values()))
    whole = pooled(blocks if len(blocks) > 1 else again or blocks)
    gap = abs(whole.rate - at.threshold)
    block_sd = spread([blocks])
    excess = block_sd is not None and exceeds_chance(block_sd, binomial_sd(blocks), len(blocks))
    figures = {
        "threshold": (at.threshold, "share"),
        "rate": (whole.rate, "share"),
        **_interval(whole),
        "distance": (gap, "share"),
        "jitter_sd": (jitter, "share"),
        "jitter_binomial_sd": (binomial_sd(again) if again else None, "share"),
        "block_sd": (block_sd, "share"),
        "block_binomial_sd": (binomial_sd(blocks) if len(blocks) > 1 else None, "share"),
        "excess_variance": (None if block_sd is None else float(excess), "1"),
        "seeds": (float(len(blocks)), "1"),
        "left_out": (lacking.hits, "1"),
    }
    sds = (gap / jitter if jitter else float(gap > 0) * 1e9) if jitter is not None else 1e9
    freedom = sum(len(counts) - 1 for counts in runs.values())
    return replace(point, figures=figures, distance_sds=sds, repeats=freedom + 1)


def _interval(whole: Count) -> dict[str, tuple[float | None, str]]:
    """Of a share; a mean of scores that are no yes or no has none."""
    if whole.hits != int(whole.hits) or not 0 <= whole.hits <= whole.n:
        return {}
    ends = wilson(int(whole.hits), whole.n)
    return {"rate_low": (ends.low, "share"), "rate_high": (ends.high, "share")}


def words_of(point: Point) -> str:
    """One trip point in a line: its rate, the jitter, and what other seeds add to it."""
    name = point.at.name
    if not point.runs:
        return f"{name}: no record that names its seed has it"
    told = {key: value for key, (value, _) in point.figures.items()}
    words = [f"{name}: rate {told['rate']:.2%}, trips at {told['threshold']:.2%}"]
    if told["left_out"]:
        words.append(f"{told['left_out']:g} of {point.left_out.n} records have no score or no seed")
    if told["jitter_sd"] is not None:
        words.append(f"runs of the same seed differ by sd {pp(told['jitter_sd'])}")
    if told["block_sd"] is not None:
        beyond = "more than" if told["excess_variance"] else "no more than"
        words.append(
            f"{told['seeds']:g} seeds differ by sd {pp(told['block_sd'])}, {beyond} chance "
            f"(binomial {pp(told['block_binomial_sd'])})"
        )
    return "; ".join(words)


def pp(share: float | None) -> str:
    """A share as percentage points."""
    return f"{100 * (share or 0.0):.2f} pp"
