"""Pre-launch checks are driven over real repositories and interpreters; no drill passes idly."""

import json
import os
import subprocess
import sys

import pytest

from pfid.bootstrap.live import project_ground
from pfid.bootstrap.live.project_drills import PROJECT_DRILLS, UNDRILLED, ProjectDrill
from pfid.bootstrap.live.project_session import run_project_drills
from pfid.config.model import CheckOptions, Config
from pfid.host.registry import Where, discover
from pfid.spec.check import Stage

CHECKS = {
    r.check.name for r in discover(Where(stages=(Stage.PREFLIGHT,), entry_points=False)).checks
}


def drills(*names):
    return [d for d in PROJECT_DRILLS if d.name in names]


def test_every_pre_launch_check_has_a_drill_or_a_reason_for_none():
    drilled = {d.check for d in PROJECT_DRILLS}
    assert drilled | set(UNDRILLED) == CHECKS
    assert not drilled & set(UNDRILLED)
    assert len({d.name for d in PROJECT_DRILLS}) == len(PROJECT_DRILLS)


def test_git_the_interpreter_and_living_processes_are_really_driven():
    results = run_project_drills(
        Config(), drills=drills("changed_file", "misspelt_argument", "name_taken")
    )
    walked = [r for r in results if r.ok is not None]
    assert [(r.drill, r.ok, r.why) for r in walked] == [
        ("changed_file", True, ""),
        ("misspelt_argument", True, ""),
        ("name_taken", True, ""),
    ]
    assert all(r.detection_s is not None for r in walked)


def test_a_fault_that_is_announced_and_never_planted_fails_the_drill(monkeypatch):
    plant = project_ground.ProjectGround.write

    def forget(self, name, text):
        if "something else" not in text:
            plant(self, name, text)

    monkeypatch.setattr(project_ground.ProjectGround, "write", forget)
    result, *_ = run_project_drills(Config(), drills=drills("changed_file"))
    assert result.ok is False
    assert "no fail uncommitted_changes: the verdict is pass committed" in result.why


def test_a_walk_that_looks_for_nothing_is_no_drill():
    idle = ProjectDrill(
        name="idle", check="log_rotates", adapters=frozenset({"rotation"}), walk=lambda _: None
    )
    result, *_ = run_project_drills(Config(), drills=[idle])
    assert (result.ok, result.why) == (False, "walked nothing: good, bad and good were wanted")


def test_without_git_nothing_was_tried(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result, *_ = run_project_drills(Config(), drills=drills("changed_file"))
    assert (result.ok, result.why) == (None, "there is no git on the PATH")


def test_a_disabled_check_is_not_drilled_and_one_can_be_named():
    off = Config(checks={"log_rotates": CheckOptions(enabled=False)})
    assert run_project_drills(off, "log_rotates") == ()
    (result,) = run_project_drills(Config(), "serving_path")
    assert (result.drill, result.ok) == ("refused_serving", True)
    (left,) = run_project_drills(Config(), "gpu_free")
    assert (left.ok, left.why) == (None, UNDRILLED["gpu_free"])


@pytest.mark.full
def test_all_of_them_from_the_shell_and_none_counts_as_a_drill_of_the_watchdog(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pfid", "selftest", "--live", "--stage", "preflight", "--json"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "PFID_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(done.stdout)
    live = {g["check"]: g["proven_to"]["live"] for g in said["gates"]}
    assert {name: came for name, came in live.items() if came is not True} == dict.fromkeys(
        UNDRILLED
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("live-drills.json"))
