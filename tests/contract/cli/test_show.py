"""``pfid show RUN``: one run, chosen as people say it."""

import pytest

from pfid.domain.outcome import Outcome
from pfid.domain.run import OperatorStop
from pfid.domain.step import StepClock
from pfid.domain.step_summary import Baseline, BaselineSource, StepSummary


@pytest.fixture
def busy(daemon, make):
    """A daemon with three runs, one of them with everything."""
    summary = StepSummary(
        n=1_444, first_s=45.79, min_s=11.84, p50_s=19.75, p90_s=24.0, p99_s=30.52, max_s=45.0
    )
    training = make.run(
        steps_total=1_445,
        summary=summary,
        step_clock=StepClock.PRINTED,
        baseline=Baseline(median_s=19.7, source=BaselineSource.EARLIER_RUNS, n=900),
        slowdown_ratio=1.02,
    )
    daemon.snapshot = make.snapshot(
        runs=[training, make.run("train-0002", started_at_s=1.0), make.ended("other-0001")],
        verdicts=[make.verdict(), make.verdict(Outcome.FAIL, about="other-0001")],
        gates=[make.gate()],
    )
    daemon.events = [make.transition(Outcome.PASS)]
    daemon.evidence = {"run_gone": ["line \x1b[31mone"]}
    return daemon


@pytest.mark.parametrize("wanted", ["train-0001", "train"])
def test_a_run_is_found_by_id_or_name(busy, pfid_json, documented, wanted):
    code, printed = pfid_json("show", wanted)
    assert code == 0
    assert printed["run"]["run_id"] == "train-0001"
    assert printed["run"]["step_seconds"] == {
        "unit": "seconds_per_optimizer_step",
        "clock": "printed",
        "n": 1_444,
        "first_step_seconds": 45.79,
        "min": 11.84,
        "p50": 19.75,
        "p90": 24.0,
        "p99": 30.52,
        "max": 45.0,
        "rank_error": 0.0,
        "interval_steps": 1,
        "other_steps": 0,
    }
    assert printed["run"]["step_seconds"].keys() == documented("step times of a run")
    assert printed["run"]["baseline"] == {"median": 19.7, "source": "earlier_runs", "n": 900}
    assert printed["events"][0]["reason"] == "signaled"
    assert printed["evidence"] == {"run_gone": ["line \x1b[31mone"]}


@pytest.mark.parametrize(
    ("interval_steps", "said"),
    [
        (1, ("not in it 149 steps timed only several at a time",)),
        (10, ("each of these a mean over 10 steps", "not in it 149 steps timed by themselves")),
    ],
)
def test_steps_that_the_distribution_does_not_speak_of_are_said(
    daemon, make, pfid, interval_steps, said
):
    summary = StepSummary(
        n=68,
        first_s=None,
        min_s=0.36,
        p50_s=0.4,
        p90_s=0.4,
        p99_s=0.4,
        max_s=0.4,
        interval_steps=interval_steps,
        other_steps=149,
    )
    daemon.snapshot = make.snapshot(runs=[make.run(steps_total=228, summary=summary)])
    shown = " ".join(pfid("show", "train")[1].split())
    assert ("not timed 10 steps" in shown) is (interval_steps == 1)
    assert all(part in shown for part in said)


def test_a_beginning_is_enough_where_it_is_the_only_one(busy, pfid_json):
    code, printed = pfid_json("show", "oth")
    assert (code, printed["run"]["run_id"]) == (1, "other-0001")


def test_a_beginning_of_several_is_refused_with_their_names(busy, pfid):
    code, out, err = pfid("show", "train-")
    assert (code, out) == (2, "")
    assert "train-0001, train-0002" in err


@pytest.mark.parametrize("somebody", [True, False])
def test_json_of_a_run_that_is_not_there_is_one_object_all_the_same(
    make, pfid_json, documented, request, somebody
):
    if somebody:
        request.getfixturevalue("daemon").snapshot = make.snapshot(runs=[make.run()])
    code, printed = pfid_json("show", "nothing-like-it")
    assert (code, printed["run"]) == (2 if somebody else 3, None)
    assert printed.keys() - {"schema"} == documented("`pfid show`")
    code, printed = pfid_json("events", "--run", "nothing-like-it")
    assert (code, printed["events"]) == (2 if somebody else 3, [])
    assert printed.keys() - {"schema"} == documented("`pfid events`")


def test_who_stopped_a_run_is_still_told_by_what_its_engine_left(left_behind, make, pfid_json):
    stop = OperatorStop(uid=0, username="anna", why="enough", at_s=1.0)
    left_behind(make.ended("train-0009"), stop=stop)
    told = pfid_json("show", "train-0009")[1]["stop"]
    assert (told["user"], told["why"]) == ("anna", "enough")


def test_an_unknown_run_is_refused(busy, pfid):
    code, out, err = pfid("show", "nothing-like-it")
    assert (code, out) == (2, "")
    assert "no run 'nothing-like-it'" in err


def test_people_see_the_figures_and_safe_evidence(busy, pfid):
    code, out, _ = pfid("show", "train-0001")
    assert code == 0
    assert "p50=19.75" in out
    assert "45.79 s, not counted above" in out
    assert "earlier runs (n=900)" in out
    assert r"line \x1b[31mone" in out


def test_with_nobody_to_ask_it_exits_3(no_daemon, pfid):
    assert pfid("show", "train")[0] == 3


def test_an_ended_engine_tells_from_its_file(left_behind, make, pfid_json):
    said = make.transition(about="train-0009", evidence=("Killed",))
    left_behind(make.ended("train-0009", exit_code=7), said)
    code, printed = pfid_json("show", "train-0009")
    assert code == 1
    assert printed["run"]["end"]["exit_code"] == 7
    assert printed["evidence"] == {"run_gone": ["Killed"]}
    assert [e["id"] for e in printed["events"]] == [1]
