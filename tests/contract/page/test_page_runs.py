"""Runs on the page: bounded in number, labelled by slug, gone 15 minutes after their end."""

from dataclasses import replace

import pytest

from pfid.adapters.page import Page, render
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.domain.run import RunState
from pfid.domain.snapshot import Resources, SamplerView, StepHistogram


def shown(found):
    return {dict(labels)["run"] for labels in found["pfid_run_info"]}


def test_every_state_is_always_there_and_one_is_one(box, families):
    found = families(render(box.snapshot(runs=[box.run(state=RunState.STALLED)])))
    states = {dict(labels)["state"]: v for labels, v in found["pfid_run_state"].items()}
    assert states == {s.value: float(s is RunState.STALLED) for s in RunState}


def test_a_pid_stands_in_the_info_and_nowhere_else(box):
    text = render(box.whole()).decode()
    assert [line.split("{")[0] for line in text.splitlines() if "4242" in line] == [
        "pfid_run_info",
        "pfid_run_info",
    ]


@pytest.mark.parametrize(("ended_ago_s", "there"), [(899.0, True), (900.0, True), (901.0, False)])
def test_an_ended_run_leaves_after_fifteen_minutes(box, families, ended_ago_s, there):
    snapshot = box.snapshot(
        runs=[box.run(ended_ago_s=ended_ago_s)], verdicts=[box.verdict()], gates=[box.gate()]
    )
    found = families(render(snapshot))
    assert ("pfid_run_info" in found) is there
    assert ("pfid_check_failing" in found) is there


def test_a_run_that_left_still_counts(box, families, label):
    found = families(render(box.snapshot(runs=[box.run(ended_ago_s=5_000)])))
    assert found["pfid_runs"][label(state="exited")] == 1.0


def test_a_living_run_never_leaves_by_age(box, families):
    found = families(render(box.snapshot(runs=[box.run(started_at_s=1.0)])))
    assert shown(found) == {"train-0001"}


def test_over_the_cap_the_longest_finished_leave_first(box, families):
    page = Page(exported_runs_max=3)
    views = [
        box.run("old-end", ended_ago_s=800),
        box.run("new-end", ended_ago_s=10),
        box.run("alive-1"),
        box.run("alive-2"),
    ]
    assert shown(families(page.render(box.snapshot(runs=views)))) == {
        "new-end",
        "alive-1",
        "alive-2",
    }


def test_a_death_on_a_full_box_is_on_the_page(box, families, label):
    views = [box.run(f"r-{i:02d}", started_at_s=box.now_s - 100 + i) for i in range(66)]
    for dead in (0, 40, 65):
        views[dead] = box.run(f"r-{dead:02d}", ended_ago_s=2, state=RunState.KILLED)
    verdicts = [
        box.verdict(about=f"r-{dead:02d}", outcome=Outcome.FAIL, reason="signaled")
        for dead in (0, 40, 65)
    ]
    found = families(render(box.snapshot(runs=views, verdicts=verdicts, gates=[box.gate()])))
    for dead in ("r-00", "r-40", "r-65"):
        assert found["pfid_check_failing"][label(check="run_gone", run=dead)] == 1.0
    assert len(shown(found)) == 64


def test_a_living_run_that_fails_has_its_place_on_a_full_box(box, families):
    page = Page(exported_runs_max=2)
    views = [box.run(f"r-{i}", started_at_s=box.now_s - 100 + i) for i in range(4)]
    failing = box.verdict("no_progress", about="r-3", outcome=Outcome.FAIL)
    snapshot = box.snapshot(runs=views, verdicts=[failing], gates=[box.gate("no_progress")])
    assert shown(families(page.render(snapshot))) == {"r-0", "r-3"}


def test_when_more_fail_than_the_page_takes_the_latest_stand_there(box, families):
    page = Page(exported_runs_max=2)
    verdicts = [
        replace(box.verdict(about=f"r-{i}", outcome=Outcome.FAIL), since_s=box.now_s - 50 + i)
        for i in range(4)
    ]
    views = [box.run(f"r-{i}", ended_ago_s=50 - i) for i in range(4)]
    snapshot = box.snapshot(runs=[box.run("alive"), *views], verdicts=verdicts, gates=[box.gate()])
    assert shown(families(page.render(snapshot))) == {"r-2", "r-3"}


@pytest.mark.parametrize(
    "verdict",
    [
        {"check": "unproven", "about": "r-3"},
        {"about": "r-3", "synthetic": True},
        {"about": "r-3", "stage": "preflight"},
    ],
)
def test_what_the_page_does_not_show_as_failing_takes_no_place(box, families, verdict):
    page = Page(exported_runs_max=2)
    views = [box.run(f"r-{i}", started_at_s=box.now_s - 100 + i) for i in range(4)]
    said = box.verdict(**verdict, outcome=Outcome.FAIL)
    gates = [box.gate(), box.gate("unproven", GateState.UNPROVEN)]
    snapshot = box.snapshot(runs=views, verdicts=[said], gates=gates)
    assert shown(families(page.render(snapshot))) == {"r-0", "r-1"}


