"""Packed steps are the steps that went in, and take no more room than they need."""

from collections import deque
from dataclasses import replace

import pytest

from pfid.analysis.packed_steps import PackedSteps
from pfid.domain.step import Phase, StepClock, StepEvent

CAPACITY = 16


def step(index: int) -> StepEvent:
    """No two alike, and whatever may be left out is left out now and then."""
    return StepEvent(
        index=index,
        seconds=None if index % 7 == 0 else index / 8,
        clock=StepClock.PRINTED if index % 5 else StepClock.ARRIVAL,
        interval_steps=1 + index % 3,
        phase=Phase.TRAIN if index % 4 else Phase.EVAL,
        rank=index % 3 or None,
        writer="a" if index % 2 else "b",
        tokens=index * 9 if index % 6 else None,
        width=index * 2 if index % 11 else None,
        loss=index / 3 if index % 9 else None,
        at_s=1e9 + index if index % 10 else None,
    )


def kept(packed: PackedSteps, plain: deque[StepEvent]) -> bool:
    timed = [s for s in reversed(plain) if s.phase is Phase.TRAIN and s.seconds is not None]
    assert list(packed.train_seconds()) == [s.seconds_per_step for s in timed]
    for n in (0, 1, CAPACITY - 1, CAPACITY, 2 * CAPACITY):
        assert packed.last(n) == ([*plain][-n:] if n else [])
    return len(packed) == len(plain)


def test_what_goes_in_comes_out_however_often_the_oldest_leaves():
    packed, plain = PackedSteps(), deque[StepEvent]()
    for index in range(4 * CAPACITY + 5):
        if len(plain) == CAPACITY:
            packed.drop()
            plain.popleft()
        packed.append(step(index))
        plain.append(step(index))
        assert kept(packed, plain)


@pytest.mark.parametrize("dropped", range(CAPACITY + 1))
def test_it_may_grow_again_after_any_number_has_left(dropped):
    packed, plain = PackedSteps(), deque[StepEvent]()
    for index in range(CAPACITY):
        packed.append(step(index))
        plain.append(step(index))
    for _ in range(dropped):
        packed.drop()
        plain.popleft()
    for index in range(100, 100 + 2 * CAPACITY):
        packed.append(step(index))
        plain.append(step(index))
        assert kept(packed, plain)


def test_a_full_one_takes_55_bytes_a_step():
    packed = PackedSteps()
    for index in range(3 * 512):
        if len(packed) == 512:
            packed.drop()
        packed.append(replace(step(1), index=index))
    assert packed._steps.__sizeof__() <= 512 * 55 + 100
