"""Processes start, end, are reaped, exec, their pids come again, boxes reboot: never confused."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from pfid.domain.identity import ProcessIdentity
from pfid.policy.identity import Here, Seen, Standing, standing

OWN_PID = 1


class Processes(RuleBasedStateMachine):
    """A box with few pids, so that they come again soon."""

    captured = Bundle("captured")

    def __init__(self):
        super().__init__()
        self.ticks = 10
        self.boot = 0
        self.namespace = 1
        self.table = {}  # pid -> (serial, start ticks, dead)
        self.serial = 0
        self.records = []  # (identity, serial)

    @rule(target=captured, pid=st.integers(2, 4), ticks=st.integers(1, 3))
    def start(self, pid, ticks):
        if pid in self.table:
            return None
        self.ticks += ticks
        self.serial += 1
        self.table[pid] = (self.serial, self.ticks, False)
        self.records.append((self.identity(pid), self.serial, self.namespace))
        return pid

    def identity(self, pid):
        return ProcessIdentity(
            machine_id="m",
            boot_id=str(self.boot),
            pid=pid,
            start_ticks=self.table[pid][1],
            pid_namespace=self.namespace,
        )

    @rule(pid=st.integers(2, 4))
    def end(self, pid):
        if pid in self.table:
            serial, ticks, _ = self.table[pid]
            self.table[pid] = (serial, ticks, True)

    @rule(pid=consumes(captured))
    def reap(self, pid):
        if pid in self.table and self.table[pid][2]:
            del self.table[pid]

    @rule()
    def reboot(self):
        self.boot += 1
        self.ticks = 10
        self.table = {}

    @rule(namespace=st.integers(1, 2))
    def ask_from(self, namespace):
        """The asker moves to another namespace, whose pids are others'."""
        if namespace != self.namespace:
            self.namespace = namespace
            self.table = {}

    @invariant()
    def only_the_captured_process_itself_is_alive(self):
        here = Here(
            machine_id="m",
            boot_id=str(self.boot),
            pid_namespace=self.namespace,
            own_pid=OWN_PID,
        )
        for identity, serial, _ in self.records:
            stands = self.table.get(identity.pid)
            seen = None if stands is None else Seen(start_ticks=stands[1], dead=stands[2])
            truth = stands is not None and stands[0] == serial and not stands[2]
            found = standing(identity, here, seen)
            assert (found is Standing.ALIVE) == truth, (identity, stands, found)
            assert found.blocks == truth


Processes.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestIdentity = Processes.TestCase
