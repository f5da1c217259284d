"""Several snapshots as one: each run once, synthetic ones never, the worst first."""

from dataclasses import replace

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import ProcessIdentity
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, Run, RunEnd, RunSource, RunState
from pfid.domain.snapshot import DaemonHealth, RunView, Snapshot, VerdictView
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.policy.box_report import report


def view(run_id, started_at_s=0.0, ended_at_s=None, **given):
    run = Run(
        run_id=run_id,
        name="n",
        identity=ProcessIdentity(machine_id="m", boot_id="b", pid=1, start_ticks=1),
        uid=0,
        username="u",
        source=RunSource.WRAPPER,
        started_at_s=started_at_s,
    )
    if ended_at_s is None:
        return RunView(run=run, state=RunState.RUNNING, **given)
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=ended_at_s)
    return RunView(run=run, state=RunState.EXITED, end=end, **given)


def verdict(about, outcome=Outcome.PASS, check="a", **given):
    entity = Entity(EntityKind.RUN, about) if isinstance(about, str) else about
    return VerdictView(
        check=check,
        stage="watch",
        entity=entity,
        outcome=outcome,
        reason="r",
        summary="s",
        since_s=0.0,
        last_run_s=0.0,
        **given,
    )


def snapshot(runs=(), verdicts=(), gates=()):
    health = DaemonHealth(started_at_s=0.0, ready=True, last_iteration_s=0.0)
    return Snapshot(
        at_s=100.0,
        health=health,
        runs=tuple(runs),
        verdicts=tuple(verdicts),
        gates=tuple(gates),
    )


def ids(seen):
    return [v.run.run_id for v in seen.runs]


def test_the_living_come_first_and_the_newest_of_each():
    runs = [view("a", 1.0), view("b", 2.0), view("c", 3.0, ended_at_s=9.0)]
    assert ids(report([snapshot(runs)], ended_after_s=0.0)) == ["b", "a", "c"]


def test_who_is_asked_first_is_believed_about_a_run_both_know():
    first = snapshot([view("a")], [verdict("a")])
    second = snapshot([view("a"), view("b")], [verdict("a", Outcome.FAIL), verdict("b")])
    seen = report([first, second], ended_after_s=0.0)
    assert ids(seen) == ["b", "a"] or ids(seen) == ["a", "b"]
    assert [v.outcome for v in seen.verdicts] == [Outcome.PASS, Outcome.PASS]


def test_history_is_left_out_with_what_was_said_of_it():
    runs = [view("old", ended_at_s=10.0), view("new", ended_at_s=90.0)]
    verdicts = [verdict("old", Outcome.FAIL), verdict("new")]
    seen = report([snapshot(runs, verdicts)], ended_after_s=50.0)
    assert ids(seen) == ["new"]
    assert [v.entity.id for v in seen.verdicts] == ["new"]


def test_what_a_selftest_made_is_left_out():
    runs = [view("a", synthetic=True)]
    verdicts = [verdict("a"), verdict(BOX, synthetic=True)]
    seen = report([snapshot(runs, verdicts)], ended_after_s=0.0)
    assert (seen.runs, seen.verdicts) == ((), ())


def test_the_worst_comes_first():
    verdicts = [
        verdict("a", Outcome.PASS, "p"),
        verdict("a", Outcome.UNKNOWN, "u"),
        verdict("a", Outcome.FAIL, "f"),
    ]
    seen = report([snapshot([view("a")], verdicts)], ended_after_s=0.0)
    assert [v.check for v in seen.verdicts] == ["f", "u", "p"]


def test_of_what_several_engines_say_about_the_box_the_worst_stays():
    sayings = [verdict(BOX), verdict(BOX, Outcome.FAIL), verdict(BOX, Outcome.UNKNOWN)]
    seen = report([snapshot(verdicts=[v]) for v in sayings], ended_after_s=0.0)
    assert [v.outcome for v in seen.verdicts] == [Outcome.FAIL]


def test_an_unproven_check_is_unknown_here_too():
    gate = Gate(check="a", stage="watch", state=GateState.UNPROVEN, proven_to=ProvenTo())
    seen = report([snapshot([view("a")], [verdict("a")], [gate])], ended_after_s=0.0)
    assert [v.outcome for v in seen.verdicts] == [Outcome.UNKNOWN]


def test_a_run_that_is_said_to_have_ended_without_an_end_counts_from_its_start():
    lost = replace(view("a", started_at_s=10.0), state=RunState.LOST)
    assert ids(report([snapshot([lost])], ended_after_s=50.0)) == []
    assert ids(report([snapshot([lost])], ended_after_s=5.0)) == ["a"]
