"""``pfid probe scaling`` on a user's own step, in a real interpreter, on a card of the stand-in.

The step's clock is its own: it counts what the playbook's terms say, so figures are exact whatever
the machine does. Work is queued and counted only when somebody waits for the device, as on a GPU.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner
from nvml_shim import H200_IDLE, uuid

from pfid.adapters.process_identity import machine_id
from pfid.adapters.step_fits import load_fit
from pfid.cli.entry import main
from pfid.config.paths import user_state_dir

GIB = 1024**3
A, B = 6.87e-4, 8.85e-8
MINE = f"""
import os, pathlib, time
CLOCK, QUEUED, CALLS = [0.0], [0.0], []
time.perf_counter = lambda: CLOCK[0]
print("loading the model")

def wait():
    CLOCK[0] += QUEUED[0]
    QUEUED[0] = 0.0

def step_factory(width, batch, kind="good"):
    card = os.environ.get("CUDA_VISIBLE_DEVICES")
    pathlib.Path("asked").open("a").write(f"{{width}} {{batch}} {{card}}\\n")
    calls = []
    def step():
        calls.append(1)
        pathlib.Path("steps").open("a").write(f"{{width}}\\n")
        QUEUED[0] += batch * ({A} * width + {B} * width * width) + (9.0 if len(calls) == 1 else 0)
    return step

def cpu_factory(width):
    step = step_factory(width, 1)
    def waited():
        step()
        wait()
    return waited

def constant(width):
    def step():
        CLOCK[0] += 0.25 + {A} * width
    return step

def small_memory(width, batch):
    if width > 4096:
        raise RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB")
    return cpu_factory(width)

def broken(width):
    return lambda: [][width]

def greedy(width, tokenizer):
    return None

def nothing(width):
    return None

def endless(width):
    pathlib.Path("asked").touch()
    return lambda: time.sleep(60)
"""
TORCH = f"""
import mine_clock
__version__ = "9.9"
class cuda:
    is_available = staticmethod(lambda: True)
    synchronize = staticmethod(lambda: mine_clock.wait())
    max_memory_allocated = staticmethod(lambda: 7 * {GIB})
    empty_cache = reset_peak_memory_stats = staticmethod(lambda: None)
    class get_device_properties:
        name, uuid = "a stand-in", ""
        def __init__(self, index):
            pass
