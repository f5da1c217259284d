"""The loop with a clock in our hands."""

import importlib
import itertools
import queue
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest

from pfid.bootstrap.parts import built_parts
from pfid.daemon.core import Checks, Core, judge_by
from pfid.daemon.due_work import AFTER_SWEEP_S, JOB_SLACK_S, JOBS, RENDER, SWEEP
from pfid.daemon.hooks import Came, Hooks
from pfid.daemon.judging import OVERDUE_LEAST_S, Judging
from pfid.daemon.loop import (
    AGAIN_AFTER_S,
    ANSWER_S,
    BREATH_S,
    BREATH_SHARE,
    Loop,
)
from pfid.daemon.messages import (
    Asked,
    ClientLeft,
    Committed,
    Died,
    JobFired,
    Proven,
    Signalled,
    StoreReset,
    StoreTrouble,
    WorkerVerdict,
)
from pfid.daemon.ports import Ports
from pfid.daemon.tracked import Member, TrackedRun
from pfid.daemon.trees import QUIET_EVERY
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import Identified
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind
from pfid.domain.snapshot import SamplerView
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.transition import Transition
from pfid.domain.verdict import Entity, EntityKind, Verdict
from pfid.policy import progress
from pfid.spec.check import Hysteresis, Scope, Severity, Stage
from pfid.spec.fakes import CONTROL_RUN
from pfid.wire.control import (
    Done,
    GetEvents,
    GetSnapshot,
    LiveLeg,
    Refused,
    Register,
    Registered,
    Reload,
    Role,
    StopIntent,
)
from pfid.wire.plugins import CheckInfo
from pfid.wire.stored import PutEvent, PutRun, PutSettling, PutSteps, StoredEvent, unpack


class Clock:
    """Both clocks, moved by hand."""

    def __init__(self) -> None:
        self.wall, self.mono = 1_788_000_000.0, 1_000.0

    def now_s(self) -> float:
        return self.wall

    def monotonic_s(self) -> float:
        return self.mono


