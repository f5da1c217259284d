"""The guard asks identities; each reason to refuse is named, everything else lets the run in."""

import pytest

from pfid.domain.errors import LaunchError
from pfid.launch.guard import admit
from pfid.policy.identity import Here, Seen
from pfid.wire.record import RecordedEnd, RecordedLog, RecordedProcess, RecordedStop, RunRecord

HERE = Here(machine_id="m", boot_id="b", pid_namespace=1, own_pid=999)
LAUNCHER_PID, PID = 41, 42


class FakeProcesses:
    def __init__(self, table):
        self._table = table

    def here(self):
        return HERE

    def seen(self, pid):
        return self._table.get(pid)


class FakeRecords:
    def __init__(self, *records, problems=(), stopped=()):
        self._records = records
        self._problems = list(problems)
        self._stopped = stopped

    def latest(self, name):
        return [record for record in self._records if record.name == name], self._problems

    def current(self):
        return list(self._records)

    def stop_of(self, run_id):
        return STOP if run_id in self._stopped else None


def process(pid):
    return RecordedProcess(machine_id="m", boot_id="b", pid=pid, start_ticks=7, pid_namespace=1)


def record(name="train", **more):
    return RunRecord(
        **{
            "run_id": f"{name}-1",
            "name": name,
            "process": process(PID),
            "launcher": process(LAUNCHER_PID),
            "started_at_s": 1.0,
            "logs": [RecordedLog(path="/w/train.log")],
        }
        | more
    )


STOP = RecordedStop(uid=0, username="root", why="", at_s=2.0)
ENDED = RecordedEnd(exit_code=1, signal=None, at_s=2.0)


def ask(records, table, said=None):
    admit(
        "train",
        ["/w/train.log"],
        records,
        FakeProcesses(table),
        [].append if said is None else said.append,
    )


def test_nothing_recorded_lets_it_in():
    ask(FakeRecords(), {})


@pytest.mark.parametrize(
    ("found", "table", "words"),
    [
        (record(), {PID: Seen(start_ticks=7)}, "already running as train-1 .*pfid stop"),
        (record(), {PID: Seen(start_ticks=None)}, "cannot tell whether train-1 still runs"),
        (
            record(end=ENDED, waiting=True),
            {LAUNCHER_PID: Seen(start_ticks=7)},
            "about to be relaunched",
        ),
        (record(restarts_left=1), {LAUNCHER_PID: Seen(start_ticks=7)}, "about to be relaunched"),
        (record("other"), {PID: Seen(start_ticks=7)}, "is the log of other-1"),
    ],
)
def test_what_lives_is_a_reason_with_a_remedy(found, table, words):
    with pytest.raises(LaunchError, match=words):
        ask(FakeRecords(found), table)


@pytest.mark.parametrize(
    ("found", "table"),
    [
        (record(), {}),
        (record(), {PID: Seen(start_ticks=8)}),
        (record(), {PID: Seen(start_ticks=7, dead=True)}),
        (record(end=ENDED), {PID: Seen(start_ticks=7)}),
        (record(end=ENDED, waiting=True), {LAUNCHER_PID: Seen(start_ticks=8)}),
        (record(end=ENDED, waiting=False), {LAUNCHER_PID: Seen(start_ticks=7)}),
        (record(restarts_left=0), {LAUNCHER_PID: Seen(start_ticks=7)}),
        (record(restarts_left=1), {LAUNCHER_PID: Seen(start_ticks=8)}),
        (record(restarts_left=1, end=ENDED), {LAUNCHER_PID: Seen(start_ticks=7)}),
        (record("other"), {PID: Seen(start_ticks=8)}),
        (record("other", logs=[RecordedLog(path="/w/b.log")]), {PID: Seen(start_ticks=7)}),
        (record("other", end=ENDED), {PID: Seen(start_ticks=7)}),
    ],
)
def test_what_does_not_live_is_none(found, table):
    ask(FakeRecords(found), table)


def test_a_launcher_that_was_told_to_stop_launches_nothing_again():
    """Right after `pfid stop` the name is free, though its launcher is still about to leave."""
    left = record(restarts_left=1)
    ask(FakeRecords(left, stopped=[left.run_id]), {LAUNCHER_PID: Seen(start_ticks=7)})


def test_what_is_corrupt_is_said():
    said = []
    ask(FakeRecords(problems=["/r/record.json is not a run's record"]), {}, said)
    assert said == ["/r/record.json is not a run's record; it does not count"]
