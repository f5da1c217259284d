"""Are checks of other people's packages proven, evaluated and told like pfid's own?"""

import json
import os
import subprocess
import sys
import time
import zipfile

import pytest

from pfid.adapters.drill_record import keep_drill
from pfid.adapters.process_identity import machine_id
from pfid.config.paths import user_state_dir

MODULE = '''
"""Fail when a launch is not from the branch that launches come from.

Blind spot: a branch of that name somewhere else.

When it fires: switch to {branch}.
"""
import time
from dataclasses import dataclass

from pfid.spec import Answers, Check, Control, Outcome, Stage, World, hookimpl
from pfid.spec.fakes_facts import CONTROL_PROJECT
from pfid.spec.fakes_launch import FixedGit
from pfid.spec.ports.git import GitFacts, GitProblem

ANSWERS = Answers(
    {{
        "on_branch": (Outcome.PASS, "the branch is the one that launches come from"),
        "elsewhere": (Outcome.FAIL, "the branch is another one"),
        "no_branch": (Outcome.UNKNOWN, "nobody can tell the branch"),
    }}
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    pass


@dataclass(frozen=True, kw_only=True)
class Seen:
    branch: "str | None"


def observe(world):
    facts = world.git.facts()
    if facts.root.startswith("/") and {hangs}:
        time.sleep(600)
    return Seen(branch=facts.branch)


def judge(seen, limits):
    if seen.branch is None:
        return ANSWERS.say("no_branch")
    code = "on_branch" if seen.branch == "{branch}" else "elsewhere"
    return ANSWERS.say(code, evidence=(f"it is {{seen.branch}}",))


def control(name, code, branch):
    facts = GitFacts(root="", commit="c" * 40, branch=branch, dirty=False)
    world = World(subject=CONTROL_PROJECT, git=FixedGit(looked=facts, files=()))
    return Control(name=name, world=world, expect=ANSWERS.reasons[code], reason=code)


def controls(limits):
    return (
        control("main", "on_branch", "{shown}"),
        control("other", "elsewhere", "try"),
        control("none", "no_branch", None),
    )


@hookimpl
def pfid_checks():
    yield Check(
        name="{name}",
        stage=Stage.{stage},
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("git",),
        deadline_s={deadline_s},
        runbook=__doc__,
    )
'''
SPEC = """
name = "toy"
python = {python!r}
optional = {optional}
[config]
paths = ["data"]
"""


def module(name, *, branch="main", hangs=False, shown=None, stage="PREFLIGHT"):
    return MODULE.format(
        name=name,
        branch=branch,
        hangs=hangs,
        stage=stage,
        shown=shown or branch,
        deadline_s=0.5 if hangs else 60,
    )


class Site:
    """A folder that packages are installed into, for the next command to find."""

    def __init__(self, root):
        self.root = root
        self.folder = root / "site"

    def install(self, name, text):
        """Install a wheel whose entry point is the module, as pip does."""
        wheel = self.root / f"acme_{name}-1.2-py3-none-any.whl"
        info = f"acme_{name}-1.2.dist-info"
        files = {
            f"acme_{name}.py": text,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 1.2\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": f"[pfid.plugins]\nacme_{name} = acme_{name}\n",
        }
        with zipfile.ZipFile(wheel, "w") as packed:
            for path, body in files.items():
                packed.writestr(path, body)
            packed.writestr(f"{info}/RECORD", "".join(f"{p},,\n" for p in files))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        offline = ["--no-index", "--no-deps", "--upgrade", "--target", self.folder, wheel]
        subprocess.run([*pip, *offline], check=True)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "toy"
    (folder / "data").mkdir(parents=True)
    (folder / "data/x").touch()
    spec(folder)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    state = user_state_dir({"XDG_STATE_HOME": str(tmp_path / "state")}, machine_id())
    keep_drill(state, at_s=time.time(), through_daemon=False, results={"run_gone": True})
    return folder


def spec(folder, *optional):
    names = ["watchdog_tested_negative", *optional]
    (folder / "preflight.toml").write_text(SPEC.format(python=sys.executable, optional=names))