def test_over_the_cap_those_that_stand_there_stay(box, families):
    page = Page(exported_runs_max=2)
    views = [box.run(f"r-{i}", started_at_s=box.now_s - 100 + i) for i in range(4)]
    assert shown(families(page.render(box.snapshot(runs=views)))) == {"r-0", "r-1"}


def test_what_is_left_out_is_counted_once_by_family(box, families, label):
    page = Page(exported_runs_max=1)
    snapshot = box.snapshot(runs=[box.run("r-0"), box.run("r-1"), box.run("r-2")])
    page.render(snapshot)
    dropped = families(page.render(snapshot))["pfid_dropped_series_total"]
    assert dropped[label(family="pfid_run_info")] == 2.0
    assert dropped[label(family="pfid_run_state")] == 16.0
    assert dropped[label(family="pfid_step_duration_seconds")] == 0.0


def test_the_counter_is_there_before_anything_is_dropped(box, families, label):
    found = families(render(box.snapshot(runs=[box.run()])))
    assert found["pfid_dropped_series_total"][label(family="pfid_run_info")] == 0.0


def test_all_runs_are_counted_by_state_whatever_the_cap(box, families, label):
    views = [box.run(f"r-{i}") for i in range(100)]
    found = families(render(box.snapshot(runs=views)))
    assert found["pfid_runs"][label(state="running")] == 100.0
    assert len(shown(found)) == 64


def test_a_value_that_could_not_be_read_is_absent_not_zero(box, families):
    found = families(render(box.snapshot(runs=[box.run(resources=Resources(processes=1))])))
    assert "pfid_run_processes" in found
    assert not {"pfid_run_read_bytes_total", "pfid_run_resident_memory_bytes"} & set(found)


@pytest.mark.parametrize(("age_s", "there"), [(3.0, True), (3.1, False)])
def test_figures_older_than_three_intervals_are_not_shown(box, families, age_s, there):
    proc = SamplerView(name="proc", interval_s=1.0, last_success_s=box.now_s - age_s)
    snapshot = box.snapshot(runs=[box.run(resources=Resources(processes=1))], samplers=[proc])
    assert ("pfid_run_processes" in families(render(snapshot))) is there


def test_the_histogram_is_cumulative_and_complete(box, families, label):
    histogram = StepHistogram(counts=(1, 2) + (0,) * 15 + (3,), sum_s=9.0)
    found = families(render(box.snapshot(runs=[box.run(histogram=histogram)])))
    buckets = found["pfid_step_duration_seconds_bucket"]
    assert len(buckets) == 18
    assert buckets[label(run="train-0001", le="0.01")] == 1.0
    assert buckets[label(run="train-0001", le="0.02")] == 3.0
    assert buckets[label(run="train-0001", le="655.36")] == 3.0
    assert buckets[label(run="train-0001", le="+Inf")] == 6.0
    assert found["pfid_step_duration_seconds_count"][label(run="train-0001")] == 6.0


def test_a_group_that_cannot_be_made_loses_itself_and_not_the_page(box, families, label):
    broken = box.run(histogram=StepHistogram(counts=(1,), sum_s=1.0))
    found = families(render(box.snapshot(runs=[broken])))
    assert "pfid_run_info" in found
    assert "pfid_run_steps_total" not in found
    assert found["pfid_page_errors_total"][label(group="steps")] == 1.0
    assert found["pfid_page_errors_total"][label(group="runs")] == 0.0


def test_what_a_selftest_made_is_not_on_the_real_page(box, families):
    real, made = box.run("real"), replace(box.run("made"), synthetic=True)
    verdicts = [box.verdict(about="made", synthetic=True), box.verdict(about="real")]
    snapshot = box.snapshot(runs=[real, made], verdicts=verdicts)
    found = families(render(snapshot))
    assert shown(found) == {"real"}
    assert {dict(labels)["run"] for labels in found["pfid_check_failing"]} == {"real"}


def test_a_selftest_may_ask_for_its_own_page(box, families):
    real, made = box.run("real"), replace(box.run("made"), synthetic=True)
    found = families(render(box.snapshot(runs=[real, made]), synthetic=True))
    assert shown(found) == {"made"}


def test_a_run_that_left_leaves_no_series(box, families):
    page = Page()
    assert b"train-0001" in page.render(box.snapshot(runs=[box.run()]))
    assert b"train-0001" not in page.render(box.snapshot())
