"""A report about a real run: one file, whole, the owner's alone, and nothing of it elsewhere."""

import re
import stat
import sys

STEPS = 120
RUN = f"""
import json, time
print("older words & <b>")
for step in range(1, {STEPS} + 1):
    time.sleep(0.01)
    seconds = 0.5 if step == 77 else 0.01
    print(json.dumps({{"step": step, "loss": float("nan"), "seconds": seconds}}), flush=True)
raise SystemExit(3)
"""


def test_a_report_holds_the_run_and_stands_alone(place):
    log = place.folder / "train.log"
    launcher = place.start(
        "run", "--name", "tick<et>", "--log", str(log), "--", sys.executable, "-c", RUN
    )
    assert launcher.wait(60) == 3, place.said()
    (run_id,) = place.run_ids()
    place.until("its end is judged", lambda: place.verdict(run_id, "run_gone"), 30)
    out = place.folder / "report.html"
    done = place.pfid("report", run_id, "--html", str(out))
    assert done.returncode == 0, done.stderr
    page = out.read_text()

    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "<script" not in page
    assert not re.search(r'src="|href="(?!#)|url\((?!#)|http-equiv', page)
    assert "tick&lt;et&gt;" in page
    for said in (run_id, "exited, code 3", "exited_nonzero", "What proves these checks", "proven"):
        assert said in page, said
    assert f"{STEPS - 1} values in s" in page, "every step but the first, out of the log"
    assert page.count('class="plot"') == 2, "distribution and timeline, by the library"

    bare = place.pfid("report", run_id, "--no-evidence").stdout
    assert bare.startswith("<!doctype html>")
    assert bare.count('class="plot"') == 2
    assert "in the run's own log" not in bare


def test_without_the_plotting_library_small_plots_stand_in_and_that_is_said(place):
    place.start("run", "--name", "tick", "--", sys.executable, "-c", RUN).wait(60)
    (run_id,) = place.run_ids()
    place.until("its end is judged", lambda: place.verdict(run_id, "run_gone"), 30)
    away = place.folder / "away"
    away.mkdir()
    (away / "matplotlib.py").write_text("raise ImportError('not here')")
    place.environ["PYTHONPATH"] = str(away)
    done = place.pfid("report", run_id)
    assert done.returncode == 0, done.stderr
    assert "pip install '.[report]'" in done.stderr
    assert done.stdout.count("pip install &#x27;.[report]&#x27;") == 1
    assert done.stdout.count("<svg") == 2
    assert f"{STEPS - 1} values in s" in done.stdout


def test_a_run_nobody_knows_is_refused(place):
    place.start("run", "--name", "one", "--", "true").wait(30)
    (run_id,) = place.run_ids()
    place.until("its engine answers", lambda: place.verdict(run_id, "run_gone"), 30)
    done = place.pfid("report", "nobody")
    assert done.returncode == 2
    assert done.stdout == ""
