"""A log that is renamed and made anew while its run goes on: the run's steps go on.

The real loop and the reader's real followers over real files; the clock is moved by hand.
"""

import importlib
import os
import queue
from collections import Counter, deque
from types import SimpleNamespace

import pytest

from pfid.bootstrap.parts import built_parts
from pfid.daemon.core import Checks, Core
from pfid.daemon.due_work import RENDER
from pfid.daemon.hooks import Hooks
from pfid.daemon.judging import Judging
from pfid.daemon.loop import Loop
from pfid.daemon.messages import Asked, JobFired, ReaderEnded, ReaderTold
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import Identified
from pfid.domain.log_facts import Marker
from pfid.domain.outcome import Outcome
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.control import Ended, HandedLog, HandOver, Register, Role
from pfid.wire.reader import Closed, CloseReason, Configure, Follow, StreamKind, Unfollow
from pfid.workers.arrival import ArrivalClock
from pfid.workers.followed_file import FollowedFile
from pfid.workers.parser_choice import parser_for

RECOMPILED = (
    "W1129 12:00:00.000000 4242 torch/_dynamo/convert_frame.py:1016] [4/8] "
    "torch._dynamo hit config.recompile_limit (8)\n"
)


class Clock:
    """Both clocks, moved by hand."""

    def __init__(self):
        self.wall, self.mono = 1_788_000_000.0, 1_000.0

    def now_s(self):
        return self.wall

    def monotonic_s(self):
        return self.mono


class Reader:
    """The reader's followers without its process: it reads when it is told to."""

    def __init__(self):
        self.up = True
        self.files = {}
        self.said = deque()
        self.now_s = 0.0

    def order(self, order, fds, _generation):
        if not self.up:
            return False
        if isinstance(order, Follow):
            assert order.stream not in self.files, "its file would be dropped unread"
            make = lambda state: parser_for(order, Configure(), state)  # noqa: E731
            file = FollowedFile(os.dup(fds[0]), order, make, ArrivalClock())
            self.files[order.stream] = file
        elif isinstance(order, Unfollow) and order.stream in self.files:
            file = self.files.pop(order.stream)
            file.look_for_the_last_time(self.now_s)
            self._read(file)
            file.finish()
            self._tell(file)
            file.close()
            self.said.append(Closed(stream=order.stream, why=CloseReason.UNFOLLOWED))
        return True

    def look(self):
        self.now_s += 10.0
        for file in self.files.values():
            file.look(self.now_s)
            self._read(file)
            self._tell(file)

    def die(self):
        """End without a word about what was read last."""
        self.up = False
        for file in self.files.values():
            file.close()
        self.files.clear()
        self.said.clear()

    def _read(self, file):
        while file.backlog_bytes:
            file.read()

    def _tell(self, file):
        batch = file.take_batch()
        if batch is not None:
            self.said.append(batch)


