"""The script for a day with a GPU says what holds and what does not: here on the stand-in.

Its trainer makes the card busy by writing the scenario; of GPUs nothing is learnt.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nvml_shim import H200_IDLE, uuid

SCRIPT = Path(__file__).parents[1] / "bench" / "on_gpu.py"
GIB = 1024**3
pytestmark = pytest.mark.timeout(700)
TRAINER = """#!{python}
import argparse, json, os, pathlib, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("script")
parser.add_argument("--seconds", type=float)
parser.add_argument("--size", type=int)
parser.add_argument("--work", default="gemm")
chosen = parser.parse_args()
assert os.environ["CUDA_VISIBLE_DEVICES"] == "{uuid}"
scenario = pathlib.Path("{scenario}")
idle = scenario.read_text()
def play(text):
    new = scenario.with_name("scenario.trainer")
    new.write_text(text)
    new.replace(scenario)
def end(*_):
    play(idle)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
scene = idle
for key, value in {busy}[chosen.work].items():
    line = next(x for x in idle.splitlines() if x.startswith("gpu 0 " + key + " "))
    scene = scene.replace(line, f"gpu 0 {{key}} {{value}}")
play(scene + f"gpu 0 process {{os.getpid()}} {{8 * 2**30}}\\n")
say = lambda **facts: print(json.dumps(facts), flush=True)
say(event="ready", uuid="{uuid}", size=chosen.size)
time.sleep(1.5)
until = time.monotonic() + chosen.seconds
while time.monotonic() < until:
    time.sleep(0.5)
    say(event="block", count=300, seconds=0.5)
play(idle)
say(event="done")
"""
GEMM = {"utilization": 100, "power": 640_000, "throttle": 0, "sm": 97.0, "tensor": 81.0}
SPIN = {"utilization": 100, "power": 520_000, "throttle": 0, "sm": 98.0, "tensor": 0.0}


@pytest.fixture
def day(nvml, tmp_path):
    """Run the script on a card of the stand-in."""

    def run(card=H200_IDLE, *, parts):
        nvml.play(card)
        trainer = tmp_path / "python"
        scenario = nvml.folder / "scenario"
        busy = {"gemm": GEMM, "spin": SPIN}
        trainer.write_text(
            TRAINER.format(python=sys.executable, uuid=uuid(0), scenario=scenario, busy=busy)
        )
        trainer.chmod(0o755)
        environ = {**os.environ, **nvml.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
        environ["PFID_SOCKET"] = str(tmp_path / "nobody.sock")
        done = subprocess.run(
            [sys.executable, SCRIPT, "--python", trainer, "--load", "5", "--parts", parts],
            capture_output=True,
            text=True,
            check=False,
            env=environ,
            timeout=600,
        )
        assert done.stdout, done.stderr
        told = json.loads(done.stdout)
        return done.returncode, {b["belief"]: b for b in told["beliefs"]}, told

    return run


@pytest.mark.full
def test_every_belief_is_tried_and_holds_on_a_card_that_does_as_believed(day, nvml):
    code, beliefs, told = day(parts="box,calls,idle,loads,watched")
    assert told["left_out"] == {}
    assert {name for name, b in beliefs.items() if not b["holds"]} == set(), told["beliefs"]
    assert code == 0
    assert len(beliefs) >= 16
    driver = SCRIPT.with_name("gpu_day_driver.py").read_text()
    listed = re.search(r"FUNCTIONS: Final = \((.*?)\n\)", driver, re.DOTALL)[1]
    called = {name for _, name, _ in nvml.calls()}
    assert called <= set(re.findall(r"nvml\w+", listed)), "the script knows all that is called"
    assert told["figures"]["gemm"]["power_w"] == pytest.approx(640, rel=0.03)


@pytest.mark.full
def test_what_does_not_hold_is_named(day):
    contrary = {**H200_IDLE, "energy": 5_000_000, "events": 0, "utilization": 3}
    code, beliefs, told = day(contrary, parts="calls,idle")
    assert code == 1
    assert {name for name, b in beliefs.items() if b["holds"] is False} >= {
        "the energy counter moves several times a second",
        "an idle card is idle",
        "errors of the card are told",
    }, told


@pytest.mark.full
def test_without_a_gpu_nothing_is_tried_and_that_is_said(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        timeout=600,
    )
    assert done.returncode == 3
    assert "idle" in json.loads(done.stdout)["left_out"]
