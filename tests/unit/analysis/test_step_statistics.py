"""Statistics of a run: the playbook's figures, the first step by position, bounded memory."""

import random
from array import array
from bisect import bisect_left, bisect_right

import msgspec
import pytest

from pfid.analysis import quantile_sketch
from pfid.analysis.quantile_sketch import QuantileSketch
from pfid.analysis.step_statistics import BOUNDS_S, StepStatistics
from pfid.domain.step import Phase, StepClock, StepEvent


def step(seconds: float | None, interval: int = 1, phase: Phase = Phase.TRAIN) -> StepEvent:
    return StepEvent(
        index=0, seconds=seconds, clock=StepClock.PRINTED, interval_steps=interval, phase=phase
    )


def series(n: int, low: float, p50: float, p99: float, high: float) -> list[float]:
    """``n`` step times whose nearest-rank moments are exactly these, in no order."""
    at50, at99 = -(-n * 50 // 100), -(-n * 99 // 100)
    below = [low + (p50 - low) * i / at50 for i in range(at50 - 1)]
    middle = [p50 + (p99 - p50) * i / (at99 - at50) for i in range(1, at99 - at50)]
    above = [p99 + (high - p99) * (i + 1) / (n - at99) for i in range(n - at99)]
    values = [*below, p50, *middle, p99, *above]
    random.Random(7).shuffle(values)
    return values


def test_run_one_of_the_playbook_its_compile_beside() -> None:
    statistics = StepStatistics()
    for seconds in [45.79, *series(1444, 11.84, 19.75, 30.52, 38.0)]:
        statistics.add(step(seconds))
    summary = statistics.summary()
    assert summary is not None
    assert (summary.n, summary.first_s) == (1444, 45.79)
    assert (summary.min_s, summary.p50_s, summary.p99_s) == (11.84, 19.75, 30.52)
    assert summary.max_s == pytest.approx(38.0)
    assert (summary.rank_error, summary.interval_steps) == (0.0, 1)


def test_run_two_of_the_playbook_whose_longest_is_an_ordinary_late_batch() -> None:
    values = series(1312, 11.84, 19.48, 28.96, 45.79)
    statistics = StepStatistics()
    for seconds in [30.0, *values]:
        statistics.add(step(seconds))
    summary = statistics.summary()
    assert summary is not None
    assert (summary.n, summary.first_s) == (1312, 30.0)
    assert (summary.min_s, summary.p50_s, summary.p99_s) == (11.84, 19.48, 28.96)
    assert summary.max_s == pytest.approx(45.79)


def test_the_first_is_out_by_position_even_when_it_is_the_fastest_or_was_not_timed() -> None:
    statistics = StepStatistics()
    assert statistics.summary() is None
    statistics.add(step(0.001))
    assert statistics.summary() is None
    statistics.add(step(5.0))
    summary = statistics.summary()
    assert summary is not None
    assert (summary.n, summary.first_s, summary.min_s) == (1, 0.001, 5.0)
    untimed = StepStatistics()
    untimed.add(step(None))
    untimed.add(step(5.0))
    second = untimed.summary()
    assert second is not None
    assert (second.n, second.first_s) == (1, None)


def test_intervals_are_never_passed_off_as_single_steps() -> None:
    statistics = StepStatistics()
    for _ in range(4):
        statistics.add(step(200.0, 10))
    only = statistics.summary()
    assert only is not None
    assert (only.n, only.p50_s, only.interval_steps, only.other_steps) == (3, 20.0, 10, 0)
    for _ in range(5):
        statistics.add(step(7.0))
    singles = statistics.summary()
    assert singles is not None
    assert (singles.n, singles.max_s, singles.interval_steps, singles.other_steps) == (
        5,
        7.0,
        1,
        30,
    )


def test_where_means_are_shown_the_steps_timed_by_themselves_are_counted_beside() -> None:
    statistics = StepStatistics()
    for event in (step(1.0), step(0.4), *[step(0.5, 10)] * 5):
        statistics.add(event)
    means = statistics.summary()
    assert means is not None
    assert (means.n, means.interval_steps, means.other_steps) == (5, 10, 1)


def test_a_gap_with_an_evaluation_in_it_is_no_step_time() -> None:
    statistics = StepStatistics()
    for phase, seconds in ((Phase.TRAIN, 9.0), (Phase.TRAIN, 5.0), (Phase.EVAL, 300.0)):
        statistics.add(step(seconds, phase=phase))
    summary = statistics.summary()
    assert summary is not None
    assert (summary.n, summary.max_s) == (1, 5.0)


def test_the_histogram_counts_steps_in_buckets_of_factor_two() -> None:
    statistics = StepStatistics()
    for seconds, interval in ((1.0, 1), (0.01, 1), (0.011, 1), (20.0, 10), (1e6, 1)):
        statistics.add(step(seconds, interval))
    histogram = statistics.histogram()
    assert len(histogram.counts) == len(BOUNDS_S) + 1 == 18
    assert (histogram.counts[0], histogram.counts[1], histogram.counts[-1]) == (1, 1, 1)
    assert histogram.counts[bisect_left(BOUNDS_S, 2.0)] == 10
    assert histogram.sum_s == pytest.approx(1e6 + 20.021)


@pytest.mark.parametrize("order", ["random", "rising", "falling", "two modes"])
def test_a_long_run_stays_small_and_its_ranks_within_their_bound(order: str) -> None:
    chance = random.Random(3)
    values = [chance.gammavariate(9, 2) for _ in range(30_000)]
    if order == "two modes":
        values = [v * 20 if i % 5 == 0 else v for i, v in enumerate(values)]
    elif order != "random":
        values.sort(reverse=order == "falling")
    statistics = StepStatistics()
    for seconds in [1.0, *values]:
        statistics.add(step(seconds))
    for seconds in values[:12_000]:
        statistics.add(step(seconds * 10, 10))
    assert len(msgspec.msgpack.encode(statistics.state())) < 200_000
    summary = statistics.summary()
    assert summary is not None
    assert summary.rank_error <= 0.002
    values.sort()
    assert (summary.min_s, summary.max_s) == (values[0], values[-1])
    for percent, value in ((50, summary.p50_s), (90, summary.p90_s), (99, summary.p99_s)):
        wanted, allowed = percent / 100, summary.rank_error + 1 / len(values)
        assert values[bisect_left(values, value)] == value, "not a step that happened"
        assert bisect_left(values, value) / len(values) <= wanted + allowed
        assert bisect_right(values, value) / len(values) >= wanted - allowed


def test_up_to_its_limit_the_sketch_is_exact() -> None:
    sketch = QuantileSketch(exact_to=1000)
    for value in range(1000):
        sketch.add(float(value))
    assert (sketch.exact, sketch.rank_error, sketch.percentile(99)) == (True, 0.0, 989.0)
    sketch.add(5.0)
    assert (sketch.exact, sketch.rank_error) == (False, 0.001)


def test_where_memory_is_short_the_error_grows_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_sketch, "MAX_ENTRIES", 60)
    sketch = QuantileSketch(exact_to=100)
    values = [float(v * 7919 % 20_011) for v in range(20_000)]
    for value in values:
        sketch.add(value)
    values.sort()
    assert len(sketch.state()["values"]) <= 8 * 60
    assert 0.001 < sketch.rank_error <= 0.05
    for percent in (1, 50, 99):
        rank = bisect_left(values, sketch.percentile(percent)) / len(values)
        assert abs(rank - percent / 100) <= sketch.rank_error + 1e-4


