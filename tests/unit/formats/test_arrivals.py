"""Step times by arrival, when a log is looked at less often than its run steps."""

from collections.abc import Callable

import pytest

from pfid.analysis.step_statistics import StepStatistics
from pfid.domain.step import StepClock, StepEvent
from pfid.formats.log_stream import LogParser

Line = Callable[[int], bytes]
STEP_S = 0.2
TOTAL = 150


def _bar(step: int) -> bytes:
    elapsed_s = int(step * STEP_S)
    return f"\r {step}%|###   | {step}/{TOTAL} [00:{elapsed_s:02d}<00:10,  5.00it/s]".encode()


def _composer(step: int) -> bytes:
    return f"[epoch=1][batch={step}/{TOTAL}]:\n".encode()


def _read_by(chunks: list[list[int]], line: Line) -> list[StepEvent]:
    parser = LogParser()
    events: list[StepEvent] = []
    for steps in chunks:
        written_at_s = 1000.0 + steps[-1] * STEP_S
        events += parser.feed(b"".join(line(step) for step in steps), written_at_s)
    return events


def _uneven() -> list[list[int]]:
    """Chunks of one, two and three steps in turn, as a look every 0.4 s or so finds them."""
    chunks: list[list[int]] = []
    step = 1
    while step <= TOTAL - 3:
        size = len(chunks) % 3 + 1
        chunks.append(list(range(step, step + size)))
        step += size
    return chunks


@pytest.mark.parametrize("line", [_bar, _composer])
def test_steps_that_arrive_together_share_the_time_between_two_looks(line: Line) -> None:
    timed = [event for event in _read_by(_uneven(), line) if event.clock is StepClock.ARRIVAL]
    assert {event.interval_steps for event in timed if event.seconds is not None} == {1, 2, 3}
    assert [event.seconds_per_step for event in timed if event.seconds is not None] == (
        pytest.approx([STEP_S] * sum(event.seconds is not None for event in timed))
    )


def test_no_percentile_of_a_quick_bar_is_the_interval_of_looking() -> None:
    statistics = StepStatistics()
    for event in _read_by(_uneven(), _bar):
        statistics.add(event)
    summary = statistics.summary()
    assert summary is not None
    assert (summary.min_s, summary.max_s) == pytest.approx((STEP_S, STEP_S))


def test_a_base_inside_a_chunk_is_not_held_to_have_arrived_with_its_end() -> None:
    """Twelve steps that waited are counted by the bar's own clock, and so is what follows."""
    late = _read_by([list(range(1, 13)), [13], [14]], _bar)
    assert [(e.index, e.interval_steps, e.clock) for e in late] == [(10, 10, StepClock.COUNTER)]


def test_every_step_is_in_exactly_one_event() -> None:
    events = _read_by(_uneven(), _bar)
    held = sum(event.interval_steps for event in events)
    assert held == events[-1].index
