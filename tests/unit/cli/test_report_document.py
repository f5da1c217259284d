"""The report shows what is known, says what is not, and is text where it was text."""

from dataclasses import replace

from pfid.bootstrap.specimen import specimen_snapshot
from pfid.cli.report.document import Reported, report
from pfid.cli.report.gpus import NEVER_SEEN, ON_NONE
from pfid.cli.report.plots import BARS, SmallPlots
from pfid.cli.report.step_times import Text, step_times
from pfid.domain.gpu_past import GpuPast
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.verdict import Figure
from pfid.wire.snapshots import RunDetails

HOSTILE = "<script>x</script>\u202e"
PAST = GpuPast(
    uuid="GPU-0",
    index=4,
    name="H200 <b>",
    utilization=(1.0, 0.5, 0.0),
    power_w=(600.0, 300.0, 70.0),
    seen=900,
    power_limit_w=700.0,
    reference=GpuReference(
        uuid="GPU-0", tflops=740.0, power_w=640.0, power_limit_w=700.0, at_s=1.0, driver="580"
    ),
)


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
        gpus=changed.pop("pasts", ()),
    )
    filled = {"steps_s": view.recent_step_s, "whole": False, "gpus": whole.gpus.gpus}
    filled["plots"] = SmallPlots()
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
    assert ON_NONE in report(shown(gpus=others))
    assert NEVER_SEEN in report(shown(1))


def test_an_ended_run_shows_what_its_gpus_did_while_it_was_on_them():
    page = report(shown(1, pasts=(PAST,), gpus=None))
    for said in (
        "GPU 4: H200 &lt;b&gt;",
        "3 of 900 samples",
        "3 points, utilisation against W",
        "700 W",
        "740 TFLOP/s at 640 W",
    ):
        assert said in page, said
    assert page.count("<circle") == 3
    assert NEVER_SEEN not in page


def test_a_living_run_shows_its_whole_past_on_a_gpu_and_what_that_is_busy_with_now():
    uuid = specimen_snapshot().gpus.gpus[0].facts.uuid
    page = report(shown(pasts=(replace(PAST, uuid=uuid),)))
    assert page.count(f">{uuid}<") == 1, "one GPU, told once"
    assert "busy with" in page
    assert "3 of 900 samples" in page


def test_gpus_stand_in_the_order_of_the_box():
    pasts = tuple(
        replace(PAST, uuid=f"GPU-{u}", index=i) for u, i in (("c", 2), ("a", 9), ("b", 0))
    )
    page = report(shown(1, pasts=pasts, gpus=None))
    places = [page.index(f"GPU {i}: ") for i in (0, 2, 9)]
    assert places == sorted(places)


def test_no_step_is_said_one_step_is_a_plot_and_every_step_has_its_distribution():
    none = report(shown(1))
    assert "No step after the first was timed." in none
    assert "<svg" not in none
    one = report(shown(1, steps_s=(0.5,), whole=True))
    assert "1 values by s" in one
    assert "1 values in s" in one
    many = report(shown(1, steps_s=(0.01, 0.02, 9_000.0), whole=True))
    assert "up to 9000 s: 1" in many


def test_what_larger_plots_would_take_is_said_in_one_line_and_only_then():
    page = report(shown(plots_missing="pip install '.[report]'"))
    assert "for larger ones with axes: pip install &#x27;.[report]&#x27;." in page
    assert "larger" not in report(shown())


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


def test_the_first_step_is_in_no_distribution_whoever_tells_it(tmp_path):
    log = tmp_path / "train.log"
    seconds = (9_000.0, *(100.0 + i for i in range(40)))
    log.write_text("".join(f"iter {i}: loss 2.5, time {s:.2f}ms\n" for i, s in enumerate(seconds)))
    timed, problems = step_times([Text(path=log)])
    assert (len(timed), max(timed), problems) == (40, 0.139, ())


def test_small_distributions_have_bars_between_the_fastest_and_the_slowest_step():
    drawn = str(SmallPlots().distribution([0.021 + 0.0001 * i for i in range(30)], None))
    assert drawn.count("<rect") == BARS
    assert str(SmallPlots().distribution([0.5] * 9, None)).count("<rect") == 1
    assert str(SmallPlots().distribution([0.0, 0.5], None)).count("<title>up to") >= 2