"""


@pytest.fixture
def box(nvml, tmp_path):
    """A box with one idle card, a project with a step, and a home."""
    nvml.play(H200_IDLE)
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine.py").write_text(MINE)
    environ = {
        **os.environ,
        **nvml.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PFID_SOCKET": str(tmp_path / "nobody.sock"),
    }
    environ.pop("CUDA_VISIBLE_DEVICES", None)

    def probe(*arguments, widths="2048,512,8192", device="cpu"):
        done = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "pfid", "probe", "scaling", *arguments),
                *("--python", sys.executable, "--widths", widths, "--device", device),
            ],
            capture_output=True,
            text=True,
            env=environ,
            cwd=project,
            check=False,
            timeout=100,
        )
        return done.returncode, done.stdout, done.stderr

    def with_torch():
        (project / "mine_clock.py").write_text("from mine import wait\n")
        (project / "torch.py").write_text(TORCH)

    probe.nvml, probe.project, probe.with_torch = nvml, project, with_torch
    probe.state = user_state_dir(environ, machine_id())
    return probe


def lines(path):
    return path.read_text().split("\n")[:-1]


def test_the_users_step_is_timed_warm_and_from_narrow_to_wide(box):
    status, out, said = box("mine:cpu_factory", "--json")
    assert status == 0, said
    found = json.loads(out)
    assert found["a_s_per_token"] == pytest.approx(A)
    assert found["b_s_per_token2"] == pytest.approx(B)
    assert [t["width"] for t in found["timings"]] == [512, 512, 2_048, 2_048, 8_192, 8_192]
    assert found["quadratic_share"]["8192"] == pytest.approx(0.513, abs=0.001)
    assert found["b_over_a"] == pytest.approx(B / A)
    assert lines(box.project / "steps") == ["512"] * 3 + ["2048"] * 3 + ["8192"] * 3
    assert (found["step"], found["device"]["device"]) == ("mine:cpu_factory", "cpu")
    assert "width 8,192" in said
    assert "loading the model" not in out


def test_an_object_holds_what_the_readme_says(box, documented):
    found = json.loads(box("mine:cpu_factory", "--json")[1])
    assert found.keys() - {"schema"} == documented("`pfid probe scaling`")


@pytest.mark.full
def test_on_a_gpu_the_clock_is_read_when_the_device_has_done_its_work(box):
    box.with_torch()
    status, out, said = box("mine:step_factory", "--batch", "2", "--json", device="auto")
    assert status == 0, said
    found = json.loads(out)
    assert found["a_s_per_token"] == pytest.approx(2 * A)
    assert (found["device"]["device"], found["device"]["name"]) == ("cuda", "a stand-in")
    assert found["alone"] is True
    assert found["peak_bytes"]["8192"] == 7 * GIB
    assert lines(box.project / "asked") == [f"{w} 2 {uuid(0)}" for w in (512, 2_048, 8_192)]


@pytest.mark.full
def test_a_gpu_that_somebody_is_on_is_refused_before_anything_runs(box):
    box.with_torch()
    box.nvml.run_on(0, os.getpid(), 8 * GIB)
    status, out, said = box("mine:step_factory", device="auto")
    assert (status, out) == (3, "")
    assert f"pid {os.getpid()} is on it" in said
    assert not (box.project / "asked").exists()


@pytest.mark.full
def test_somebody_who_comes_meanwhile_voids_the_measurement(box):
    box.with_torch()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(box, "mine:endless", device="auto")
        while not (box.project / "asked").exists():
            time.sleep(0.02)
            assert not running.done(), running.result()
        box.nvml.run_on(0, os.getpid(), 8 * GIB)
        box.nvml.run_on(0, os.getppid(), 8 * GIB)
        status, out, said = running.result()
    assert (status, out) == (3, "")
    assert "somebody came onto the GPU" in said


def test_memory_that_ends_ends_the_sweep_and_says_so(box):
    status, out, said = box("mine:small_memory", "--json", widths="512,1024,2048,4096,8192,16384")
    assert status == 0, said
    found = json.loads(out)
    assert found["sweep_ended"]["width"] == 8_192
    assert {t["width"] for t in found["timings"]} == {512, 1_024, 2_048, 4_096}
    assert "out of memory" in said


@pytest.mark.full
def test_too_little_memory_for_three_widths_is_no_regime(box):
    status, out, _ = box("mine:small_memory", "--json", widths="2048,4096,8192")
    assert status == 3
    assert json.loads(out)["closure"] == "undetermined"


def test_a_fit_that_closes_is_kept_for_the_runs_of_a_name(box, tmp_path):
    (box.project / "lengths.txt").write_text("1000\n" * 8)
    status, out, _ = box(
        *("mine:cpu_factory", "--keep", "my run", "--accumulation", "4", "--json"),
        *("--lengths", "lengths.txt", "--batch", "2"),
    )
    assert (status, json.loads(out)["kept_for"]) == (0, "my run")
    kept = load_fit(box.state, "my run")
    assert kept.a_s_per_token == pytest.approx(4 * A)
    assert (kept.narrowest, kept.widest) == (512, 8_192)
    assert kept.expected_s == pytest.approx(4 * (A * 1_000 + B * 1_000**2))
    assert load_fit(box.state, "another") is None


@pytest.mark.full
def test_a_fit_that_does_not_close_is_not_kept(box):
    status, out, said = box("mine:constant", "--keep", "mine", "--json", widths="64,256,1024,2048")
    assert (status, json.loads(out)["closure"]) == (3, "constant_term")
    assert "nothing is kept for mine" in said
    assert load_fit(box.state, "mine") is None


@pytest.mark.full
@pytest.mark.parametrize(
    ("target", "status", "why"),
    [
        ("mine:broken", 3, "IndexError: list index out of range"),
        ("mine:broken", 3, "project/mine.py:39)"),
        ("mine:greedy", 3, "mine:greedy wants tokenizer; given: batch, device, width"),
        ("mine:nothing", 3, "returned NoneType, no function"),
        ("mine:absent", 3, "mine has no 'absent'"),
        ("mine:CLOCK", 3, "is list and cannot be called"),
        ("yours:step", 3, "there is no module 'yours'"),
        ("mine", 2, "'mine' is not MODULE:NAME"),
    ],
)
def test_a_step_that_cannot_be_timed_says_why(box, target, status, why):
    code, out, said = box(target, "--json")
    assert (code, out) == (status, "")
    assert why in said


@pytest.mark.parametrize("widths", ["", "0,5", "a,b", "1.5", "9999999999", "-5"])
def test_widths_that_are_none_are_a_wrong_question(widths):
    asked = ["probe", "scaling", "mine:cpu_factory", "--widths", widths, "--device", "cpu"]
    result = CliRunner().invoke(main, asked)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.full
def test_an_interpreter_without_torch_is_told_so(box):
    (box.project / "torch.py").write_text("raise ImportError('none here')\n")
    status, _, said = box("tiny")
    assert status == 3
    assert "has no torch" in said


@pytest.mark.full
def test_a_step_that_needs_no_torch_is_timed_without_it(box):
    (box.project / "torch.py").write_text("raise ImportError('none here')\n")
    status, out, said = box("mine:cpu_factory", "--json", device="auto")
    assert status == 0, said
    assert json.loads(out)["device"] == {"device": "cpu", "name": "", "torch": None}
    status, _, said = box("mine:cpu_factory", device="cuda")
    assert status == 3
    assert "has no torch" in said


@pytest.mark.full
@pytest.mark.torch
def test_the_built_in_step_runs_on_any_machine(box):
    status, out, said = box("--json", "--repeats", "3", widths="32,64,128,256")
    assert status in {0, 3}, said
    found = json.loads(out)
    assert found["step"] is None
    assert len(found["timings"]) == 12
    assert found["device"]["torch"]