class World:
    """A daemon's loop with one run, whose logs lie in a folder."""

    def __init__(self, folder, *names):
        self.folder, self.names = folder, names
        self.clock, self.reader = Clock(), Reader()
        self.inbox = queue.SimpleQueue()
        self.kept = Counter()
        self.generation = 1
        checks = tuple(_shipped(n) for n in ("run_stalled", "step_time_regime", "log_is_one_run"))
        to = ProvenTo(controls=True, sabotage=True)
        gates = tuple(
            Gate(check=c.name, stage=c.stage, state=GateState.PROVEN, proven_to=to) for c in checks
        )
        self.core = Core(
            ports=self._ports(),
            post=self.inbox.put,
            machine_id="m",
            boot_id="b",
            checks=Checks(run=checks, gates=gates),
        )
        parts = built_parts(self.core, Judging(self.core, None), allow_fuse=False)
        known = {name: lambda *_, **__: None for name in Hooks.__dataclass_fields__}
        self.loop = Loop(
            parts, self.inbox, Hooks(**known | {"page": lambda *_: 5.0}), watchdog_s=1.0
        )
        self.loop.begin()
        self.reading = parts.reading
        self.reading.started(self.generation)

    def _ports(self):
        def nothing(*_args, **_named):
            return None

        read = SimpleNamespace(state="S", cpu_s=0.0, resident_bytes=1)
        held = SimpleNamespace(
            pid=1, pidfd=0, read=lambda: read, read_io=nothing, status=nothing, close=nothing
        )
        identified = Identified(
            identity=CONTROL_RUN.identity, uid=0, started_at_s=self.clock.wall, ended=False
        )
        return SimpleNamespace(
            clock=self.clock,
            processes=SimpleNamespace(
                identify=lambda _fd: identified,
                hold=lambda *_: held,
                pids=set,
                username=str,
                inspect=nothing,
                owner=nothing,
            ),
            deaths=SimpleNamespace(watch=nothing, unwatch=nothing),
            oom=SimpleNamespace(box=nothing, place_of=nothing, cgroup=nothing, forget=nothing),
            memory=SimpleNamespace(room=nothing, forget=nothing),
            store=SimpleNamespace(
                submit=lambda _: 1,
                find_events=nothing,
                find_run=nothing,
                find_earlier=nothing,
                remember=nothing,
            ),
            reader=self.reader,
            replies=SimpleNamespace(reply=nothing),
            notify=SimpleNamespace(
                ready=nothing,
                reloading=nothing,
                stopping=nothing,
                status=nothing,
                watchdog=nothing,
                store=lambda name, _fds: self.kept.update([name]),
                drop=lambda name: self.kept.pop(name, None),
            ),
            log=SimpleNamespace(counts={}, say=nothing),
        )

    @property
    def run(self):
        return self.core.runs["n-1"]

    def turn(self, *messages, seconds=0.0):
        self.clock.mono += seconds
        self.clock.wall += seconds
        self.inbox.put(JobFired(job=RENDER))  # so that the loop never waits for real
        for message in messages:
            self.inbox.put(message)
        self.loop.turn()

    def ask(self, request, *fds):
        self.turn(Asked(conn=1, uid=0, pid=1, request=request, fds=fds))

    def register(self, *, places=True):
        logs = [HandedLog(place=i if places else None) for i in range(len(self.names))]
        request = Register(
            name="n",
            run_id="n-1",
            pid=CONTROL_RUN.identity.pid,
            start_ticks=None,
            started_at_s=self.clock.wall,
            roles=[Role.PIDFD, *(Role.LOG for _ in logs)],
            logs=logs,
        )
        for name in self.names:
            (self.folder / name).touch()
        self.ask(request, 0, *(self.open(name) for name in self.names))

    def open(self, name):
        return os.open(self.folder / name, os.O_RDONLY)

    def rotate(self, name):
        """Rename the log, make it anew, hand it over as a launcher does."""
        log = self.folder / name
        log.rename(f"{log}.{len(list(self.folder.iterdir()))}")
        log.touch()
        handed = HandedLog(place=self.names.index(name), replaces=True)
        self.hand_over([handed], [name], replace_logs=len(self.names) == 1)

    def hand_over(self, logs, names, *, replace_logs):
        roles = [Role.LOG for _ in names]
        request = HandOver(run_id="n-1", roles=roles, logs=logs, replace_logs=replace_logs)
        self.ask(request, *(self.open(name) for name in names))

    def write(self, name, *indices, ms=1000, more=""):
        steps = (f"iter {i}: loss 2.0, time {ms}ms, mfu 1.00%\n" for i in indices)
        with (self.folder / name).open("a") as file:
            file.write("".join(steps) + more)

    def read(self, seconds=0.0):
        """Have all that is there read and taken."""
        self.reader.look()
        self.turn(seconds=seconds)
        while self.reader.said:
            report = self.reader.said.popleft()
            self.turn(ReaderTold(generation=self.generation, report=report))
            if not self.reader.said:
                self.reader.look()

    def end(self):
        self.ask(Ended(run_id="n-1", exit_code=0, signal=None, at_s=self.clock.wall))

    def restart_reader(self):
        self.reader.up = True
        self.generation += 1
        self.reading.started(self.generation)

    def verdict(self, check):
        judged = self.run.judged.get(check)
        settled = None if judged is None else judged.settling.settled
        return None if settled is None else (settled.outcome, settled.reason)