class Held:
    """A process that lives."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid, self.pidfd = pid, pidfd

    def read(self):
        return SimpleNamespace(state="S", cpu_s=0.0, resident_bytes=1)

    def read_io(self):
        return None

    def status(self):
        return None

    def close(self) -> None:
        pass


class World:
    """The loop, its clock, and everything it did to the outside."""

    def __init__(self, checks: Checks | None = None, plugins=None) -> None:
        self.clock = Clock()
        self.inbox: queue.SimpleQueue = queue.SimpleQueue()
        self.said: list[tuple[str, str]] = []
        self.replies: list[tuple[int, object]] = []
        self.submitted: list[tuple] = []
        self.pages: list[bool] = []
        self.page_wait_s = 5.0
        self.room = None
        self.notified: list[str] = []
        self.trouble: list[BaseException] = []
        core = Core(
            ports=self._ports(),
            post=self.inbox.put,
            machine_id="m",
            boot_id="b",
            checks=checks or Checks(),
        )
        self.core = core
        parts = built_parts(core, Judging(core, plugins), allow_fuse=False)
        known = {name: lambda *_, **__: None for name in Hooks.__dataclass_fields__}
        self.came: list[Came] = []
        self.reloads: list[int | None] = []
        given = {"page": self._page, "reload": self.reloads.append, "came": self._came}
        hooks = Hooks(**{**known, **given})
        self.loop = Loop(parts, self.inbox, hooks, watchdog_s=1.0)
        self.loop.begin()

    def _came(self) -> Came:
        return self.came.pop(0)

    def _page(self, *asked) -> float:
        self.pages.append(asked[-1])
        return self.page_wait_s

    def _ports(self) -> Ports:
        def nothing(*_args, **_named):
            return None

        def submit(changes) -> int:
            self.submitted.append(tuple(changes))
            return len(self.submitted)

        identified = Identified(
            identity=CONTROL_RUN.identity, uid=0, started_at_s=self.clock.wall, ended=False
        )
        return Ports(
            clock=self.clock,
            processes=SimpleNamespace(
                identify=lambda _fd: identified,
                hold=Held,
                pids=set,
                username=str,
                inspect=nothing,
                owner=nothing,
            ),
            deaths=SimpleNamespace(watch=nothing, unwatch=nothing),
            oom=SimpleNamespace(box=nothing, place_of=nothing, cgroup=nothing, forget=nothing),
            memory=SimpleNamespace(room=lambda _place: self.room, forget=nothing),
            store=SimpleNamespace(
                submit=submit,
                find_events=nothing,
                find_run=nothing,
                find_earlier=nothing,
                remember=nothing,
            ),
            reader=SimpleNamespace(order=lambda *_: True),
            replies=SimpleNamespace(reply=lambda conn, reply: self.replies.append((conn, reply))),
            notify=SimpleNamespace(
                ready=lambda _: self.notified.append("ready"),
                reloading=lambda _: self.notified.append("reloading"),
                stopping=nothing,
                status=nothing,
                watchdog=lambda: self.notified.append("watchdog"),
                store=nothing,
                drop=nothing,
            ),
            log=SimpleNamespace(
                counts={}, say=lambda level, event, **_: self.said.append((level, event))
            ),
        )

    def turn(self, *messages, seconds: float = 0.0, wall: float | None = None) -> None:
        """Move the clocks, put messages in, go round once."""
        self.clock.mono += seconds
        self.clock.wall += seconds if wall is None else wall
        self.inbox.put(JobFired(job=RENDER))  # so that the loop never waits for real
        for message in messages:
            self.inbox.put(message)
        self.loop.turn()
        assert [s for s in self.said if s[0] == "critical" and "loop failed" in s[1]] == []

    def register(self, conn: int = 1) -> None:
        request = Register(
            name="n",
            run_id="n-1",
            pid=CONTROL_RUN.identity.pid,
            start_ticks=None,
            started_at_s=0.0,
            source="captured",
            roles=[Role.PIDFD],
        )
        self.turn(Asked(conn=conn, uid=0, pid=1, request=request, fds=(0,)))


@pytest.fixture
def world():
    return World()


def test_jobs_run_by_the_loops_own_due_times_when_the_wall_clock_is_set_back(world):
    """The scheduler goes by wall time and has fallen silent; an hour back stops nothing."""
    done: list[str] = []
    world.loop._parts.trees.begin = lambda: done.append(SWEEP)
    world.turn(seconds=2.5)
    assert done == [SWEEP]
    for _ in range(3):
        world.turn(seconds=JOBS[SWEEP] + JOB_SLACK_S, wall=-3600.0)
    assert done == [SWEEP] * 4


def _pages_after(world, seconds: float) -> int:
    """How many pages were asked for by due-times alone, in turns of a tenth of a second."""
    before = len(world.pages)
    for _ in range(round(seconds * 10)):
        world.clock.mono += 0.1
        world.inbox.put(ClientLeft(conn=99))  # so that the loop never waits for real
        world.loop.turn()
    return len(world.pages) - before


@pytest.mark.parametrize(("wait_s", "pages"), [(1.0, 10), (5.0, 2)])
def test_the_page_is_asked_for_as_often_as_it_says(world, wait_s, pages):
    world.page_wait_s = wait_s
    world.turn()
    assert abs(_pages_after(world, 10.0) - pages) <= 1


def test_the_page_waits_a_second_for_news_and_no_longer(world):
    world.turn(seconds=0.5)
    assert _pages_after(world, 2.0) == 0, "nothing happened"
    world.loop._core.urgent = True
    assert _pages_after(world, 0.2) == 1
    assert world.pages[-1], "it is told that it is urgent"
    world.loop._core.urgent = True
    assert _pages_after(world, 0.8) == 0, "however much happens"
    assert _pages_after(world, 0.3) == 1


def test_the_page_waits_for_a_sweep_that_is_on_its_way_and_not_for_ever(world):
    world.turn(seconds=0.5)
    before, trees = len(world.pages), world.loop._parts.trees
    trees.go_on, trees._work = (lambda: None), iter(())
    world.turn()
    assert len(world.pages) == before, "the sweep is on its way"
    trees._work = None
    world.loop._due_work.hasten()
    assert _pages_after(world, 0.1) == 1
    trees._work = iter(())
    world.turn()
    assert len(world.pages) == before + 1
    assert _pages_after(world, AFTER_SWEEP_S + 0.1) == 1, "a sweep that does not end"


def test_a_registration_is_acknowledged_only_once_it_is_on_disk(world):
    world.register(conn=7)
    assert world.replies == []
    number = len(world.submitted)
    assert any(c.__class__.__name__ == "PutRun" for c in world.submitted[number - 1])
    world.turn(Committed(number=number - 1))
    assert world.replies == []
    world.turn(Committed(number=number))
    ((conn, reply),) = world.replies
    assert conn == 7
    assert isinstance(reply, Registered)


def test_whoever_waits_for_a_full_disk_is_told_and_the_run_is_watched_all_the_same(world):
    world.register(conn=7)
    world.turn(StoreTrouble(problem="disk full"))
    ((_, reply),) = world.replies
    assert isinstance(reply, Refused)
    assert reply.code == "cannot_write"
    world.turn(Asked(conn=8, uid=0, pid=1, request=StopIntent(run_id="n-1")))
    assert world.replies[-1][1].code == "cannot_write"
    world.turn(Asked(conn=9, uid=0, pid=1, request=GetSnapshot()))
    shown = world.replies[-1][1].snapshot
    assert [r.run.run_id for r in shown.runs] == ["n-1"]
    assert shown.health.store_problem == "disk full"


@pytest.mark.parametrize("collected", [True, False])
def test_an_ended_run_is_called_defunct_only_while_nobody_collects_it(world, collected):
    world.register()
    (member,) = world.core.members.values()
    run = world.core.runs["n-1"]
    member.held.status = lambda: (1, None)
    world.turn(Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono))
    assert run.end is not None
    assert run.defunct  # nobody can have collected it in the moment of its death
    if collected:
        member.held.read = lambda: None
    world.turn(seconds=5.0)
    assert run.final
    assert run.defunct is not collected


def _shipped(name):
    (check,) = importlib.import_module(f"pfid_plugins.watch.{name}").pfid_checks()
    return check


def _two_of_a_run() -> Checks:
    both = (_shipped("run_gone"), _shipped("run_stalled"))
    gates = tuple(
        Gate(check=c.name, stage="watch", state=GateState.PROVEN, proven_to=ProvenTo())
        for c in both
    )
    return Checks(run=both, gates=gates)


def test_what_a_death_means_is_told_before_anything_else_it_brings_is_done():
    world = World(_two_of_a_run())
    world.register()
    world.turn(seconds=1.0)
    (member,) = world.core.members.values()
    run = world.core.runs["n-1"]
    member.held.status = lambda: (None, 9)
    stalled_before, done = run.judged["run_stalled"], []
    parts, looked_s = world.loop._parts, stalled_before.ran_s
    parts.reading.drain = lambda _: done.append("drained")
    submit = world.core.ports.store.submit
    world.core.ports.store.submit = lambda c: (done.append("written"), submit(c))[1]
    world.turn(Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono))
    told = [c.body for c in world.submitted[-1] if isinstance(c, PutEvent)]
    assert len(told) == 1, "run_gone says it, once"
    assert any(isinstance(c, PutRun) and c.ended_at_s is not None for c in world.submitted[-1])
    assert done == ["written"]
    assert run.judged["run_stalled"].ran_s == looked_s
    ran_s = run.judged["run_gone"].ran_s
    world.turn(seconds=0.01)
    assert done[:2] == ["written", "drained"]
    assert run.judged["run_stalled"].ran_s > looked_s, "it reads of the run's life as well"
    assert run.judged["run_gone"].ran_s == ran_s, "it has seen it"


def _killed(world):
    """A run that is killed; what is only shown of it may still wait."""
    world.register()
    world.turn(seconds=1.0)
    (member,) = world.core.members.values()
    member.held.status = lambda: (None, 9)
    return Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono)


@pytest.mark.parametrize("asked_with_it", [True, False])
def test_whoever_asks_after_a_death_is_shown_what_it_means(asked_with_it):
    world = World(_two_of_a_run())
    died = _killed(world)
    ran = world.core.costs["run_gone"].runs
    asking = Asked(conn=9, uid=0, pid=1, request=GetSnapshot())
    for message in (died, asking) if asked_with_it else (died,):
        world.loop._handle(message)
    run = world.core.runs["n-1"]
    if not asked_with_it:
        assert run.judged["run_gone"].view.outcome is Outcome.PASS, "it is shown after the news"
        world.loop._handle(asking)
    shown = world.replies[-1][1].snapshot
    (view,) = [v for v in shown.verdicts if v.check == "run_gone"]
    assert (view.outcome, view.reason) == (Outcome.FAIL, "killed_by_signal")
    cost = world.core.costs["run_gone"]
    assert (cost.runs, cost.firings) == (ran + 1, 1)


def test_what_was_put_off_for_news_is_done_with_what_is_due_and_on_each_page():
    world = World(_two_of_a_run())
    died = _killed(world)
    world.loop._handle(died)
    (view,) = [v for v in world.loop.snapshot().verdicts if v.check == "run_gone"]
    assert view.outcome is Outcome.FAIL
    other = World(_two_of_a_run())
    other.turn(_killed(other))
    other.turn(seconds=0.01)
    assert other.core.runs["n-1"].judged["run_gone"].view.outcome is Outcome.FAIL


def test_one_act_that_was_put_off_and_fails_takes_no_other_with_it():
    world = World(_two_of_a_run())
    judging, done = world.loop._parts.judging, []
    judging._put_off += [lambda: 1 / 0, lambda: done.append("other")]
    with pytest.raises(ZeroDivisionError):
        judging.catch_up()
    judging.catch_up()
    assert done == ["other"]


def test_one_message_that_cannot_be_handled_does_not_stop_the_loop(world):
    def break_down(*_):
        raise RuntimeError("planted")

    world.loop._parts.answering.left = break_down
    from pfid.daemon.messages import ClientLeft

    world.inbox.put(ClientLeft(conn=1))
    world.loop.turn()
    assert ("critical", "the loop failed on a message") in world.said
    world.said.clear()
    world.register()
    assert world.core.runs


def test_what_was_due_and_could_not_be_done_is_tried_again(world):
    tried: list[float] = []

    def break_down_once(_run) -> None:
        tried.append(world.clock.mono)
        if len(tried) == 1:
            raise RuntimeError("planted")

    world.register()
    world.loop._parts.judging.run_due = break_down_once
    world.core.due.set(("judge", "n-1"), world.clock.mono)
    with pytest.raises(AssertionError, match="loop failed"):
        world.turn(seconds=0.01)
    world.said.clear()
    world.turn(seconds=AGAIN_AFTER_S * 0.9)
    assert len(tried) == 1
    world.turn(seconds=AGAIN_AFTER_S * 0.2)
    assert len(tried) == 2


def test_a_run_whose_check_left_is_due_no_sooner_than_the_checks_that_stay():
    checks = _two_of_a_run()
    world = World(checks)
    world.register()
    world.turn(seconds=1.0)
    run = world.core.runs["n-1"]
    assert run.judged.keys() == {"run_gone", "run_stalled"}
    judge_by(world.core, replace(checks, run=checks.run[:1]))
    for _ in range(40):
        world.turn(seconds=30.0)
        due_s = world.core.due.next_s()
        assert due_s is None or due_s > world.clock.mono, "the loop would turn on the spot"
    assert run.judged.keys() == {"run_gone"}


def test_the_watchdog_is_fed_after_turns_and_at_half_its_interval(world):
    world.turn()
    first = world.notified.count("watchdog")
    world.turn(seconds=0.4)
    assert world.notified.count("watchdog") == first
    world.turn(seconds=0.2)
    assert world.notified.count("watchdog") == first + 1


def test_quiet_children_are_read_seldom_and_roots_and_busy_ones_in_every_sweep(world):
    world.register()
    run = world.core.runs["n-1"]
    trees = world.loop._parts.trees
    looks = {"root": 0, "quiet": 0, "busy": 0}
    sleeps = SimpleNamespace(state="S", cpu_s=1.0, resident_bytes=1)

    def read(name, reading):
        looks[name] += 1
        return reading()

    def child(name, pid, reading):
        held = Held(pid, pid)
        held.read = lambda: read(name, reading)
        token = world.core.token()
        trees.watch(
            run, Member(token=token, run_id=run.run_id, held=held, start_ticks=1, comm=name)
        )

    run.root.held.read = lambda: read("root", lambda: sleeps)
    child("quiet", 500_001, lambda: sleeps)
    child("busy", 500_002, lambda: SimpleNamespace(state="S", cpu_s=2.0, resident_bytes=1))
    sweeps = 2 + 4 * QUIET_EVERY
    for _ in range(sweeps):
        world.turn(seconds=JOBS[SWEEP] + JOB_SLACK_S)
        while trees.busy:
            trees.go_on()
    assert looks["root"] == looks["busy"] == sweeps
    assert sweeps / QUIET_EVERY <= looks["quiet"] <= 2 + sweeps / QUIET_EVERY


def test_memory_that_is_left_is_told_when_it_changed_by_more_than_it_always_does(world):
    def swept(available_bytes):
        world.room = SimpleNamespace(limit_bytes=1_000, available_bytes=available_bytes)
        world.turn(seconds=JOBS[SWEEP] + JOB_SLACK_S)
        while world.loop._parts.trees.busy:
            world.loop._parts.trees.go_on()
        (view,) = world.loop.snapshot().runs
        return view, view.resources.memory_available_bytes

    world.register()
    first, told = swept(500)
    assert (first.resources.memory_limit_bytes, told) == (1_000, 500)
    world.core.runs["n-1"].root.held.read = lambda reading=world.core.runs["n-1"].root.reading: (
        reading
    )
    swept(500)
    before, told = swept(505)
    assert told == 500
    again, told = swept(495)
    assert told == 500
    assert again is before, "nothing of the run is made anew for it"
    assert swept(480)[1] == 480
    world.room = None
    world.turn(seconds=JOBS[SWEEP] + JOB_SLACK_S)
    while world.loop._parts.trees.busy:
        world.loop._parts.trees.go_on()
    (view,) = world.loop.snapshot().runs
    assert view.resources.memory_available_bytes is None


def _news():
    """Something that is answered once it is on disk."""
    return Asked(conn=8, uid=0, pid=1, request=StopIntent(run_id="n-1"))


def _swept(world) -> list[int]:
    """How many change sets had been handed over each time the sweep began."""
    seen: list[int] = []
    world.loop._parts.trees.begin = lambda: seen.append(len(world.submitted))
    world.core.due.set(("job", SWEEP), world.clock.mono)
    return seen


def test_news_is_written_and_answered_before_work_that_is_merely_due(world):
    world.register()
    world.said.clear()
    world.turn(seconds=1.0)
    swept, before = _swept(world), len(world.submitted)
    world.turn(_news())
    assert len(world.submitted) == before + 1
    assert swept == []
    world.turn(Committed(number=before + 1), seconds=BREATH_S / 10)
    assert [conn for conn, _ in world.replies if conn == 8] == [8]
    assert swept == []
    world.turn(seconds=ANSWER_S * 1.01)
    assert swept == [before + 1]


def test_a_disk_that_never_answers_holds_up_what_is_due_for_a_breath_only(world):
    world.register()
    world.turn(seconds=1.0)
    swept = _swept(world)
    world.turn(_news())
    world.turn(seconds=BREATH_S * 1.01)
    assert len(swept) == 1


def test_news_without_end_does_not_keep_the_loop_from_what_is_due(world):
    world.register()
    world.turn(seconds=1.0)
    swept = _swept(world)
    turns = 0
    while not swept and turns < 100:
        world.turn(_news(), seconds=BREATH_S / 10)
        turns += 1
    assert turns * BREATH_S / 10 <= BREATH_S * 1.2 < BREATH_S / BREATH_SHARE


def test_sighup_begins_a_reload_and_says_when_it_is_over_and_sigterm_ends_the_loop(world):
    def told():
        return [n for n in world.notified if n != "watchdog"]

    world.turn(Signalled(number=signal.SIGHUP))
    assert (told(), world.reloads) == (["reloading"], [None])
    world.came.append(Came(reload=True))
    world.turn(Proven())
    assert told() == ["reloading", "ready"]
    assert ("info", "configuration taken") in world.said
    assert world.loop.snapshot().health.config_ok
    assert world.loop.stopping is False
    world.turn(Signalled(number=signal.SIGTERM))
    assert world.loop.stopping is True


def test_the_loop_is_ready_again_only_after_the_last_of_several_reloads(world):
    for _ in range(2):
        world.turn(Signalled(number=signal.SIGHUP))
    world.came += [Came(reload=True, another=True), Came(reload=True)]
    world.turn(Proven())
    assert "ready" not in world.notified
    world.turn(Proven())
    assert world.notified.count("ready") == 1


def test_a_configuration_that_is_refused_is_said_and_told_to_who_asked(world):
    world.turn(Asked(conn=5, uid=0, pid=1, request=Reload(), fds=()))
    assert (world.reloads, world.replies) == ([5], [])
    world.came.append(Came(asked=(5,), reload=True, problem="page.listen[0]: is no address"))
    world.turn(Proven())
    [(conn, reply)] = world.replies
    assert (conn, reply.message) == (5, "page.listen[0]: is no address")
    assert not world.loop.snapshot().health.config_ok
    assert any(event == "configuration refused, the old one stays" for _, event in world.said)
    assert "ready" in world.notified
    world.came.append(Came(asked=(6,), reload=True))
    world.turn(Proven())
    assert world.replies[-1] == (6, Done())
    assert world.loop.snapshot().health.config_ok


FOREIGN = CheckInfo(
    name="theirs",
    stage=Stage.WATCH,
    scope=Scope.RUN,
    severity=Severity.WARNING,
    hysteresis=Hysteresis(),
    cadence_s=5.0,
    deadline_s=2.0,
    reads=("run",),
    reasons={"bad": Outcome.FAIL},
    runbook="x",
)
PROVEN = Checks(
    run=(FOREIGN,),
    gates=(Gate(check="theirs", stage="watch", state=GateState.PROVEN, proven_to=ProvenTo()),),
)


class Plugins:
    """A worker that answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def ask(self, *asked) -> None:
        self.asked.append(asked[:2])

    def expire(self) -> None:
        pass


