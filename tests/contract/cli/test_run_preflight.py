"""Does `pfid run --preflight` launch what is ready, and nothing else?"""

import json
import os
import subprocess
import sys

import pytest

SPEC = """
python = {python!r}
optional = ["watchdog_tested_negative"]
[config]
paths = ["data"]
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "data").touch()
    (folder / ".gitignore").write_text("*.log\nran\n")
    (folder / "preflight.toml").write_text(SPEC.format(python=sys.executable))
    git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "a step"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    state = tmp_path / "state"
    keep = (
        "import sys, time, pathlib; from pfid.adapters.drill_record import keep_drill\n"
        "keep_drill(pathlib.Path(sys.argv[1]), at_s=time.time(), through_daemon=False,"
        " results={'run_gone': True})"
    )
    from pfid.adapters.process_identity import machine_id
    from pfid.config.paths import user_state_dir

    where = user_state_dir({"XDG_STATE_HOME": str(state)}, machine_id())
    subprocess.run([sys.executable, "-c", keep, where], check=True)
    return folder


def run(folder, *options):
    environ = {
        **os.environ,
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "PFID_SOCKET": str(folder.parent / "none.sock"),
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "pfid", "run", "--preflight", *options, "--"),
            *(sys.executable, "-c", "open('ran', 'w')"),
        ],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.full
def test_a_ready_project_is_launched(project):
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert "preflight: ready" in done.stderr
    assert (project / "ran").exists()


def test_a_project_that_is_not_ready_is_refused_with_what_to_do(project):
    (project / "data").write_text("changed")
    done = run(project)
    assert done.returncode == 125
    assert "FAIL working_tree_committed: tracked files differ" in done.stderr
    assert "-> commit" in done.stderr
    assert not (project / "ran").exists()


@pytest.mark.full
def test_no_spec_is_a_refusal_and_so_is_a_bad_one(project):
    done = run(project, "--spec", "none.toml", "--json")
    assert done.returncode == 125
    assert json.loads(done.stdout)["schema"] == 1
    (project / "preflight.toml").write_text("x = 1")
    assert run(project).returncode == 125
    assert not (project / "ran").exists()
