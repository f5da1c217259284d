"""The report shows what is known, says what is not, and is text where it was text."""

from dataclasses import replace

from pfid.bootstrap.specimen import specimen_snapshot
from pfid.cli.report.document import ENDED_GPUS, Reported, report
from pfid.domain.verdict import Figure
from pfid.wire.snapshots import RunDetails

HOSTILE = "<script>x</script>\u202e"


def shown(index=0, **changed):
    whole = specimen_snapshot()
    view = whole.runs[index]
    about = [v for v in whole.verdicts if v.entity.id == view.run.run_id]
    details = RunDetails(
        view=view,
        verdicts=tuple(replace(v, figures={"age": Figure(2.0, "s")}) for v in about),
        events=(),
        evidence=changed.pop("evidence", None),
        stop=None,
    )
    filled = {"steps_s": view.recent_step_s, "whole": False, "gpus": whole.gpus.gpus}
    return Reported(details=details, at_s=whole.at_s, gates=whole.gates, **{**filled, **changed})


def test_a_living_run_has_its_job_its_steps_and_its_gpu():
    page = report(shown())
    for said in ("812, rank 0 of 2", "10 s from earlier runs", "the last 16 steps", "GPU 0"):
        assert said in page
    assert "age 2 s" in page


def test_the_side_of_its_gpu_says_power_of_which_limit_and_how_it_was_had():
    page = report(shown())
    for said in ("busy with", " W of ", "utilisation"):
        assert said in page, said


def test_where_nobody_samples_nothing_is_said_of_gpus_and_without_one_that_is_said():
    assert "GPU" not in report(shown(gpus=None)).partition("What proves")[0]
    others = tuple(replace(g, holders=()) for g in specimen_snapshot().gpus.gpus)
    assert "The run is on none." in report(shown(gpus=others))
    assert ENDED_GPUS in report(shown(1))


def test_an_ended_run_says_how_and_what_is_not_known_is_absent():
    page = report(shown(1))
    assert "signaled, signal 9" in page
    assert "<svg" not in page
    assert "GPU 0" not in page


def test_lines_of_a_log_are_text_and_only_there_when_asked_for():
    page = report(shown(evidence={"run_gone": [HOSTILE]}))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert "own log" not in report(shown())
