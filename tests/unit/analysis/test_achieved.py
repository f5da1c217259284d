"""Tokens and FLOPs a second, out of what ranks report."""

import pytest

from pfid.analysis.achieved import FRESH_S, AchievedRates
from pfid.analysis.rank_sums import GRAINS, STEPS_MIN, WINDOW_S
from pfid.domain.inside import Inside, StepReport
from pfid.domain.step import Phase, StepClock, StepEvent


def step(seconds=1.0, *, tokens=1000, real=None, flops=None, again=None, **given):
    return StepEvent(
        **{
            "index": 1,
            "seconds": seconds,
            "clock": StepClock.REPORTED,
            "writer": f"steps/{given.get('rank', 0)}/1.0",
            "tokens": tokens,
            "report": StepReport(real_tokens=real, flops=flops, recompute_flops=again),
            **given,
        }
    )


def rates(*events, at_s=0.0):
    found = AchievedRates()
    for event in events:
        found.take(event, at_s)
    return found


def test_a_rate_is_a_sum_over_time_and_no_mean_of_rates():
    done = rates(step(1.0, tokens=1000), step(9.0, tokens=1000)).now(0.0, None)
    assert done.tokens_per_s == pytest.approx(200)


def test_real_tokens_stand_apart_from_all_tokens():
    done = rates(step(2.0, tokens=1000, real=400)).now(0.0, None)
    assert (done.tokens_per_s, done.real_tokens_per_s) == (500, 200)


def test_what_is_recomputed_is_in_no_other_figure():
    inside = Inside(accounting="6ND", peak_flops_per_s=1e15)
    done = rates(step(2.0, flops=6e14, again=2e14)).now(0.0, inside)
    assert (done.flops_per_s, done.recompute_flops_per_s) == (3e14, 1e14)
    assert done.model_flops_utilization == pytest.approx(0.3)
    assert done.accounting == "6ND"


def test_there_is_no_utilization_without_a_stated_peak():
    done = rates(step(flops=1e14)).now(0.0, Inside(accounting="6ND"))
    assert done.flops_per_s == 1e14
    assert done.model_flops_utilization is None


def test_a_quantity_that_a_step_does_not_say_takes_no_time_from_those_that_do():
    done = rates(step(1.0, tokens=None, real=100), step(1.0, tokens=300, real=100)).now(0.0, None)
    assert (done.tokens_per_s, done.real_tokens_per_s) == (300, 100)


def test_ranks_add_up_and_the_utilization_is_that_of_one():
    events = [step(1.0, flops=4e14, rank=rank) for rank in range(4)]
    done = rates(*events).now(0.0, Inside(accounting="6ND", peak_flops_per_s=1e15))
    assert (done.ranks, done.tokens_per_s, done.flops_per_s) == (4, 4000, 1.6e15)
    assert done.model_flops_utilization == pytest.approx(0.4)


def test_the_window_is_the_newest_minute_and_the_whole_run_is_the_whole():
    found = rates(*[step(2.0, tokens=100)] * 100, *[step(2.0, tokens=1000)] * 30)
    done = found.now(0.0, None)
    assert done.window_s == WINDOW_S
    assert done.tokens_per_s == 500
    whole = found.whole(None)
    assert whole.whole_run
    assert whole.steps == 130
    assert whole.tokens_per_s == pytest.approx((100 * 100 + 30 * 1000) / 260)


def test_a_rate_lapses_once_steps_come_no_more():
    found = rates(step(), at_s=10.0)
    assert found.now(10.0 + FRESH_S, None) is not None
    assert found.now(10.1 + FRESH_S, None) is None
    assert not found.fresh(10.1 + FRESH_S)


def test_long_steps_are_waited_for():
    found = rates(step(300.0), at_s=0.0)
    assert found.now(2_900.0, None) is not None
    assert found.now(3_001.0, None) is None


def test_pauses_and_untimed_steps_are_no_steps():
    found = rates(step(phase=Phase.EVAL), step(None), step(0.0), step(tokens=None))
    assert found.now(0.0, None) is None


def test_launches_tell_nothing_before_there_are_enough_of_them():
    fast = {"clock": StepClock.ASYNCHRONOUS}
    few = [step(0.00002, **fast)] * (STEPS_MIN - 1)
    assert rates(*few).now(0.0, None) is None
    waited = step(0.16 - 0.00002 * (STEPS_MIN - 1), **fast)
    done = rates(*few, waited).now(0.0, None)
    assert done.tokens_per_s == pytest.approx(1000 / 0.01)


