"""Percentiles against a slow reference that counts."""

from fractions import Fraction

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.analysis.percentiles import nearest_rank
from pfid.analysis.quantile_sketch import QuantileSketch
from pfid.analysis.step_statistics import StepStatistics
from pfid.domain.step import StepClock, StepEvent

_VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=200)


def _slow(values: list[float], percent: Fraction) -> float:
    """The smallest observation that at least ``percent`` of all do not exceed."""
    for candidate in sorted(values):
        if Fraction(sum(v <= candidate for v in values), len(values)) * 100 >= percent:
            return candidate
    raise AssertionError


@given(_VALUES, st.integers(1, 1000))
def test_nearest_rank_is_the_smallest_observation_that_covers_the_share(
    values: list[float], per_mille: int
) -> None:
    expected = _slow(values, Fraction(per_mille, 10))
    assert nearest_rank(sorted(values), per_mille / 10) == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.1, 0.2, 5.0, 20.0, 400.0]) | st.floats(0, 1e3), min_size=1),
    st.integers(1, 40),
    st.sampled_from(["as drawn", "rising", "falling"]),
)
def test_the_sketch_keeps_its_promise_about_ranks_and_answers_with_observations(
    values: list[float], times: int, order: str
) -> None:
    stream = values * times
    if order != "as drawn":
        stream.sort(reverse=order == "falling")
    sketch = QuantileSketch(exact_to=50)
    for value in stream:
        sketch.add(value)
    ordered = sorted(stream)
    assert sketch.percentile(0) == ordered[0]
    assert sketch.percentile(100) == ordered[-1]
    for percent in (1, 10, 50, 90, 99, 99.9):
        answer = sketch.percentile(percent)
        exact = nearest_rank(ordered, percent)
        allowed = sketch.rank_error * len(ordered)
        rank = ordered.index(exact) + 1
        ranks = [i + 1 for i, v in enumerate(ordered) if v == answer]
        assert ranks, "not an observation"
        last = len(ordered) - ordered[::-1].index(exact)
        assert ranks[0] - allowed <= last
        assert ranks[-1] + allowed >= rank


@given(st.lists(st.floats(0, 1e3), max_size=60), st.integers(0, 60))
def test_statistics_restored_from_their_state_go_on_as_if_nothing_had_happened(
    seconds: list[float], cut: int
) -> None:
    events = [
        StepEvent(index=i, seconds=s, clock=StepClock.PRINTED, interval_steps=1 + i % 2)
        for i, s in enumerate(seconds)
    ]
    whole, first = StepStatistics(), StepStatistics()
    for event in events:
        whole.add(event)
    for event in events[:cut]:
        first.add(event)
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(first.state()))
    second = StepStatistics.restore(plain)
    for event in events[cut:]:
        second.add(event)
    assert second.summary() == whole.summary()
    assert second.histogram() == whole.histogram()