def _verdict(world, name="theirs"):
    judged = world.core.runs["n-1"].judged[name]
    settled = judged.settling.settled
    return None if settled is None else (settled.outcome, settled.reason)


def test_a_third_partys_check_runs_in_its_worker_and_settles_when_it_answers():
    plugins = Plugins()
    world = World(PROVEN, plugins)
    world.register()
    world.turn(seconds=BREATH_S * 1.01)
    assert plugins.asked == [("theirs", "n-1")]
    assert _verdict(world) is None
    said = Verdict(outcome=Outcome.FAIL, reason="bad", summary="s")
    world.turn(WorkerVerdict(check="theirs", subject="n-1", verdict=said))
    assert _verdict(world) == (Outcome.FAIL, "bad")


def test_a_check_that_was_due_and_never_answered_is_unknown_overdue():
    plugins = Plugins()
    world = World(PROVEN, plugins)
    world.register()
    world.turn(seconds=BREATH_S * 1.01)
    for _ in range(8):
        world.turn(seconds=OVERDUE_LEAST_S / 4, wall=-100.0)
    assert _verdict(world) == (Outcome.UNKNOWN, "overdue")


def test_an_unproven_check_is_unknown_and_never_asked():
    plugins = Plugins()
    gate = Gate(check="theirs", stage="watch", state=GateState.UNPROVEN, proven_to=ProvenTo())
    world = World(Checks(run=(FOREIGN,), gates=(gate,)), plugins)
    world.register()
    world.turn(seconds=BREATH_S * 1.01)
    assert plugins.asked == []
    assert _verdict(world) == (Outcome.UNKNOWN, "unproven")


