"""When a run leaves something, to whom, and when another asks for it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pfid.daemon.baselines import AGAIN_AT_S, Baselines, left_behind
from pfid.daemon.core import EARLIER
from pfid.daemon.due_times import DueTimes
from pfid.daemon.messages import EarlierFound
from pfid.daemon.tracked import TrackedRun
from pfid.domain.outcome import Outcome
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.policy import progress
from pfid.policy.baseline import EarlierRun
from pfid.spec.fakes import CONTROL_RUN


def tracked(run_id, *, steps=0, **more):
    identity = replace(CONTROL_RUN, run_id=run_id, fingerprint="work")
    run = TrackedRun(run=identity, registered_s=100.0, progress=progress.begin(100.0), **more)
    for i in range(steps + 1 if steps else 0):
        run.statistics.add(StepEvent(index=i, seconds=1.0, clock=StepClock.PRINTED))
    return run


def ran(run_id, median_s=20.0):
    baseline = Baseline(median_s=median_s, source=BaselineSource.OWN_EARLY_STEPS, n=64)
    return EarlierRun(baseline=baseline, ended_at_s=1.0, passed=True, run_id=run_id)


class Daemon:
    """The part under test, between a store and checks that only note what they are told."""

    def __init__(self):
        self.runs, self.asked, self.kept, self.poked, self.touched = [], [], [], [], []
        self.asked_synthetic = []
        self.now_s = 100.0
        self.due = DueTimes()
        store = SimpleNamespace(
            find_earlier=self.find_earlier,
            remember=lambda _name, _work, left: self.kept.append(left),
        )
        core = SimpleNamespace(
            ports=SimpleNamespace(store=store),
            due=self.due,
            embedded=True,
            monotonic_s=lambda: self.now_s,
            post=self.take,
            touch=self.touched.append,
            living=lambda: (r for r in self.runs if r.end is None),
        )
        self.core = core
        judging = SimpleNamespace(poke=lambda run, _: self.poked.append(run.run_id))
        self.baselines = Baselines(core, judging)

    def find_earlier(self, deliver, *, synthetic, **_):
        self.asked.append(deliver)
        self.asked_synthetic.append(synthetic)

    def add(self, run):
        self.runs.append(run)
        self.core.runs = {r.run_id: r for r in self.runs}
        return run

    def take(self, message):
        self.baselines.found(message)

    def asks_until(self, age_s):
        """Ask whenever it is due; returns at which ages that was."""
        ages = []
        while (due := self.due.next_s()) is not None and due <= 100.0 + age_s:
            self.now_s = due
            (kind, run_id), _ = self.due.pop(due)
            assert kind == EARLIER
            ages.append(due - 100.0)
            self.baselines.ask(self.core.runs[run_id])
        return ages


@pytest.fixture
def daemon():
    return Daemon()


def test_a_run_that_finds_nothing_asks_again_and_one_that_finds_something_does_not(daemon):
    run = daemon.add(tracked("a"))
    daemon.due.set((EARLIER, "a"), 100.0)
    assert daemon.asks_until(10.0) == [0.0, *AGAIN_AT_S[:2]]
    daemon.asked[-1]((ran("before"),))
    assert run.earlier == (ran("before"),)
    assert daemon.poked == ["a"]
    assert daemon.asks_until(1_000.0) == [AGAIN_AT_S[2]]
    daemon.asked[-1]((ran("before"),))
    assert daemon.poked == ["a"], "nothing new"


def test_what_was_handed_over_stays_beside_what_the_store_has_and_of_each_run_the_last(daemon):
    handed = (ran("by engine", 1.0), ran("both", 2.0))
    run = daemon.add(tracked("a", earlier=handed, handed=handed))
    daemon.take(EarlierFound(run_id="a", earlier=(ran("both", 3.0), ran("a", 400.0))))
    assert set(run.earlier) == {ran("by engine", 1.0), ran("both", 3.0)}, "and not itself"


def test_at_a_settled_end_whoever_lives_and_does_the_same_work_is_told_at_once(daemon):
    over = daemon.add(tracked("over", steps=64, end=object(), regime_while_alive=Outcome.PASS))
    same, other = daemon.add(tracked("same")), tracked("other")
    other.run = replace(other.run, fingerprint="other work")
    daemon.add(other)
    canary = daemon.add(tracked("canary", synthetic=True))
    daemon.baselines.left(over)
    assert [(left.run_id, left.passed) for left in daemon.kept] == [("over", True)]
    assert same.earlier == tuple(daemon.kept)
    assert (other.earlier, canary.earlier, daemon.touched) == ((), (), [over])
    daemon.baselines.left(over)
    assert len(daemon.kept) == 1, "nothing new"


def test_a_self_tests_run_is_held_against_its_like_alone(daemon):
    canary = daemon.add(tracked("canary", steps=64, end=object(), synthetic=True))
    real, like = daemon.add(tracked("real")), daemon.add(tracked("like", synthetic=True))
    daemon.baselines.left(canary)
    assert (real.earlier, [left.run_id for left in like.earlier]) == ((), ["canary"])
    daemon.baselines.ask(like)
    daemon.baselines.ask(real)
    assert daemon.asked_synthetic == [True, False]


def test_a_runs_own_engine_says_it_again_whenever_the_steps_have_doubled(daemon):
    run = daemon.add(tracked("a"))
    told = []
    for i in range(1_000):
        run.statistics.add(StepEvent(index=i, seconds=1.0, clock=StepClock.PRINTED))
        daemon.baselines.keep()
    told = [left.baseline.n for left in daemon.kept]
    assert told == [32, 64, 128, 256, 512]
    daemon.baselines.keep(at_last=True)
    assert daemon.kept[-1].baseline.n == 999
    daemon.core.embedded = False
    run.statistics.add(StepEvent(index=1_000, seconds=1.0, clock=StepClock.PRINTED))
    daemon.baselines.keep(at_last=True)
    assert daemon.kept[-1].baseline.n == 999, "the box's daemon has it on disk"


def test_a_run_over_before_its_log_was_read_passes_on_what_is_said_once_it_was():
    said = SimpleNamespace(settling=SimpleNamespace(settled=SimpleNamespace(outcome=Outcome.PASS)))
    judged = {"step_time_regime": said}
    run = tracked("a", steps=64, judged=judged, regime_while_alive=Outcome.UNKNOWN)
    assert left_behind(run).passed
    slow = tracked("b", steps=64, judged=judged, regime_while_alive=Outcome.FAIL)
    assert not left_behind(slow).passed


def test_what_a_run_left_stays_when_its_steps_are_forgotten():
    for run in (tracked("a", left=ran("a"), final=True), tracked("a", left=ran("a"))):
        assert left_behind(run) == ran("a")