def test_a_state_that_does_not_hold_together_is_refused() -> None:
    sketch = QuantileSketch()
    sketch.add(1.0)
    with pytest.raises(ValueError, match="holds 1"):
        QuantileSketch.restore({**sketch.state(), "n": 2})


@pytest.mark.parametrize("n", [1, 50, 20_000])
def test_figures_that_are_frozen_are_those_that_were(n: int) -> None:
    statistics = StepStatistics()
    for i in range(n):
        statistics.add(step(float(i % 977 + 1)))
    summary, histogram, count = statistics.summary(), statistics.histogram(), statistics.n
    statistics.freeze()
    again = StepStatistics.restore(
        msgspec.msgpack.decode(msgspec.msgpack.encode(statistics.state()))
    )
    for kept in (statistics, again):
        assert (kept.summary(), kept.histogram(), kept.n) == (summary, histogram, count)
    assert len(msgspec.msgpack.encode(statistics.state())) < 1_500


def test_a_sketch_of_an_older_pfid_goes_on() -> None:
    """It wrote each count in eight bytes."""
    sketch = QuantileSketch(exact_to=100)
    for value in range(3_000):
        sketch.add(float(value * 7919 % 3_001))
    state = sketch.state()
    for part in ("g", "spread"):
        state[part] = array("Q", array("I", state[part])).tobytes()
    del state["entries_max"]
    again = QuantileSketch.restore(state)
    assert [again.percentile(q) for q in range(101)] == [sketch.percentile(q) for q in range(101)]
