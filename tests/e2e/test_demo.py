"""The demo is a check that can fail: it fails where a verdict is due and does not come."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pfid.cli.demo import story, trainings
from pfid.cli.demo.stage import DemoError, Stage
from pfid.cli.demo.voice import Voice

pytestmark = [pytest.mark.full]


def demo(folder: Path, training: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "pfid", "demo", "--training", training],
        env=dict(os.environ) | {"TMPDIR": str(folder)} | environ,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def still_running(folder: Path) -> list[str]:
    """Processes whose command line or environment names the demo's folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        except OSError:
            continue
        if str(folder / "pfid-demo-").encode() in said:
            found.append(place.name)
    return found


@pytest.mark.alone  # it times real steps against the demo's own limits
@pytest.mark.parametrize(
    "training",
    [pytest.param("torch", marks=[pytest.mark.torch, pytest.mark.needs("g++")]), "numpy"],
)
def test_the_demo_sees_everything_it_promises_and_leaves_nothing(tmp_path, training):
    done = demo(tmp_path, training)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for said in (
        f"{training}: ",
        "PASS step_time_regime",
        "FAIL step_time_regime",
        "PASS run_gone",
        "FAIL run_gone",
        "self-test: ",
        "metrics: http://127.0.0.1:",
        "demo.log: ",
        "demo.2",
    ):
        assert said in done.stdout
    relaunched = done.stdout.partition("6. ")[2]
    assert relaunched.index("PASS run_gone: the captured process is alive") < relaunched.index(
        "PASS run_gone: an operator stopped the run"
    )
    assert ("FAIL recompile_limit" in done.stdout) == (training == "torch")
    assert not list(tmp_path.iterdir())
    assert not still_running(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_told_to_go_clears_the_stage(tmp_path, number):
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "pfid", "demo", "--training", "numpy"],
        env=dict(os.environ) | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        while b"run_gone" not in process.stdout.readline():
            assert process.poll() is None
        assert still_running(tmp_path)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode in {1, 128 + number}
    assert not list(tmp_path.iterdir())
    assert not still_running(tmp_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deaf(trainings.Training):
    """A training in which the fault cannot be planted."""

    def command(self, plant: Path) -> tuple[str, ...]:
        return (sys.executable, "-m", self.module, str(plant) + "-elsewhere")


def test_the_demo_fails_when_the_fault_has_no_effect(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(story, "FAULT_WITHIN_S", 8.0)
    deaf = _Deaf(module="pfid.probes.demo_numpy", what="", fault="", limit_is_logged=False)
    with Stage() as stage, pytest.raises(DemoError, match="step_time_regime should have said fail"):
        story.Story(stage, Voice(), deaf).play()
    assert not list(tmp_path.iterdir())
    assert not still_running(tmp_path)


def test_the_demo_fails_when_the_training_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    broken = trainings.Training(
        module="pfid.probes.no_such_training", what="", fault="", limit_is_logged=False
    )
    monkeypatch.setattr(story, "STEPS_WITHIN_S", 5.0)
    with Stage() as stage, pytest.raises(DemoError):
        story.Story(stage, Voice(), broken).play()
    assert not list(tmp_path.iterdir())
