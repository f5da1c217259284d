"""Has the run ended, and did anybody say it should?"""

import dataclasses

import pytest
from pfid_plugins.watch.run_gone import BY_KIND, Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, FirstDeath, OperatorStop, RunEnd
from pfid.spec.fakes import run_world

LIMITS = Limits()
AT_S = 1_000_000.0


def end(kind, exit_code=None, signal=None, **more):
    return RunEnd(kind=kind, exit_code=exit_code, signal=signal, at_s=AT_S, **more)


def stop(before_s):
    return OperatorStop(uid=0, username="root", why="to make room", at_s=AT_S - before_s)


def said(**facts):
    return judge(observe(run_world(**facts)), LIMITS)


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (end(EndKind.EXITED, 0), "ended_normally"),
        (end(EndKind.EXITED, 1), "exited_nonzero"),
        (end(EndKind.EXITED, 137), "exited_nonzero"),
        (end(EndKind.SIGNALED, None, 11), "killed_by_signal"),
        (end(EndKind.OOM_KILLED, None, 9), "oom_killed"),
        (end(EndKind.OOM_KILLED, 1), "oom_killed"),
        (end(EndKind.UNOBSERVED), "ended_unobserved"),
        (end(EndKind.UNKNOWN_STATUS), "status_unknown"),
        (end(EndKind.HOST_LOST), "host_lost"),
        (end(EndKind.SCHEDULER_LIMIT, None, 15), "scheduler_time_limit"),
        (end(EndKind.SCHEDULER_CANCEL, 143), "scheduler_cancelled"),
        (end(EndKind.OPERATOR_STOP, None, 15), "killed_by_signal"),
    ],
)
def test_an_end_is_named(ended, reason):
    assert said(end=ended, alive=False).reason == reason


def test_every_kind_of_end_is_known():
    for kind in EndKind:
        assert said(end=end(kind, 1), alive=False).outcome is not Outcome.UNKNOWN


@pytest.mark.parametrize("kind", [k for k in EndKind if k not in BY_KIND])
@pytest.mark.parametrize("status", [(1, None), (None, 9), (None, None)])
def test_an_announced_stop_explains_an_end(kind, status):
    verdict = said(end=end(kind, *status), alive=False, stop=stop(5.0))
    assert verdict.reason == "stopped_by_operator"
    assert "to make room" not in verdict.summary


@pytest.mark.parametrize("kind", [EndKind.OOM_KILLED, EndKind.HOST_LOST, EndKind.UNOBSERVED])
def test_a_stop_explains_no_end_that_has_another_cause(kind):
    assert said(end=end(kind), alive=False, stop=stop(5.0)).outcome is Outcome.FAIL


@pytest.mark.parametrize("before_s", [LIMITS.stop_valid_s * 2, -60.0])
def test_a_stop_of_another_time_explains_nothing(before_s):
    for kind in (EndKind.SIGNALED, EndKind.OPERATOR_STOP):
        verdict = said(end=end(kind, None, 9), alive=False, stop=stop(before_s))
        assert verdict.reason == "killed_by_signal"


def test_a_run_that_finished_after_a_stop_has_still_finished():
    assert said(end=end(EndKind.EXITED, 0), alive=False, stop=stop(5.0)).reason == "ended_normally"


@pytest.mark.parametrize("alive", [True, False, None])
def test_a_zombie_has_ended(alive):
    verdict = said(alive=alive, defunct=True)
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "status_unknown")
    assert "not collected" in verdict.summary


def test_a_zombie_that_was_told_to_stop_is_no_crash():
    assert said(alive=False, defunct=True, stop=stop(1.0)).reason == "stopped_by_operator"


def test_what_cannot_be_told_is_unknown():
    assert said(alive=None).outcome is Outcome.UNKNOWN


def test_the_first_death_is_named():
    worker = FirstDeath(
        pid=77, comm="python", exit_code=None, signal=9, at_s=AT_S - 3, is_root=False
    )
    verdict = said(end=end(EndKind.EXITED, 1, first_death=worker), alive=False)
    assert "python (pid 77) of its tree died first: signal 9" in verdict.summary
    assert verdict.figures["first_death_pid"].value == 77
    assert verdict.figures["first_death_signal"].value == 9
    assert verdict.figures["exit_code"].value == 1
    assert "signal" not in verdict.figures


def test_the_root_itself_is_not_named_twice():
    root = FirstDeath(pid=7, comm="python", exit_code=1, signal=None, at_s=AT_S, is_root=True)
    assert "died first" not in said(end=end(EndKind.EXITED, 1, first_death=root)).summary


def test_a_relaunch_does_not_undo_the_failure():
    verdict = said(end=end(EndKind.EXITED, 1), alive=False, launcher_restarts=True)
    assert verdict.outcome is Outcome.FAIL
    assert "another attempt" in verdict.summary
    finished = said(end=end(EndKind.EXITED, 0), alive=False, launcher_restarts=True)
    assert "another attempt" not in finished.summary


def test_memory_that_is_still_held_is_said():
    held = dataclasses.replace(end(EndKind.SIGNALED, None, 9), memory_held=True)
    assert "GPU memory is still held" in said(end=held, alive=False).summary