def test_whoever_asks_what_the_daemon_fails_on_is_answered(world):
    def break_down(*_):
        raise RuntimeError("planted")

    world.loop._parts.answering.events = break_down
    world.inbox.put(JobFired(job=RENDER))
    world.inbox.put(Asked(conn=5, uid=7, pid=1, request=GetEvents()))
    world.loop.turn()
    ((conn, reply),) = world.replies
    assert (conn, type(reply)) == (5, Refused)
    assert ("critical", "the loop failed on a message") in world.said


@pytest.mark.parametrize(
    ("place", "before", "after", "kind"),
    [
        ("job", 4, 5, EndKind.OOM_KILLED),
        (None, 4, 5, EndKind.OOM_KILLED),
        ("job", 4, 4, EndKind.SIGNALED),
        ("job", None, 5, EndKind.SIGNALED),
        ("job", 4, None, EndKind.SIGNALED),
    ],
    ids=["in its cgroup", "on the box", "none was counted", "unknown before", "unknown now"],
)
def test_a_kill_is_the_kernels_for_memory_if_its_count_rose(world, place, before, after, kind):
    counted = {"now": before, "elsewhere": 0}
    oom = world.core.ports.oom
    oom.place_of = lambda _pid: place
    oom.box = lambda: counted["now" if place is None else "elsewhere"]
    oom.cgroup = lambda _place: counted["now"]
    world.register()
    (member,) = world.core.members.values()
    member.held.status = lambda: (None, signal.SIGKILL)
    counted["now"] = after
    world.turn(Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono))
    assert world.core.runs["n-1"].end.kind is kind


