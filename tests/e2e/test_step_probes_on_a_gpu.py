"""A step is measured on a card that nobody else is on, or not at all: on a card of the stand-in."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from nvml_shim import H200_IDLE, uuid

GIB = 1024**3
pytestmark = pytest.mark.timeout(900)
MINE = """
import os, pathlib, time

def endless(width):
    pathlib.Path("asked").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
    time.sleep(3600)
"""
TORCH = """
__version__ = "9.9"
class cuda:
    is_available = staticmethod(lambda: True)
    synchronize = empty_cache = reset_peak_memory_stats = staticmethod(lambda: None)
"""


@pytest.fixture
def box(nvml, tmp_path):
    """A box with one idle card and a project whose step never ends."""
    nvml.play(H200_IDLE)
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine.py").write_text(MINE)
    (project / "torch.py").write_text(TORCH)
    environ = {**os.environ, **nvml.environ, "PFID_SOCKET": str(tmp_path / "nobody.sock")}
    environ.pop("CUDA_VISIBLE_DEVICES", None)

    def probe(*more):
        done = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "pfid", "probe", "lora-step", "mine:endless"),
                *("--python", sys.executable, *more),
            ],
            capture_output=True,
            text=True,
            env=environ,
            cwd=project,
            check=False,
            timeout=400,
        )
        return done.returncode, done.stdout, done.stderr

    probe.nvml, probe.asked = nvml, project / "asked"
    return probe


@pytest.mark.full
def test_a_card_that_somebody_is_on_is_refused_before_anything_runs(box):
    box.nvml.run_on(0, os.getpid(), 8 * GIB)
    status, out, said = box()
    assert (status, out) == (3, "")
    assert f"pid {os.getpid()} is on it" in said
    assert not box.asked.exists()


@pytest.mark.full
def test_somebody_who_comes_meanwhile_voids_the_measurement(box):
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(box)
        while not box.asked.exists() or not box.asked.read_text():
            time.sleep(0.02)
            assert not running.done(), running.result()
        assert box.asked.read_text() == uuid(0)
        box.nvml.run_on(0, os.getpid(), 8 * GIB)
        box.nvml.run_on(0, os.getppid(), 8 * GIB)
        status, out, said = running.result()
    assert (status, out) == (3, "")
    assert "somebody came onto the GPU" in said


@pytest.mark.full
def test_a_card_that_is_not_there_is_named(box):
    status, _, said = box("--gpu", "7")
    assert status == 3
    assert "there is no GPU 7" in said
