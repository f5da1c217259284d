"""A verdict does not say that nothing was timed beside the figures of what was."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pfid.daemon.core import Core
from pfid.daemon.judging import Judging
from pfid.daemon.messages import ReaderTold
from pfid.daemon.reading import Reading
from pfid.daemon.tracked import Stream, TrackedRun
from pfid.domain.log_facts import LogFacts
from pfid.domain.step import StepClock, StepEvent
from pfid.policy.progress import begin
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.reader import Batch, StreamKind


class Poked:
    """Notes which ports' checks are asked at once."""

    def __init__(self) -> None:
        self.ports: list[tuple[str, ...]] = []

    def poke(self, run: TrackedRun, ports: tuple[str, ...]) -> None:
        run.changed()
        self.ports.append(ports)


class Clock:
    def now_s(self) -> float:
        return 1_788_000_000.0

    def monotonic_s(self) -> float:
        return 100.0


@pytest.fixture
def arrives():
    """Have steps arrive in one batch; which ports were poked for it."""
    outside: Any = SimpleNamespace(clock=Clock(), reader=SimpleNamespace(order=lambda *_: True))
    core = Core(ports=outside, post=lambda _: None, machine_id="m", boot_id="b")
    poked = Poked()
    reading = Reading(core, cast("Judging", poked))
    reading.started(1)
    run = TrackedRun(run=CONTROL_RUN, registered_s=0.0, progress=begin(0.0))
    stream = Stream(
        number=7,
        ordinal=0,
        run_id=run.run_id,
        kind=StreamKind.STEPS,
        begins_at=0,
        size_at_start=0,
    )
    run.streams.append(stream)
    core.runs[run.run_id], core.streams[7] = run, stream

    def deliver(*indices):
        events = tuple(
            StepEvent(index=i, seconds=0.5, clock=StepClock.REPORTED, writer="steps/1")
            for i in indices
        )
        batch = Batch(stream=7, offset=1, events=events, facts=LogFacts())
        reading.told(ReaderTold(generation=1, report=batch))
        return poked.ports[-1], run

    return deliver


def test_the_first_time_and_the_baseline_are_judged_as_soon_as_they_are_shown(arrives):
    assert arrives(0)[0] == ("log", "steps"), "a stream that is read for the first time"
    assert arrives(1)[0] == ("steps",), "the first step time"
    assert arrives(2)[0] == (), "one more is judged in cadence"
    ports, run = arrives(*range(3, 60))
    assert run.early.baseline is not None
    assert ports == ("steps",), "what it is held against"
    assert arrives(60)[0] == ()
