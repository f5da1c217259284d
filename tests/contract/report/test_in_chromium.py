"""A report as people see it: a real browser, wide and narrow, light and dark, hostile, short."""

import importlib.util
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pfid.adapters.report_plots import ReportPlots
from pfid.bootstrap.specimen import specimen_snapshot
from pfid.cli.report.document import Reported, report
from pfid.cli.report.plots import SmallPlots
from pfid.domain.gpu_past import GpuPast
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.verdict import Figure
from pfid.wire.snapshots import RunDetails

pytestmark = [pytest.mark.full, pytest.mark.needs("chromium", "bash")]
HOSTILE = "<script>document.title='owned'</script>\u202e<img src=x onerror=alert(1)>$\\frac{1}{2}$"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FILLS = """[...new Set([...document.querySelectorAll('svg text')].map(
  t => getComputedStyle(t).fill))]"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
DIM_LIGHT, DIM_DARK = "rgb(93, 100, 109)", "rgb(154, 162, 171)"
SHOTS = os.environ.get("PFID_TEST_SHOTS")
PASTS = tuple(
    GpuPast(
        uuid=f"GPU-{i}",
        index=i,
        name="NVIDIA H200" if i else HOSTILE,
        utilization=tuple(1.0 if k % 9 else 0.1 for k in range(240)),
        power_w=tuple(620.0 - k % 50 if k % 9 else 120.0 for k in range(240)),
        seen=4_321,
        power_limit_w=700.0,
        reference=GpuReference(
            uuid="GPU-0", tflops=740.0, power_w=640.0, power_limit_w=700.0, at_s=1.0, driver="580"
        ),
    )
    for i in range(2)
)
MANY = tuple(10 + (i % 13) / 20 + (390 if 7_000 < i < 7_060 else 0) for i in range(20_000))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    path = Path(__file__).parents[1] / "status_page" / "browser.py"
    spec = importlib.util.spec_from_file_location("browser", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    one = module.Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


def shown(steps_s, plots, name="train-llama"):
    whole = specimen_snapshot()
    view = replace(whole.runs[0], recent_step_s=(), histogram=None)
    view = replace(view, run=replace(view.run, name=name, username=name, job_id=name))
    about = [v for v in whole.verdicts if v.entity.id == view.run.run_id]
    details = RunDetails(
        view=view,
        verdicts=tuple(replace(v, summary=name, figures={name: Figure(2.0, "s")}) for v in about),
        events=(),
        evidence={"run_gone": [name * 9]},
        stop=None,
        gpus=PASTS if len(steps_s) != 1 else (),
    )
    return Reported(
        details=details,
        at_s=whole.at_s,
        gates=whole.gates,
        gpus=whole.gpus.gpus,
        steps_s=steps_s,
        whole=bool(steps_s),
        plots=plots,
        plots_missing="" if isinstance(plots, ReportPlots) else "pip install '.[report]'",
    )


def look(browser, folder, reported, width, *, dark=False):
    file = folder / "report.html"
    file.write_text(report(reported), encoding="utf-8")
    browser.look(file.as_uri(), width, dark=dark)
    assert browser.asked_for() == {file.as_uri()}
    assert browser.complaints() == []
    assert browser.value("document.scripts.length") == 0
    assert browser.value("document.images.length") == 0
    assert browser.value(OVERFLOW) <= 0


def keep(browser, name):
    path = browser.screenshot(name)
    assert path.stat().st_size > 4_000
    if SHOTS:
        shutil.copy(path, SHOTS)


@pytest.mark.parametrize(("width", "dark"), [(360, False), (1600, True)])
def test_a_long_run_is_drawn_in_the_readers_own_scheme(browser, tmp_path, width, dark):
    look(browser, tmp_path, shown(MANY, ReportPlots()), width, dark=dark)
    assert browser.value("document.querySelectorAll('svg.plot').length") == 4
    assert (DIM_DARK if dark else DIM_LIGHT) in browser.value(FILLS)
    assert "rgb(0, 0, 0)" not in browser.value(FILLS), "black text is lost on the dark page"
    widest = "Math.max(...[...document.querySelectorAll('svg.plot')].map(s => s.clientWidth))"
    assert 500 < browser.value(widest) < 700, "its text stays legible; a narrow page scrolls it"
    keep(browser, f"report-{width}-{'dark' if dark else 'light'}.png")


@pytest.mark.parametrize("plots", [ReportPlots, SmallPlots])
def test_hostile_names_are_text(browser, tmp_path, plots):
    look(browser, tmp_path, shown(MANY[:50], plots(), name=HOSTILE), 800)
    assert "owned" not in browser.value("document.title").replace("document.title='owned'", "")
    said = browser.value("document.body.innerText")
    assert "<script>document.title='owned'" in said
    assert "\u202e" not in said
    keep(browser, f"report-hostile-{plots.__name__}.png")


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_no_step_one_and_two_are_each_a_report(browser, tmp_path, steps):
    look(browser, tmp_path, shown(MANY[:steps], ReportPlots()), 800)
    said = browser.value("document.body.innerText")
    assert ("No step after the first was timed." in said) is (steps == 0)
    keep(browser, f"report-steps-{steps}.png")


def test_without_the_library_small_plots_stand_there_and_one_line_says_so(browser, tmp_path):
    look(browser, tmp_path, shown(MANY, SmallPlots()), 1600)
    assert browser.value("document.querySelectorAll('svg').length") == 4
    said = browser.value("document.body.innerText")
    assert said.count("pip install '.[report]'") == 1
    keep(browser, "report-small.png")