def test_a_kill_for_memory_long_ago_explains_no_kill_today(world):
    counted = [4]
    world.core.ports.oom.box = lambda: counted[0]
    world.register()
    (member,) = world.core.members.values()
    counted[0] = 5
    for _ in range(20):
        world.turn(seconds=5.0)
    member.held.status = lambda: (None, signal.SIGKILL)
    world.turn(Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono))
    assert world.core.runs["n-1"].end.kind is EndKind.SIGNALED


def test_into_a_new_state_file_goes_all_that_is_known_events_included(world):
    event = StoredEvent(
        event_id=7,
        uid=1000,
        transition=Transition(
            check="run_gone",
            entity=Entity(EntityKind.RUN, "n-1"),
            before=None,
            verdict=Verdict(outcome=Outcome.FAIL, reason="killed_by_signal", summary="gone"),
            at_s=1.0,
        ),
    )
    world.core.remember(event)
    world.turn(StoreReset(problem="corrupt"))
    [put] = [c for c in world.submitted[-1] if isinstance(c, PutEvent)]
    assert (put.event_id, put.subject, put.uid, put.synthetic) == (7, "n-1", 1000, False)
    assert unpack(put.body, Transition) == event.transition
    assert ("critical", "state file corrupt") in world.said


def test_what_settled_about_the_box_is_written_once():
    world = World(Checks(box=(_shipped("gpu_lost"),)))
    for _ in range(8):
        world.turn(seconds=61.0)
    put = [c for changes in world.submitted for c in changes if isinstance(c, PutSettling)]
    assert [p.check for p in put] == ["gpu_lost"]


