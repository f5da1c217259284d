"""A real ``transformers`` Trainer is read from its own bar and log lines."""

import ast
import re

import pytest

pytestmark = [pytest.mark.full, pytest.mark.torch]

STEPS = 40
REPORT = re.compile(r"\{'train_runtime'[^}]*\}")


def test_steps_of_a_real_trainer_are_counted_and_timed(place, training):
    log = place.folder / "tiny.log"
    command = training("tiny_trainer", "--steps", str(STEPS), "--out", str(place.folder / "out"))
    launcher = place.start("run", "--name", "tiny", "--log", str(log), "--", *command)
    assert launcher.wait(240) == 0, place.said()
    report = ast.literal_eval(REPORT.findall(log.read_text())[-1])
    mean_s = float(report["train_runtime"]) / STEPS

    segments = place.json("steps", str(log))["segments"]
    (segment,) = (s for s in segments if s["last_step"] == STEPS)
    assert segment["unit"] == "seconds_per_optimizer_step"
    assert segment["steps"] > 0.7 * STEPS, "most steps are timed"
    assert segment["seconds"] / segment["steps"] == pytest.approx(mean_s, rel=0.3)
    assert mean_s / 2 < segment["p50"] < mean_s * 2

    (run_id,) = place.run_ids()
    view = place.until("the ended run", lambda: place.json("show", run_id).get("run"), 30)
    assert (view["steps"], view["last_step"]) == (STEPS, STEPS)
    assert mean_s / 2 < view["step_seconds"]["p50"] < mean_s * 2
    gone = place.verdict(run_id, "run_gone")
    assert (gone["outcome"], gone["reason"]) == ("pass", "ended_normally")
