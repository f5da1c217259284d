"""``pfid probe gemm`` through a real sampler and driver library: measured, kept, judged by.

The training interpreter is one of our own that makes the card busy and says how long its blocks
took; the card is the stand-in for NVML. A real GEMM needs a real card.
"""

import json
import os
import subprocess
import sys

import pytest
from nvml_shim import H200_IDLE, uuid

from pfid.adapters.gpu_references import load_references
from pfid.adapters.process_identity import machine_id
from pfid.config.paths import user_state_dir

GIB = 1024**3
SIZE = 8192
pytestmark = pytest.mark.timeout(900)
TRAINER = """#!{python}
import json, os, pathlib, sys, time
assert sys.argv[1].endswith("gemm.py") and os.environ["CUDA_VISIBLE_DEVICES"] == "{uuid}"
scenario = pathlib.Path("{scenario}")
idle = scenario.read_text() + {comes!r}
def play(text):
    new = scenario.with_name("scenario.trainer")
    new.write_text(text)
    new.replace(scenario)
say = lambda **facts: print(json.dumps(facts), flush=True)
print("a library that greets")
say(event="ready", uuid="{uuid}", size=8192)
play(idle.replace("gpu 0 utilization 0", "gpu 0 utilization 100")
         .replace("gpu 0 power 77700", "gpu 0 power {milliwatts}"))
time.sleep(1.5)
for _ in range({blocks}):
    time.sleep(0.5)
    say(event="block", count=300, seconds=0.5)
play(idle)
{last}
"""


@pytest.fixture
def box(nvml, tmp_path):
    """A box with one idle card, and a home of its own."""
    nvml.play(H200_IDLE)
    environ = {
        **os.environ,
        **nvml.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PFID_SOCKET": str(tmp_path / "nobody.sock"),
    }

    def trainer(*, milliwatts=640_000, blocks=10, last='say(event="done")', comes=""):
        path = tmp_path / "python"
        text = TRAINER.format(
            python=sys.executable,
            uuid=uuid(0),
            scenario=nvml.folder / "scenario",
            milliwatts=milliwatts,
            blocks=blocks,
            last=last,
            comes=comes,
        )
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def pfid(*arguments):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pfid", *arguments],
            capture_output=True,
            text=True,
            env=environ,
            check=False,
            timeout=400,
        )
        return done.returncode, done.stdout, done.stderr

    pfid.trainer, pfid.nvml = trainer, nvml
    pfid.state = user_state_dir(environ, machine_id())
    return pfid


def test_an_idle_card_is_measured_kept_and_judged_by(box):
    status, out, said = box("probe", "gemm", "--python", box.trainer(), "--json")
    assert status == 0, said
    (card,) = json.loads(out)["gpus"]
    reference = card["reference"]
    assert reference["power_w"] == pytest.approx(640, rel=0.02)
    assert reference["tflops"] == pytest.approx(2 * SIZE**3 * 600 / 1e12)
    assert reference["driver"] == "580.95.05"
    assert load_references(box.state)[uuid(0)].tflops == reference["tflops"]
    box.nvml.change(0, utilization=100, power=70_000, sm=30.0)
    _, out, _ = box("gpus", "--json")
    (judged,) = json.loads(out)["gpus"]
    assert judged["reference"]["tflops"] == pytest.approx(reference["tflops"])
    assert judged["kind"] == "low_power"


def test_a_card_that_somebody_is_on_is_not_loaded(box):
    box.nvml.run_on(0, os.getpid(), 8 * GIB)
    status, out, said = box("probe", "gemm", "--python", box.trainer(), "--json")
    assert status == 3
    (card,) = json.loads(out)["gpus"]
    assert card["reference"] is None
    assert str(os.getpid()) in card["reason"]
    assert "not measured" in said
    assert not load_references(box.state)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("sys.exit('torch fell over')", "torch fell over"),
        ('say(event="refused", reason="no_memory")', "too little free memory"),
    ],
)
def test_a_probe_that_fails_leaves_no_reference(box, last, why):
    status, out, _ = box("probe", "gemm", "--python", box.trainer(blocks=0, last=last), "--json")
    assert status == 3
    (card,) = json.loads(out)["gpus"]
    assert why in card["reason"]
    assert not load_references(box.state)


def test_an_interpreter_that_is_not_there_is_named(box):
    status, _, said = box("probe", "gemm", "--python", "/nowhere/python")
    assert status == 3
    assert "/nowhere/python cannot be started" in said


def test_a_card_that_is_not_there_is_a_wrong_question(box):
    status, _, said = box("probe", "gemm", "--gpu", "GPU-nobody")
    assert status == 2
    assert "no GPU GPU-nobody" in said


def test_a_box_without_gpus_could_not_look_and_says_why(box):
    (box.nvml.folder / "libnvidia-ml.so.1").unlink()
    status, out, said = box("probe", "gemm", "--json")
    assert (status, out) == (3, "")
    assert "could not look: there is no GPU library" in said


@pytest.mark.full
def test_each_card_is_looked_at_before_its_own_turn(box):
    """A card is measured for a while: somebody may have come onto the next one meanwhile."""
    box.nvml.play(H200_IDLE, H200_IDLE)
    trainer = box.trainer(comes=f"gpu 1 process {os.getpid()} {8 * GIB}\n")
    status, out, _ = box("probe", "gemm", "--python", trainer, "--json")
    assert status == 3
    first, second = json.loads(out)["gpus"]
    assert first["reference"] is not None
    assert (second["reference"], second["reason"]) == (None, f"pid {os.getpid()} is on it")


@pytest.mark.full
def test_a_measurement_ends_when_somebody_comes_onto_the_card(box):
    both = "".join(f"gpu 0 process {pid} {8 * GIB}\\n" for pid in (os.getpid(), os.getppid()))
    trainer = box.trainer(blocks=0, last=f'play(idle + "{both}"); time.sleep(600)')
    status, out, _ = box("probe", "gemm", "--python", trainer, "--json")
    assert status == 3
    (card,) = json.loads(out)["gpus"]
    assert "somebody came onto the GPU" in card["reason"]


@pytest.mark.full
def test_a_measurement_ends_with_a_fatal_error_and_no_later_command_asks_the_driver(box):
    trainer = box.trainer(blocks=0, last='play(idle + "xid 1 0 79\\n"); time.sleep(600)')
    status, out, _ = box("probe", "gemm", "--python", trainer, "--json")
    assert status == 3
    assert "a GPU reported a fatal error" in json.loads(out)["gpus"][0]["reason"]
    box.nvml.forget_calls()
    status, _, said = box("gpus")
    assert (status, box.nvml.calls()) == (3, [])
    assert "--try-again" in said
    (box.nvml.folder / "scenario").write_text(
        (box.nvml.folder / "scenario").read_text().replace("xid 1 0 79\n", "")
    )
    assert box("gpus", "--try-again")[0] == 0
