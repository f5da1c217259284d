"""Arrival times are finer than the look that finds the bytes, and never outside of it."""

import time

from pfid.workers.arrival import ArrivalClock

NS = 1_000_000_000


def test_the_modification_time_is_believed_between_two_looks():
    clock = ArrivalClock()
    written_s = time.time() - 1.0
    got_s = clock.written_at_s(int(written_s * NS), clock.now_s() - 2.0)
    assert abs(got_s - written_s) < 0.2


def test_a_modification_time_before_the_last_look_is_that_look():
    clock = ArrivalClock()
    before_s = clock.now_s() - 2.0
    assert clock.written_at_s(0, before_s) == before_s


def test_a_modification_time_in_the_future_is_now():
    clock = ArrivalClock()
    before_s = clock.now_s()
    got_s = clock.written_at_s(int((time.time() + 3600) * NS), before_s)
    assert before_s <= got_s <= clock.now_s()


def test_a_clock_that_is_set_makes_no_step(monkeypatch):
    clock = ArrivalClock()
    before_s = clock.now_s()
    monkeypatch.setattr(time, "time", lambda: before_s - 3600.0)
    assert 0.0 <= clock.now_s() - before_s < 60.0
