"""Does `pfid preflight` say what it saw, in JSON and in words, and exit as it says?"""

import json
import os
import subprocess
import sys

import pytest

from pfid.bootstrap.preflight.initial import initial_spec
from pfid.config.preflight.spec import loads_spec

BASE = """
name = "toy"
python = {python!r}
optional = ["watchdog_tested_negative"]
[config]
paths = ["data"]
[log]
path = "run.log"
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "toy"
    (folder / "data").mkdir(parents=True)
    (folder / "data/x").touch()
    (folder / "preflight.toml").write_text(BASE.format(python=sys.executable))
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder, *arguments):
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a step")


def pfid(folder, *arguments, **environ):
    known = {
        **os.environ,
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "PFID_SOCKET": str(folder.parent / "none.sock"),
        **environ,
    }
    return subprocess.run(
        [sys.executable, "-m", "pfid", "preflight", *arguments],
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )


def drilled(folder, *, came=True):
    """As after `pfid selftest --live`."""
    import time

    from pfid.adapters.drill_record import keep_drill
    from pfid.adapters.process_identity import machine_id
    from pfid.config.paths import user_state_dir

    state = user_state_dir({"XDG_STATE_HOME": str(folder.parent / "state")}, machine_id())
    keep_drill(state, at_s=time.time(), through_daemon=False, results={"run_gone": came})


def initial(folder, tmp_path, search):
    """What `--init` writes into an empty folder, and what it says."""
    folder.mkdir()
    done = pfid(folder, "--init", PATH=search)
    assert done.returncode == 0, done.stderr
    return (folder / "preflight.toml").read_text(), done.stderr


def test_what_init_says_of_the_interpreter_is_what_it_writes(tmp_path):
    places = tmp_path / "bin"
    places.mkdir()
    text, said = initial(tmp_path / "none", tmp_path, str(places))
    assert "training interpreter: none found, and none written; name it" in said
    assert loads_spec(text).python == ""
    (places / "python3").symlink_to(sys.executable)
    text, said = initial(tmp_path / "any", tmp_path, str(places))
    assert f"training interpreter: python3, which is {places / 'python3'}" in said
    assert loads_spec(text).python == "python3"


def outcomes(done):
    said = json.loads(done.stdout)
    return {v["check"]: (v["outcome"], v["reason"]) for v in said["verdicts"]}


def test_a_sound_project_is_ready(project):
    drilled(project)
    done = pfid(project, "--json")
    assert done.returncode == 0, done.stdout
    said = json.loads(done.stdout)
    assert said["schema"] == 1
    assert said["ready"] is True
    assert {n: said["summary"][n] for n in ("pass", "fail", "unknown")} == {
        "pass": 5,
        "fail": 0,
        "unknown": 0,
    }
    assert outcomes(done)["working_tree_committed"] == ("pass", "committed")
    assert outcomes(done)["watchdog_tested_negative"] == ("pass", "tested")


@pytest.mark.full
def test_a_watchdog_whose_drill_failed_is_a_failure(project):
    drilled(project, came=False)
    done = pfid(project, "--json")
    assert done.returncode == 1
    assert outcomes(done)["watchdog_tested_negative"] == ("fail", "did_not_fire")


@pytest.mark.full
def test_what_fails_says_what_to_do(project):
    (project / "data/x").write_text("changed")
    drilled(project)
    done = pfid(project)
    assert done.returncode == 1
    assert "FAIL     working_tree_committed" in done.stdout
    assert "    data/x\n  -> commit, put away" in done.stdout
    assert done.stderr == ""


@pytest.mark.full
def test_what_is_required_and_unknown_is_no_readiness_and_what_is_optional_is(project):
    drilled(project)
    spec = project / "preflight.toml"
    wanted = spec.read_text() + '[[kwargs]]\ntarget = "nowhere:A"\n'
    spec.write_text(wanted)
    commit(project)
    done = pfid(project, "--json")
    assert done.returncode == 3
    assert outcomes(done)["kwargs_by_name"] == ("unknown", "target_missing")
    spec.write_text(wanted.replace("watchdog_tested_negative", "kwargs_by_name"))
    commit(project)
    assert pfid(project, "--json").returncode == 0


@pytest.mark.full
def test_an_interpreter_is_named_on_the_command_line(project):
    spec = project / "preflight.toml"
    spec.write_text(spec.read_text() + '[[kwargs]]\ntarget = "json:dumps"\narguments = {obj = 1}\n')
    commit(project)
    drilled(project)
    assert outcomes(pfid(project, "--json"))["kwargs_by_name"] == ("pass", "accepted")
    done = pfid(project, "--json", "--python", "./none")
    assert outcomes(done)["kwargs_by_name"] == ("unknown", "python_not_found")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("optional = ['watchdgo']", "there is no check watchdgo"),
    ],
)
def test_a_spec_that_cannot_be_used_is_a_usage_error(project, text, said):
    (project / "preflight.toml").write_text(text)
    done = pfid(project, "--json")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_no_spec_says_how_to_make_one(tmp_path):
    done = pfid(tmp_path)
    assert done.returncode == 2
    assert "--init" in done.stderr


@pytest.mark.full
def test_init_writes_a_spec_that_runs_and_writes_over_nothing(tmp_path):
    (tmp_path / "tests").mkdir()
    done = pfid(tmp_path, "--init", "--python", sys.executable)
    assert done.returncode == 0
    again = pfid(tmp_path, "--init")
    assert again.returncode == 2
    assert "already" in again.stderr
    spec = loads_spec((tmp_path / "preflight.toml").read_text())
    assert spec.tests.runner == "pytest"
    assert spec.log.path == "run.log"
    ran = pfid(tmp_path, "--no-tests", "--json")
    assert outcomes(ran)["working_tree_committed"] == ("fail", "no_repository")


def test_every_commented_line_of_a_new_spec_is_good(tmp_path):
    """Uncommented as a whole it is a spec: no example in it is out of date."""
    text, _ = initial_spec(tmp_path)
    lines = []
    for line in text.splitlines():
        bare = line.removeprefix("# ")
        spoken = line.startswith("# ") and not (
            "=" in bare.split("#")[0] or bare.startswith(("[", "  {", "]"))
        )
        lines.append("" if spoken else bare)
    spec = loads_spec("\n".join(lines))
    left_out = [n for n in spec.__struct_fields__ if not getattr(spec, n)]
    assert set(left_out) <= {"optional", "provenance"}


@pytest.mark.full
def test_narrow_and_colourless_terminals_are_served(project):
    drilled(project)
    done = pfid(project, COLUMNS="40", NO_COLOR="1", TERM="dumb")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


@pytest.mark.full
def test_hostile_names_do_not_reach_the_terminal(project):
    (project / "data/\x1b[31mred").write_text("x")
    (project / "preflight.toml").write_text(
        BASE.format(python=sys.executable).replace('"data"', '"no\\u001b[31mthing"')
    )
    commit(project)
    done = pfid(project)
    assert "\x1b" not in done.stdout
    assert done.returncode == 1


MUTATIONS = """
name = "toy"
python = {python!r}
[tests]
runner = "unittest"
[[mutations]]
name = "or becomes last wins"
file = "core.py"
old = "one | other"
new = "other"
test = "test_core"
[[mutations]]
name = "nobody looks"
file = "core.py"
old = "unused = 1"
new = "unused = 2"
test = "test_core"
[[mutations]]
name = "text twice"
file = "core.py"
old = "e"
new = "x"
test = "test_core"
[[mutations]]
name = "outside"
file = {outside!r}
old = "uncommitted"
new = "broken"
test = "test_core"
[[mutations]]
name = "syntax"
file = "core.py"
old = "def merge"
new = "dff merge"
test = "test_core"
[[mutations]]
name = "test that fails anyway"
file = "core.py"
old = "unused = 1"
new = "unused = 3"
test = "test_red"
"""


@pytest.mark.full
def test_mutants_are_tried_in_a_scratch_copy_and_survivors_are_named(project):
    (project / "core.py").write_text(
        "unused = 1\n\n\ndef merge(one, other):\n    return one | other\n"
    )
    head = "import unittest\nfrom core import merge\n\n\nclass T(unittest.TestCase):\n"
    (project / "test_core.py").write_text(
        head + "    def test_it(self):\n        self.assertEqual(merge(1, 2), 3)\n"
    )
    (project / "test_red.py").write_text(head + "    def test_it(self):\n        self.fail()\n")
    outside = str(project / "core.py")  # the user's own tree
    text = MUTATIONS.format(python=sys.executable, outside=outside)
    (project / "preflight.toml").write_text(text)
    commit(project)
    (project / "core.py").write_text("uncommitted = True\n")
    done = pfid(project, "mutate", "--json")
    assert done.returncode == 1, done.stderr
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    came = {m["name"]: m["came"] for m in said["mutants"]}
    assert came == {
        "or becomes last wins": "caught",
        "nobody looks": "survived",
        "text twice": "not_tried",
        "outside": "not_tried",
        "syntax": "not_tried",
        "test that fails anyway": "not_tried",
    }
    assert said["summary"] == {"caught": 1, "survived": 1, "not_tried": 4}
    assert (project / "core.py").read_text() == "uncommitted = True\n"
    listed = subprocess.run(
        ["git", "-C", project, "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


@pytest.mark.full
def test_without_a_commit_there_is_nothing_to_break(tmp_path):
    text = MUTATIONS.format(python=sys.executable, outside="x.py")
    (tmp_path / "preflight.toml").write_text(text)
    done = pfid(tmp_path, "mutate")
    assert done.returncode == 3
    assert "no commit to break" in done.stderr


@pytest.mark.full
def test_a_spec_without_breaks_says_that_nothing_was_broken(project):
    done = pfid(project, "mutate", "--json")
    assert done.returncode == 2
    assert "nothing was broken" in done.stderr
    assert done.stdout == ""