def test_the_disk_is_a_source_of_facts_that_answers_or_does_not(world):
    world.core.samplers["disk"] = SamplerView(name="disk", interval_s=16.0, last_success_s=None)
    world.turn(Committed(number=0))
    answered_s = world.core.samplers["disk"].last_success_s
    assert answered_s == world.clock.wall
    world.turn(StoreTrouble(problem="disk full"), seconds=60.0)
    shown = world.core.samplers["disk"]
    assert (shown.last_success_s, shown.errors) == (answered_s, 1)
    world.turn(StoreTrouble(problem=""), Committed(number=0), seconds=60.0)
    shown = world.core.samplers["disk"]
    assert (shown.last_success_s, shown.errors) == (world.clock.wall, 1)


def test_how_long_a_live_drill_took_to_be_seen_is_told(world):
    request = LiveLeg(results={"run_gone": True}, detection_s=2.5)
    world.turn(Asked(conn=5, uid=0, pid=1, request=request, fds=()))
    assert world.replies == [(5, Done())]
    assert world.loop.snapshot().health.selftest_detection_s == {"live": 2.5}
    world.turn(Asked(conn=6, uid=0, pid=1, request=LiveLeg(results={}), fds=()))
    assert world.loop.snapshot().health.selftest_detection_s == {"live": 2.5}


