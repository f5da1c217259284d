"""Steps from inside, on their way to what is shown."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pfid.analysis.achieved import FRESH_S
from pfid.analysis.step_windows import ASYNCHRONOUS_STEPS
from pfid.daemon.core import Core
from pfid.daemon.judging import Judging
from pfid.daemon.publishing import Publishing
from pfid.daemon.reading import Reading
from pfid.daemon.tracked import Stream, TrackedRun
from pfid.domain.inside import Inside
from pfid.domain.log_facts import LogFacts
from pfid.domain.run import EndKind, RunEnd
from pfid.domain.step import StepClock, StepEvent
from pfid.policy.progress import begin
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.reader import StreamKind


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def now_s(self) -> float:
        return 1_788_000_000.0 + self.now

    def monotonic_s(self) -> float:
        return self.now


class Daemon:
    """A core with one run whose steps arrive."""

    def __init__(self) -> None:
        self.clock = Clock()
        outside: Any = SimpleNamespace(clock=self.clock, reader=None)
        ports = cast("Any", outside)
        self.core = Core(ports=ports, post=lambda _: None, machine_id="m", boot_id="b")
        self.reading = Reading(self.core, cast("Judging", None))
        self.run = TrackedRun(run=CONTROL_RUN, registered_s=0.0, progress=begin(0.0))
        self.publishing = Publishing(self.core)

    def arrives(self, event: StepEvent, kind: StreamKind = StreamKind.STEPS) -> None:
        ordinal = int(kind is StreamKind.STEPS)
        stream = Stream(
            number=ordinal,
            ordinal=ordinal,
            run_id=CONTROL_RUN.run_id,
            kind=kind,
            begins_at=0,
            size_at_start=0,
        )
        self.clock.now += 1.0
        self.reading._step(self.run, stream, event, self.clock.now)
        self.run.changed()

    @property
    def view(self):
        return self.publishing.view(self.run)


@pytest.fixture
def daemon():
    return Daemon()


def reported(index, seconds=1.0, clock=StepClock.REPORTED, **given):
    return StepEvent(index=index, seconds=seconds, clock=clock, writer="steps/1.0", **given)


def test_no_single_launch_is_shown_or_counted_as_a_step_time(daemon):
    launched = StepClock.ASYNCHRONOUS
    daemon.arrives(reported(0, None, launched))
    for i in range(4 * ASYNCHRONOUS_STEPS):
        daemon.arrives(reported(i + 1, 0.25 if i % 25 == 24 else 0.00002, launched))
    view = daemon.view
    assert view.steps_total == 4 * ASYNCHRONOUS_STEPS + 1
    assert view.step_clock is launched
    assert view.summary.interval_steps == ASYNCHRONOUS_STEPS
    assert view.summary.n == 4
    assert min(view.recent_step_s) > 0.001
    assert view.last_index == 4 * ASYNCHRONOUS_STEPS


def test_the_same_steps_told_by_the_log_and_from_inside_are_counted_once(daemon):
    for i in range(10):
        printed = StepEvent(index=i + 1, seconds=1.0, clock=StepClock.PRINTED)
        daemon.arrives(printed, StreamKind.LOG)
    assert daemon.view.steps_total == 10
    for i in range(10):
        daemon.arrives(reported(i + 1))
    assert daemon.view.steps_total == 10
    assert daemon.view.summary.n == 9


def test_a_rate_is_shown_while_steps_come_and_not_when_they_have_stopped(daemon):
    daemon.arrives(reported(1, tokens=500))
    assert daemon.view.achieved.tokens_per_s == 500
    daemon.clock.now += FRESH_S + 1.0
    assert daemon.view.achieved is None


def test_a_run_that_has_ended_shows_what_it_achieved_over_all(daemon):
    daemon.arrives(reported(1, tokens=500))
    daemon.run.end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=1.0)
    daemon.run.changed()
    daemon.clock.now += 10 * FRESH_S
    assert daemon.view.achieved.whole_run
    assert daemon.view.achieved.tokens_per_s == 500


def test_what_steps_is_named(daemon):
    daemon.run.told = LogFacts(inside=Inside(optimizers=("AdamW", "custom")))
    assert daemon.view.optimizers == ("AdamW", "custom")
