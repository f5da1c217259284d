"""A steady rate and a burst."""

from pfid.policy.token_bucket import full, take


def test_a_burst_is_granted_and_then_the_rate():
    bucket = full(rate_per_s=2.0, burst=3.0, now_s=0.0)
    granted = []
    for now_s in (0.0, 0.0, 0.0, 0.0, 0.4, 0.5, 0.5):
        bucket, yes = take(bucket, now_s)
        granted.append(yes)
    assert granted == [True, True, True, False, False, True, False]


def test_no_more_is_saved_up_than_the_burst():
    bucket = full(rate_per_s=1.0, burst=2.0, now_s=0.0)
    granted = [take(bucket, 1_000.0, amount)[1] for amount in (2.0, 2.1)]
    assert granted == [True, False]


def test_a_clock_that_goes_back_takes_nothing_away():
    bucket = full(rate_per_s=1.0, burst=2.0, now_s=100.0)
    assert take(bucket, 50.0, 2.0)[1] is True
