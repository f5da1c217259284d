"""Stopping judges what it already holds, says who stops before it signals, and leaves nothing."""

import signal

import pytest

from pfid.domain.errors import LaunchError, ProcessGoneError
from pfid.domain.identity import ProcessIdentity
from pfid.launch.ports import Held
from pfid.launch.stop import stop
from pfid.policy.identity import Here, Seen
from pfid.wire.record import RecordedProcess

HERE = Here(machine_id="m", boot_id="b", pid_namespace=1, own_pid=999)
ROOT = RecordedProcess(machine_id="m", boot_id="b", pid=42, start_ticks=7, pid_namespace=1)


class FakeBox:
    """A few processes by pid; a pidfd is the pid. ``stubborn`` ones only end when killed."""

    def __init__(self, *pids, stubborn=(), undying=(), ticks=7):
        self.living = set(pids)
        self._stubborn = {*stubborn, *undying}
        self._undying = set(undying)
        self._ticks = ticks
        self.log = []
        self.clock_s = 0.0

    def here(self):
        return HERE

    def seen(self, pid):
        return Seen(start_ticks=self._ticks) if pid in self.living else None

    def hold(self, pid):
        if pid not in self.living:
            raise ProcessGoneError(f"no process {pid}")
        identity = ProcessIdentity(machine_id="m", boot_id="b", pid=pid, start_ticks=self._ticks)
        return Held(identity=identity, pidfd=pid)

    def signal(self, pidfd, number):
        self.log.append((pidfd, signal.Signals(number).name))
        deadly = number == signal.SIGTERM and pidfd not in self._stubborn
        if deadly or (number == signal.SIGKILL and pidfd not in self._undying):
            self.living.discard(pidfd)

    def wait_ended(self, pidfds, timeout_s):
        if self.living.isdisjoint(pidfds):
            return True
        self.clock_s += timeout_s
        return False

    def has_ended(self, pidfd):
        return pidfd not in self.living

    def tree(self, root):
        return [self.hold(pid) for pid in sorted(self.living - {root.pid})]

    def close(self, descriptor):
        self.log.append((descriptor, "closed"))

    def now_s(self):
        return self.clock_s

    def announce(self):
        self.log.append("announced")


def ask(box):
    return stop(ROOT, box, box, announce=box.announce, grace_s=30.0)


def test_it_is_announced_before_the_first_signal():
    box = FakeBox(42)
    assert not ask(box).killed
    assert box.log[:3] == ["announced", (42, "SIGTERM"), (42, "SIGCONT")]


def test_the_run_is_asked_alone_first_and_what_it_leaves_afterwards():
    box = FakeBox(42, 43)
    stopped = ask(box)
    signals = [entry for entry in box.log if entry[1].startswith("SIG")]
    assert signals == [(42, "SIGTERM"), (42, "SIGCONT"), (43, "SIGTERM"), (43, "SIGCONT")]
    assert (stopped.leftovers, stopped.remaining) == (1, 0)


def test_what_does_not_listen_is_killed_after_the_grace():
    box = FakeBox(42, 43, stubborn=(42, 43))
    stopped = ask(box)
    assert stopped.killed
    assert (42, "SIGKILL") in box.log
    assert (43, "SIGKILL") in box.log
    assert not box.living


def test_what_a_device_holds_is_counted_not_denied():
    stopped = ask(FakeBox(42, 43, undying=(43,)))
    assert (stopped.leftovers, stopped.remaining) == (1, 1)


def test_every_descriptor_is_closed():
    box = FakeBox(42, 43)
    ask(box)
    assert {entry[0] for entry in box.log if entry[1] == "closed"} == {42, 43}


def test_a_pid_that_came_again_before_it_was_held_is_neither_announced_nor_signalled():
    box = FakeBox(42, ticks=8)
    with pytest.raises(LaunchError, match="its pid belongs to another process"):
        ask(box)
    assert box.living == {42}
    assert [entry for entry in box.log if entry != (42, "closed")] == []


def test_one_that_has_ended_is_said():
    with pytest.raises(LaunchError, match="has ended already"):
        ask(FakeBox())