def test_runs_whose_logs_move_are_written_a_few_a_turn_and_all_before_long(world):
    for number in range(11):
        made = TrackedRun(
            run=replace(CONTROL_RUN, run_id=f"r-{number}"),
            registered_s=0.0,
            progress=progress.begin(0.0),
            steps_dirty=True,
            steps_written_s=1.0,
        )
        world.core.runs[made.run_id] = made
    world.turn(JobFired(job=SWEEP), seconds=30.0)
    for _ in range(5):
        world.turn(seconds=0.03)
    written = [[c.run_id for c in s if isinstance(c, PutSteps)] for s in world.submitted]
    assert max(map(len, written)) == 4
    assert sorted(itertools.chain(*written)) == sorted(world.core.runs)


def test_at_its_settled_end_a_run_leaves_its_baseline_before_it_is_let_go_of(world):
    world.register()
    run = world.core.runs["n-1"]
    for i in range(65):
        run.statistics.add(StepEvent(index=i, seconds=1.0, clock=StepClock.PRINTED))
    (member,) = world.core.members.values()
    member.held.status = lambda: (0, None)
    world.turn(Died(token=member.token, at_s=world.clock.wall, monotonic_s=world.clock.mono))
    for _ in range(4):
        world.turn(seconds=0.01)
    assert (run.left.baseline.n, run.final) == (64, False)
