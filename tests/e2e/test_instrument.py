"""``pfid run --instrument`` on real torch: every step, and nothing else is any different."""

import json
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from coverage import CoverageData

import pfid.trainer

SITE = Path(pfid.trainer.__file__).parent / "site"
TRAINING = Path(__file__).parent / "training"
STEPS = 50
pytestmark = [pytest.mark.full, pytest.mark.torch]


class Seen:
    """One program under the hooks, and the lines it left."""

    def __init__(self, folder, *command, hooks=True, path=""):
        steps = folder / "steps"
        steps.mkdir(parents=True)
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "PFID_RUN_DIR": str(folder)}
        entries = [str(SITE) if hooks else "", path, environ.get("PYTHONPATH")]
        environ["PYTHONPATH"] = ":".join(filter(None, entries))
        self.done = subprocess.run(
            [sys.executable, *map(str, command)],
            env=environ,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert self.done.returncode == 0, self.done.stderr[-2000:]
        assert "pfid:" not in self.done.stderr
        text = [file.read_text() for file in sorted(steps.iterdir())]
        lines = [json.loads(line) for part in text for line in part.splitlines()]
        self.notes = [line for line in lines if "note" in line]
        self.steps = [line for line in lines if "step" in line]

    @property
    def out(self):
        return self.done.stdout.splitlines()


@pytest.mark.timeout(600)
def test_parameters_random_state_and_graphs_are_bit_for_bit_those_of_an_uninstrumented_run(
    tmp_path,
):
    script = TRAINING / "stock_optimizers.py"
    plain = Seen(tmp_path / "plain", script, STEPS, "aot_eager", hooks=False)
    seen = Seen(tmp_path / "seen", script, STEPS, "aot_eager")
    assert len(plain.out) >= 2 * 15 + 1
    assert seen.out == plain.out
    assert not plain.steps
    kinds = {note["opt"]: note["kind"].rsplit(".")[-1] for note in seen.notes if "opt" in note}
    told = Counter(kinds[line.get("opt", 0)] for line in seen.steps)
    eager_only = {"Adafactor", "Muon", "Halving"}  # compiled as a whole: let alone
    assert told == {
        name: STEPS if name in eager_only else 2 * STEPS
        for name in {line.split()[0] for line in plain.out}
    }
    assert sum("dynamo" in line for line in seen.steps) >= 13


@pytest.mark.timeout(600)
@pytest.mark.needs("g++")
def test_what_inductor_makes_of_model_and_step_is_bit_for_bit_the_same_code(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "1")
    command = (TRAINING / "stock_optimizers.py", 2 * STEPS, "inductor", "AdamW")
    plain = Seen(tmp_path / "plain", *command, hooks=False)
    made = {path.name for path in (tmp_path / "compiled").rglob("*.cpp")}
    seen = Seen(tmp_path / "seen", *command)
    assert seen.out == plain.out
    assert [line.split()[:2] for line in plain.out] == [
        ["AdamW", "eager"],
        ["AdamW", "compiled"],
        ["Halving", "fullgraph"],
    ]
    assert len(made) >= 3
    assert {path.name for path in (tmp_path / "compiled").rglob("*.cpp")} == made
    assert len(seen.steps) == 2 * 2 * STEPS  # a step that is compiled as a whole is let alone


def test_every_step_of_every_kind_of_loop_is_one_line(tmp_path):
    seen = Seen(tmp_path, TRAINING / "many_loops.py")
    assert json.loads(seen.out[-1]) == {
        "plain": [10],
        "foreach": [10],
        "fused": [10],
        "scheduled": [10],
        "accumulated": [10],
        "adversarial": [30, 10],
        "closure": [5],
        "scaled": [8],
        "scaled_fused": [10],
        "in_backward": [10, 10],
        "unhashable": [10],
        "own_step": [],
        "ten_classes": [10] * 10,
        "none_of_torchs": [],
        "pooled": [10],
        "loaded": [10],
    }
    assert len({line["pid"] for line in seen.steps}) == 1
    assert all(line["clock"] == "reported" for line in seen.steps)


def test_every_rank_reports_its_own_steps(tmp_path):
    launcher = ("-m", "torch.distributed.run", "--nproc_per_node=2")
    seen = Seen(tmp_path, *launcher, TRAINING / "many_loops.py")
    ranks = [json.loads(line) for line in seen.out if line.startswith("{")]
    assert ranks == [{"ddp": [10], "zero": [10], "fsdp1": [10], "fsdp2": [10]}] * 2
    assert Counter(line["rank"] for line in seen.steps) == {0: 40, 1: 40}


LOOPS = str(TRAINING / "framework_loops.py")
IN_TESTS = f"""
import runpy, sys
sys.argv = ["plain_loop.py", "--steps", "10", "--seconds", "0"]

def test_training():
    runpy.run_path({str(TRAINING / "plain_loop.py")!r}, run_name="__main__")
"""


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
ACCELERATE = (
    *("-m", "accelerate.commands.accelerate_cli", "launch", "--num_processes=2", "--multi_gpu"),
    *("--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no"),
    "--main_process_port=0",
)
"""Each on a port that is free, not on the one that all take.

``--multi_gpu`` is accelerate's name for more than one process, whatever they compute on.
"""


@pytest.mark.parametrize(
    ("command", "ranks"),
    [
        (("-m", "plain_loop", "--steps", "10", "--seconds", "0"), 1),
        (("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"), 1),
        ((*TORCHRUN, LOOPS, "transformers", "out", "alone"), 2),
        ((*ACCELERATE, LOOPS, "accelerate", "out", "alone"), 2),
    ],
    ids=["python -m", "pytest", "torchrun with Trainer", "accelerate launch"],
)
def test_however_it_is_launched_every_rank_reports_ten_steps(tmp_path, command, ranks):
    (tmp_path / "plain_loop.py").write_bytes((TRAINING / "plain_loop.py").read_bytes())
    (tmp_path / "test_it.py").write_text(IN_TESTS)
    seen = Seen(tmp_path, *command)
    assert Counter(line.get("rank", 0) for line in seen.steps) == dict.fromkeys(range(ranks), 10)
    assert len({line["pid"] for line in seen.steps}) == ranks
    assert "1 passed" in seen.done.stdout or "pytest" not in command


def test_what_measures_the_coverage_of_tests_sees_all_and_so_do_the_hooks(tmp_path):
    loop = tmp_path / "plain_loop.py"
    loop.write_bytes((TRAINING / loop.name).read_bytes())
    (tmp_path / "test_it.py").write_text(IN_TESTS.replace(str(TRAINING / loop.name), str(loop)))
    measured = ("-m", "coverage", "run", "--data-file=measured", f"--include={loop}")
    seen = Seen(tmp_path, *measured, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert "1 passed" in seen.done.stdout
    assert [line["step"] for line in seen.steps] == list(range(1, 11))
    data = CoverageData(basename=str(tmp_path / "measured"))
    data.read()
    stepped = next(
        n for n, line in enumerate(loop.read_text().splitlines(), 1) if ".step()" in line
    )
    assert stepped in data.lines(str(loop))


@pytest.mark.parametrize("framework", ["transformers", "lightning", "accelerate"])
def test_a_framework_is_seen_by_the_hooks_and_then_by_its_callback(tmp_path, framework):
    seen = Seen(tmp_path, TRAINING / "framework_loops.py", framework, tmp_path / "out")
    alone, called = (line for line in seen.out if line.startswith("sum "))
    assert alone == called
    hooked, told = seen.steps[:10], seen.steps[10:]
    assert [line["step"] for line in hooked] == [line["step"] for line in told]
    assert [line["step"] for line in told] == list(range(1, 11))
    assert all("clock" in line for line in hooked)
    assert all(line["inside_s"] <= line["seconds"] * 1.001 for line in told)
    phases = [note["phase"] for note in seen.notes if note["note"] == "phase"]
    if framework == "accelerate":
        assert [line["tokens"] for line in told] == [32] * 10
        assert [line["real_tokens"] for line in told] == [24] * 10
    else:
        assert phases.count("eval") == 2
        assert [line["step"] for line in told if "phase" in line] == [6]
    if framework == "lightning":
        assert [(line["tokens"], line["width"]) for line in told] == [(32, 8)] * 10
        assert all(line["loss"] > 0 for line in told)
    if framework == "transformers":
        assert [(line["tokens"], line["width"]) for line in told] == [(64, 16)] * 10
        assert [line["real_tokens"] for line in told] == [48] * 10
        assert sum("loss" in line for line in told) >= 4
        assert phases.count("save") == 2


@pytest.mark.parametrize("how", ["wrapped", "in_place"])
def test_a_model_that_torch_compiles_tells_its_width_from_outside_of_its_graph(tmp_path, how):
    script = TRAINING / "framework_loops.py"
    seen = Seen(tmp_path, script, "transformers", tmp_path / "out", how)
    alone, called = (line for line in seen.out if line.startswith("sum "))
    assert alone == called
    assert int(called.split()[2]) >= 1
    told = [line for line in seen.steps if "width" in line]
    assert [(line["step"], line["tokens"], line["width"]) for line in told] == [
        (step, 64, 16) for step in range(1, 11)
    ]
    assert [line["real_tokens"] for line in told] == [48] * 10


DEEPSPEED = os.environ.get("PFID_TEST_DEEPSPEED", "")
"""Folder that it was installed into, apart from what else is installed."""


@pytest.mark.skipif(not DEEPSPEED and not find_spec("deepspeed"), reason="no deepspeed here")
def test_deepspeed_is_seen_at_every_stage_of_zero(tmp_path):
    script = TRAINING / "deepspeed_loop.py"
    plain = Seen(tmp_path / "plain", script, hooks=False, path=DEEPSPEED)
    seen = Seen(tmp_path / "seen", script, path=DEEPSPEED)
    told = [(line.get("opt", 0), line["step"]) for line in seen.steps]
    assert told == [(stage, step) for stage in range(4) for step in range(1, 11)]
    sums = [line for line in seen.out if line.startswith("sum ")]
    assert sums == [line for line in plain.out if line.startswith("sum ")]
    assert len(sums) == 4