def _shipped(name):
    (check,) = importlib.import_module(f"pfid_plugins.watch.{name}").pfid_checks()
    return check


@pytest.fixture
def world(tmp_path):
    """One log."""
    world = World(tmp_path, "a.log")
    world.register()
    return world


@pytest.fixture
def two(tmp_path):
    """Two logs."""
    world = World(tmp_path, "a.log", "b.log")
    world.register()
    return world


def test_a_run_that_fails_is_not_acquitted_by_a_new_log(world):
    world.write("a.log", *range(65))
    for _ in range(20):
        world.read(seconds=10.0)
    assert world.verdict("step_time_regime")[0] is Outcome.PASS
    world.write("a.log", *range(65, 130), ms=20_000)
    for _ in range(20):
        world.read(seconds=10.0)
    fallen = world.verdict("step_time_regime")
    assert fallen[0] is Outcome.FAIL
    early, n = world.run.early, world.run.statistics.n
    world.rotate("a.log")
    world.write("a.log", *range(130, 250), ms=20_000)
    for _ in range(20):
        world.read(seconds=10.0)
    assert world.verdict("step_time_regime") == fallen
    assert world.run.early.taken[: len(early.taken)] == early.taken
    assert (world.run.statistics.n, world.run.progress.steps_seen) == (n + 120, 250)


def test_a_run_of_slow_steps_is_not_called_stalled_by_a_new_log(world):
    for i in range(60):
        world.write("a.log", i, ms=70_000)
        world.read(seconds=70.0)
    assert world.verdict("run_stalled")[0] is Outcome.PASS
    world.rotate("a.log")
    for i in range(60, 100):
        world.write("a.log", i, ms=70_000)
        for _ in range(7):
            world.read(seconds=10.0)
            assert world.verdict("run_stalled")[0] is Outcome.PASS, i
    assert world.run.progress.steps_seen == 100


def test_of_two_logs_the_other_is_not_told_twice(two):
    two.write("a.log", *range(100), more=RECOMPILED)
    two.write("b.log", more="note 1\n")
    two.read(seconds=5.0)
    signed = two.run.last_progress_at_s
    two.rotate("b.log")
    two.write("b.log", more="note 2\n")
    for _ in range(5):
        two.read(seconds=10.0)
    assert two.run.progress.steps_seen == 100
    assert two.run.facts.markers[Marker.RECOMPILE_LIMIT].count == 1
    assert two.run.last_progress_at_s == signed, "it is silent since"


def test_what_the_old_log_said_still_counts_once(world):
    world.write("a.log", *range(50), more=RECOMPILED)
    world.read()
    world.rotate("a.log")
    world.write("a.log", *range(50, 60), more=RECOMPILED)
    world.read()
    assert world.run.facts.markers[Marker.RECOMPILE_LIMIT].count == 2
    assert world.run.facts.truncations == 0, "it is another file, not an emptied one"
    assert world.run.facts.rewinds == 0


def test_a_log_counts_as_moved_only_until_its_successor_is_there(world):
    world.write("a.log", *range(50))
    world.read()
    log = world.folder / "a.log"
    log.rename(world.folder / "a.log.1")
    world.read()
    assert world.run.facts.moved
    log.touch()
    world.hand_over([HandedLog(place=0, replaces=True)], ["a.log"], replace_logs=True)
    world.read()
    assert not world.run.facts.moved


def test_a_run_keeps_no_more_after_many_rotations_than_after_one(two):
    two.rotate("b.log")
    two.read()
    descriptors, kept = len(os.listdir("/proc/self/fd")), sum(two.kept.values())  # noqa: PTH208
    assert kept == 3, "the process and two logs"
    for i in range(20):
        two.write("b.log", *range(50 * i, 50 * i + 50))
        two.rotate("b.log")
        two.read()
    assert (len(two.run.streams), len(two.core.streams)) == (2, 2)
    assert sum(two.kept.values()) == kept
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2  # noqa: PTH208 - one being closed
    assert two.run.progress.steps_seen == 1000