def git(folder, *arguments):
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a step")


def pfid(toy, site, *arguments):
    known = {
        **os.environ,
        "XDG_STATE_HOME": str(toy.parent / "state"),
        "PFID_SOCKET": str(toy.parent / "none.sock"),
        "PYTHONPATH": f"{site.folder}:{os.environ.get('PYTHONPATH', '')}",
    }
    return subprocess.run(
        [sys.executable, "-m", "pfid", "preflight", *arguments],
        cwd=toy,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )


def verdicts(done):
    assert done.stdout, done.stderr
    return {v["check"]: v for v in json.loads(done.stdout)["verdicts"]}


def test_a_check_of_an_installed_package_decides_as_pfids_own_do(toy, site):
    site.install("branch", module("on_main_branch"))
    done = pfid(toy, site, "--json")
    mine = verdicts(done)["on_main_branch"]
    assert done.returncode == 0, done.stdout
    assert (mine["outcome"], mine["reason"], mine["required"]) == ("pass", "on_branch", True)
    git(toy, "switch", "--quiet", "--create", "try")
    done = pfid(toy, site, "--json")
    mine = verdicts(done)["on_main_branch"]
    assert done.returncode == 1
    assert (mine["outcome"], mine["reason"]) == ("fail", "elsewhere")
    assert (mine["remedy"], mine["evidence"]) == ("switch to main.", ["it is try"])
    assert mine["entity"] == verdicts(done)["working_tree_committed"]["entity"]


@pytest.mark.full
def test_one_that_cannot_be_shown_to_fire_is_unknown_until_it_is_optional(toy, site):
    site.install("branch", module("on_main_branch", shown="another"))
    done = pfid(toy, site, "--json")
    mine = verdicts(done)["on_main_branch"]
    assert (done.returncode, mine["outcome"], mine["reason"]) == (3, "unknown", "unproven")
    spec(toy, "on_main_branch")
    commit(toy)
    assert pfid(toy, site).returncode == 0
    spec(toy, "on_main_brunch")
    commit(toy)
    done = pfid(toy, site)
    assert done.returncode == 2
    assert "on_main_brunch" in done.stderr


@pytest.mark.full
def test_one_that_hangs_takes_nobody_with_it(toy, site):
    site.install("branch", module("on_main_branch"))
    site.install("asleep", module("asleep", hangs=True))
    done = pfid(toy, site, "--json")
    seen = verdicts(done)
    assert done.returncode == 3
    assert (seen["asleep"]["outcome"], seen["asleep"]["reason"]) == ("unknown", "timed_out")
    assert seen["on_main_branch"]["outcome"] == "pass"
    assert seen["working_tree_committed"]["outcome"] == "pass"


@pytest.mark.full
def test_a_package_that_cannot_be_loaded_is_named_and_not_passed_over(toy, site):
    site.install("broken", "import no_such_module_at_all\n")
    done = pfid(toy, site, "--json")
    mine = verdicts(done)["acme_broken"]
    assert (done.returncode, mine["outcome"], mine["reason"]) == (3, "unknown", "unproven")
    assert "no_such_module_at_all" in mine["evidence"][0]
    assert "mend or remove the plugin" in mine["remedy"]


@pytest.mark.full
def test_a_file_in_a_configured_folder_counts_and_can_be_disabled(toy, site):
    folder = toy.parent / "plugins"
    folder.mkdir(mode=0o755)
    (folder / "on_main_branch.py").write_text(module("on_main_branch", branch="release"))
    (folder / "of_runs.py").write_text(module("of_runs", stage="WATCH"))
    config = toy.parent / "pfid.toml"
    config.write_text(f'[plugins]\ndirectories = ["{folder}"]\n')
    done = pfid(toy, site, "--json", "--config", config)
    assert verdicts(done)["on_main_branch"]["reason"] == "elsewhere"
    assert "of_runs" not in verdicts(done)
    with config.open("a") as more:
        more.write("[checks.on_main_branch]\nenabled = false\n")
    done = pfid(toy, site, "--json", "--config", config)
    assert (done.returncode, "on_main_branch" in verdicts(done)) == (0, False)