def test_a_second_writer_of_a_rank_counts_only_once_the_first_is_silent():
    found = rates(step(1.0, tokens=1000))
    other = step(1.0, tokens=7, writer="steps/0/2.0")
    found.take(other, 1.0)
    assert found.now(1.0, None).tokens_per_s == 1000
    found.take(other, FRESH_S + 1.0)
    assert found.now(FRESH_S + 1.0, None).tokens_per_s == 7


def test_memory_is_bounded_by_time_however_short_the_steps():
    found = rates(*[step(0.001)] * 20_000)
    for _ in range(100):
        found.take(step(30.0, tokens=30_000_000), 0.0)
    assert found._sums.size_bytes <= 1_500
    assert found.now(0.0, None).tokens_per_s == pytest.approx(1_000_000)


def test_short_steps_and_long_ones_in_turn_are_summed_up_as_they_are():
    found = rates(*[step(0.01, tokens=20), step(7.0, tokens=None, real=700)] * 400)
    done = found.now(0.0, None)
    assert WINDOW_S <= done.window_s <= WINDOW_S + 7.01
    assert (done.tokens_per_s, done.real_tokens_per_s) == (pytest.approx(2_000), 100)


def test_of_an_ended_run_the_whole_stays():
    found = rates(*[step(2.0, tokens=100)] * 100)
    whole = found.whole(None)
    found.freeze()
    assert found.whole(None) == whole


def test_of_an_ended_run_nothing_is_taken_in_any_more():
    found = rates(*[step(2.0, tokens=100)] * 3)
    found.freeze()
    found.take(step(2.0, tokens=9_000, rank=1), 0.0)
    found.take(step(2.0, tokens=9_000), 0.0)
    assert found.whole(None).tokens_per_s == 50
    assert found.now(0.0, None) is None


RANKS = [grain.ranks for grain in GRAINS]


@pytest.mark.parametrize("ranks", RANKS)
def test_of_many_ranks_no_more_is_kept_than_there_is_room_for(ranks):
    found = rates(*[step(7.0, rank=rank) for _ in range(90) for rank in range(ranks)])
    assert found._sums.size_bytes <= 20_000
    assert found.now(0.0, None).ranks == ranks
    found.take(step(7.0, rank=RANKS[-1]), 0.0)
    assert found.now(0.0, None).ranks == min(ranks + 1, RANKS[-1])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("seconds", [0.5, 7.0, 90.0])
def test_of_many_ranks_the_window_is_at_most_twice_as_long(ranks, seconds):
    found = rates(*[step(seconds, tokens=7, rank=r) for _ in range(400) for r in range(ranks)])
    for _ in range(int(2 * WINDOW_S / seconds) + 1):
        for rank in range(ranks):
            found.take(step(seconds, tokens=rank, rank=rank), 0.0)
    done = found.now(0.0, None)
    assert WINDOW_S <= done.window_s <= 2 * WINDOW_S + seconds
    assert done.tokens_per_s == pytest.approx(sum(range(ranks)) / seconds)
    whole = found.whole(None)
    assert whole.steps == 400 + int(2 * WINDOW_S / seconds) + 1


@pytest.mark.parametrize("ranks", RANKS)
def test_of_many_ranks_that_launch_ahead_enough_long_steps_are_kept(ranks):
    fast = {"clock": StepClock.ASYNCHRONOUS}
    for seconds in (30.0, 200.0):
        events = [step(seconds, rank=r, **fast) for _ in range(60) for r in range(ranks)]
        done = rates(*events).now(0.0, None)
        assert done.ranks == ranks
        assert done.steps >= STEPS_MIN
        assert done.tokens_per_s == pytest.approx(ranks * 1000 / seconds)


def test_what_a_rank_said_stays_when_more_join_it():
    found = AchievedRates()
    for joined in range(1, 1 + RANKS[-1]):
        for rank in range(joined):
            found.take(step(1.0, tokens=100 * (rank + 1), rank=rank), 0.0)
        done, whole = found.now(0.0, None), found.whole(None)
        assert done.tokens_per_s == whole.tokens_per_s == 50 * joined * (joined + 1)
        assert whole.steps == joined
        assert done.steps == min(joined, int(done.window_s))