def test_nothing_is_lost_that_was_not_read_before_the_rotation(world):
    world.write("a.log", *range(40))
    world.rotate("a.log")
    world.write("a.log", *range(40, 50))
    world.rotate("a.log")
    world.write("a.log", *range(50, 60))
    world.read()
    assert world.run.progress.steps_seen == 60
    assert world.run.progress.last_index == 59


def test_nothing_is_lost_when_the_reader_is_down_at_the_rotation(world):
    world.write("a.log", *range(40))
    world.read()
    world.write("a.log", *range(40, 50))
    world.reader.die()
    world.turn(ReaderEnded(generation=1, cause="died", touching=None, output_tail=""))
    world.rotate("a.log")
    world.write("a.log", *range(50, 60))
    world.restart_reader()
    world.read()
    assert world.run.progress.steps_seen == 60


def test_a_log_written_anew_with_its_old_text_is_not_told_twice(world):
    world.write("a.log", *range(40))
    world.read()
    n = world.run.statistics.n
    log = world.folder / "a.log"
    draft = world.folder / "draft"
    draft.write_bytes(log.read_bytes())
    draft.rename(log)
    world.write("a.log", *range(40, 45))
    world.hand_over([HandedLog(place=0, replaces=True)], ["a.log"], replace_logs=True)
    world.read()
    assert (world.run.progress.steps_seen, world.run.statistics.n) == (45, n + 5)


def test_the_only_log_goes_on_also_where_the_launcher_does_not_count_logs(tmp_path):
    world = World(tmp_path, "a.log")
    world.register(places=False)
    world.write("a.log", *range(40))
    world.read()
    world.hand_over([HandedLog()], ["a.log"], replace_logs=True)
    world.read()
    assert (len(world.run.streams), world.run.progress.steps_seen) == (1, 40)


def test_of_several_logs_of_a_launcher_that_does_not_count_them_only_the_replaced_one_goes_on(
    tmp_path,
):
    """It hands over all of them: the others were told from their beginning once more."""
    world = World(tmp_path, "a.log", "b.log")
    world.register(places=False)
    world.write("a.log", *range(100), more=RECOMPILED)
    world.write("b.log", more="note 1\n")
    world.read(seconds=5.0)
    signed, open_before = world.run.last_progress_at_s, _open_files()
    log = world.folder / "b.log"
    log.rename(world.folder / "b.log.1")
    log.touch()
    world.hand_over([HandedLog(), HandedLog()], list(world.names), replace_logs=True)
    world.write("b.log", more="note 2\n")
    for _ in range(5):
        world.read(seconds=10.0)
    assert [s.finished for s in world.run.streams] == [False, False]
    assert world.run.progress.steps_seen == 100
    assert world.run.facts.markers[Marker.RECOMPILE_LIMIT].count == 1
    assert world.run.last_progress_at_s == signed, "it is silent since"
    assert _open_files() <= open_before + 1, "second copies are closed"
    world.write("a.log", *range(100, 110))
    world.read()
    assert world.run.progress.steps_seen == 110


def test_logs_that_are_all_replaced_follow_each_other_in_their_order(tmp_path):
    world = World(tmp_path, "a.log", "b.log")
    world.register(places=False)
    world.write("a.log", *range(40), more=RECOMPILED)
    world.write("b.log", more="note 1\n")
    world.read()
    for name in world.names:
        log = world.folder / name
        log.rename(f"{log}.1")
        log.touch()
    world.hand_over([HandedLog(), HandedLog()], list(world.names), replace_logs=True)
    world.write("a.log", *range(40, 50))
    world.read()
    assert len(world.run.streams) == 2
    assert (world.run.progress.steps_seen, world.run.facts.rewinds) == (50, 0)


def _open_files():
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_logs_replaced_nobody_knows_which_are_finished_and_let_go(tmp_path):
    world = World(tmp_path, "a.log", "b.log")
    world.register(places=False)
    world.write("a.log", *range(40), more=RECOMPILED)
    world.read()
    for name in world.names:
        log = world.folder / name
        log.rename(f"{log}.1")
        log.touch()
    (world.folder / "c.log").touch()
    world.read()
    names = [*world.names, "c.log"]
    world.hand_over([HandedLog() for _ in names], names, replace_logs=True)
    world.read()
    assert [s.finished for s in world.run.streams] == [True, True, False, False, False]
    assert all(s.parser_state is None for s in world.run.streams[:2])
    assert sum(world.kept.values()) == 4
    assert not world.run.facts.moved
    assert world.run.facts.markers[Marker.RECOMPILE_LIMIT].count == 1


