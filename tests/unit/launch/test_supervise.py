"""Waiting passes on what is meant for the child and remembers who asked for the end."""

import signal

from pfid.domain.exit_status import ExitStatus
from pfid.launch.supervise import supervise
from pfid.policy.job_control import ChildEnded, ChildStopped, SignalCame

PID, PIDFD = 42, 7


class FakeChildren:
    """Plays events and notes what is done to the child and the terminal."""

    def __init__(self, *events, ours=False):
        self._events = list(events)
        self._ours = ours
        self.done = []

    def wait(self, pid):
        assert pid == PID
        return self._events.pop(0)

    def terminal_is_ours(self):
        return self._ours

    def signal_child(self, pidfd, number):
        self.done.append(("child", pidfd, number))

    def signal_group(self, pid, number):
        self.done.append(("group", pid, number))

    def lend_terminal(self, pid):
        self.done.append(("lend", pid))

    def take_terminal(self, pid):
        self.done.append(("take", pid))

    def suspend(self):
        self.done.append(("suspend",))


ENDED = ChildEnded(status=ExitStatus(exit_code=3))


def test_the_terminal_is_taken_back_at_the_end():
    children = FakeChildren(ENDED)
    outcome = supervise(children, PID, PIDFD)
    assert outcome.status == ExitStatus(exit_code=3)
    assert not outcome.asked_to_end
    assert children.done == [("take", PID)]


def test_signals_are_passed_on_and_one_that_asks_for_the_end_is_remembered():
    children = FakeChildren(
        SignalCame(number=signal.SIGUSR1), SignalCame(number=signal.SIGTERM), ENDED
    )
    assert supervise(children, PID, PIDFD).asked_to_end
    assert children.done[:2] == [
        ("child", PIDFD, signal.SIGUSR1),
        ("child", PIDFD, signal.SIGTERM),
    ]


def test_ctrl_z_and_fg_in_order():
    children = FakeChildren(ChildStopped(number=signal.SIGTSTP), ENDED)
    assert not supervise(children, PID, PIDFD).asked_to_end
    assert children.done[:-1] == [
        ("take", PID),
        ("suspend",),
        ("lend", PID),
        ("group", PID, signal.SIGCONT),
    ]


def test_a_child_that_wants_the_terminal_we_hold_gets_it():
    children = FakeChildren(ChildStopped(number=signal.SIGTTIN), ENDED, ours=True)
    supervise(children, PID, PIDFD)
    assert children.done[:2] == [("lend", PID), ("group", PID, signal.SIGCONT)]


def test_a_group_signal_goes_to_the_group():
    children = FakeChildren(SignalCame(number=signal.SIGINT), ENDED)
    assert supervise(children, PID, PIDFD).asked_to_end
    assert children.done[0] == ("group", PID, signal.SIGINT)