@pytest.mark.parametrize("files", [1, 9])
def test_step_files_go_on_at_any_byte_when_the_reader_is_started_anew(tmp_path, files):
    world = World(tmp_path)
    world.register()
    note = '{"note":"optimizer","kind":"torch.optim.sgd.SGD"}\n'
    texts = [
        note + "".join(f'{{"step":{i},"seconds":0.5,"rank":{rank}}}\n' for i in range(1, 41))
        for rank in range(files)
    ]
    for rank in range(files):
        (tmp_path / f"{rank}.jsonl").touch()
        fd = world.open(f"{rank}.jsonl")
        world.reading.open(world.run, StreamKind.STEPS, fd, HandedLog())
    for at in range(0, len(texts[0]), 101):
        for rank, text in enumerate(texts):
            with (tmp_path / f"{rank}.jsonl").open("a") as file:
                file.write(text[at : at + 101])
        world.read(seconds=1.0)
        world.reader.die()
        world.restart_reader()
    world.read(seconds=1.0)
    facts = world.run.facts
    assert (world.run.progress.steps_seen, world.run.progress.last_index) == (40, 40)
    assert (facts.inside.reported, facts.inside.optimizers) == (40 * files, ("SGD",))
    assert (facts.bytes_read, facts.truncations) == (sum(map(len, texts)), 0)
    assert all(stream.readable for stream in world.run.streams)


def test_a_run_that_ended_before_the_reader_was_up_is_judged_by_what_it_wrote(tmp_path):
    world = World(tmp_path, "a.log")
    world.reader.die()
    world.register()
    world.write("a.log", *range(20))
    for _ in range(3):
        world.turn(seconds=1.0)
    world.end()
    for _ in range(15):
        world.turn(seconds=1.0)
    assert not world.run.final
    world.restart_reader()
    for _ in range(4):
        world.read(seconds=1.0)
    assert world.run.final
    assert world.run.progress.steps_seen == 20
    assert world.verdict("log_is_one_run") == (Outcome.PASS, "one_run")


def test_a_reader_that_dies_on_the_last_of_an_ended_run_is_not_the_end_of_it(world):
    world.write("a.log", *range(20))
    world.read()
    world.write("a.log", *range(20, 30), more=RECOMPILED)
    world.reader.die()
    world.turn(ReaderEnded(generation=1, cause="died", touching=None, output_tail=""))
    world.end()
    for _ in range(5):
        world.turn(seconds=1.0)
    world.restart_reader()
    for _ in range(4):
        world.read(seconds=1.0)
    assert world.run.final
    assert world.run.progress.steps_seen == 30


def test_an_ended_run_does_not_wait_for_ever_for_a_reader(world):
    world.reader.die()
    world.end()
    for _ in range(80):
        world.turn(seconds=1.0)
    assert world.run.final


def test_beside_a_log_that_cannot_be_read_a_step_file_does_not_say_what_stands_in_it(world):
    (world.folder / "rank.jsonl").touch()
    request = HandOver(run_id="n-1", roles=[Role.STEPS], logs=[HandedLog()])
    world.ask(request, world.open("rank.jsonl"))
    world.read(seconds=10.0)
    with (world.folder / "rank.jsonl").open("a") as file:
        file.write('{"step": 1, "seconds": 1.0}\n')
    world.read(seconds=10.0)
    log = next(s for s in world.run.streams if s.kind is StreamKind.LOG)
    broken = Closed(stream=log.number, why=CloseReason.READ_FAILED, detail="EIO")
    world.turn(ReaderTold(generation=1, report=broken))
    for _ in range(4):
        world.read(seconds=10.0)
    assert world.run.progress.steps_seen == 1
    assert world.verdict("log_is_one_run") == (Outcome.UNKNOWN, "no_log")
