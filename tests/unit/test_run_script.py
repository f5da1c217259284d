"""``tests/run`` says no when something is wrong, and bounds itself."""

import ast
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENGINES = "tests/contract/results/engines.txt"
TOOLS = ("ruff", "mypy", "lint-imports", "pytest", "python")


BASE = frozenset({"sh", "bash", "cat", "echo", "env", "grep", "sha256sum", "sleep", "true"})
"""What every Debian has."""
BROUGHT = frozenset({"python3", "transformers"})
"""What the environment of the tests brings."""
STARTS = frozenset({"run", "Popen", "check_output", "check_call"})
NAMES = frozenset({"which", "needs"})


def programs_of(path: Path) -> set[str]:
    """Programs that a test names: as the first word of a command, for ``which`` or ``needs``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            found |= {word for argument in commands(node) for word in first_words(argument)}
    return {word for word in found if re.fullmatch(r"[a-z][a-z0-9+.-]*", word)}


def commands(node: ast.Call) -> list[ast.expr]:
    of, name = node.func, getattr(node.func, "attr", "")
    if name in NAMES:
        return node.args
    ours = isinstance(of, ast.Attribute) and getattr(of.value, "id", "") == "subprocess"
    return node.args[:1] if ours and name in STARTS else []


def first_words(argument: ast.expr) -> list[str]:
    if isinstance(argument, ast.List | ast.Tuple):
        return first_words(argument.elts[0]) if argument.elts else []
    if isinstance(argument, ast.Starred):
        return first_words(argument.value)
    value = argument.value if isinstance(argument, ast.Constant) else None
    return [value] if isinstance(value, str) else []


def test_every_program_that_a_test_starts_is_seen_to_by_the_script(checkout):
    script = (checkout / "tests" / "run").read_text()
    listed = re.search(r"^programs=\((.*?)\)$", script, re.MULTILINE | re.DOTALL)
    assert listed is not None
    known = BASE | BROUGHT | {entry.partition(":")[0] for entry in listed[1].split()}
    tests = [p for p in (checkout / "tests").rglob("*.py") if "bench" not in p.parts]
    unknown = {str(p.relative_to(checkout)): programs_of(p) - known for p in tests}
    assert {path: names for path, names in unknown.items() if names} == {}


@pytest.fixture
def clone(tmp_path: Path, checkout: Path) -> Path:
    """A checkout whose tools are stand-ins that note their call and succeed."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "run").write_text((checkout / "tests" / "run").read_text())
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\n[project]\nname = "x"\ndependencies = []\n'
    )
    for engines in (tmp_path / ENGINES, tmp_path / ".tests" / "eval-venv" / "ready"):
        engines.parent.mkdir(parents=True)
        engines.write_text("an-engine==1\n")
    tools = tmp_path / ".venv-tests" / "bin"
    tools.mkdir(parents=True)
    for tool in TOOLS:
        stand_in(tools / tool, 0)
    return tmp_path


def stand_in(path: Path, status: int) -> None:
    root = path.parents[2]
    wheel = f"mkdir -p {root}/.tests/dist; touch {root}/.tests/dist/pfid-0-py3-none-any.whl"
    call = f"echo {path.name} $1 >> {root}/calls"
    path.write_text(f"#!/bin/sh\n{call}\n{wheel if path.name == 'python' else ''}\nexit {status}\n")
    path.chmod(0o755)


def run(clone: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run it with its environment already made: the key is what it would compute."""
    source = (clone / "tests" / "run").read_text()
    script = source.replace('$(cat "$venv/key" 2>/dev/null)', "$key")
    assert script != source
    (clone / "tests" / "run").write_text(script)
    done = subprocess.run(
        ["bash", clone / "tests" / "run", *arguments],
        env=dict(os.environ) | {"CI": "false"} | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    (clone / "tests" / "run").write_text(source)
    return done


def calls(clone: Path) -> list[str]:
    return (clone / "calls").read_text().splitlines()


@pytest.mark.parametrize(("tier", "halves"), [("quick", 1), ("full", 2)])
def test_everything_clean_runs_lint_and_tests(clone, tier, halves):
    done = run(clone, tier)
    assert done.returncode == 0, done.stderr
    tools = [call.split()[0] for call in calls(clone) if not call.startswith("python")]
    assert tools == ["ruff", "ruff", "mypy", "lint-imports", *["pytest"] * halves]


@pytest.mark.parametrize("half", ["not alone", "alone"])
@pytest.mark.parametrize(("status", "arguments", "whole"), [(1, [], 1), (5, [], 1), (5, ["-x"], 0)])
def test_each_half_of_everything_counts(clone, half, status, arguments, whole):
    """Status 5, no tests: where arguments chose them, one half may have none."""
    pytest_ = clone / ".venv-tests" / "bin" / "pytest"
    fails = f'case "$*" in *"-m {half} "*) exit {status};; esac'
    pytest_.write_text(f"#!/bin/sh\necho pytest >> {clone}/calls\n{fails}\n")
    done = run(clone, "full", *arguments)
    assert done.returncode == whole, done.stderr
    assert calls(clone).count("pytest") == 2


def fails(clone: Path, *, tests: int, again: int = 0, status: int = 1, half: str = "not alone"):
    """Let so many tests fail beside others; tried once more, the run ends with ``again``."""
    names = json.dumps({f"test_a.py::test_{number}": True for number in range(tests)})
    noted = clone / ".tests" / "pytest-cache" / "v" / "cache"
    (clone / ".venv-tests" / "bin" / "pytest").write_text(
        f"#!/bin/sh\n"
        f'echo "pytest $*" >> {clone}/calls\n'
        f'case "$*" in *--last-failed*) exit {again};; esac\n'
        f'case "$*" in *"-m {half} "*) mkdir -p {noted}; echo \'{names}\' > {noted}/lastfailed; '
        f"exit {status};; esac\n"
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("what", "whole"),
    [
        ({"tests": 1, "half": "alone"}, 0),
        ({"tests": 8}, 0),
        ({"tests": 1, "again": 1}, 1),
        ({"tests": 1, "again": 5}, 1),
    ],
)
def test_what_failed_beside_others_is_tried_once_more_and_named(clone, what, whole):
    fails(clone, **what)
    done = run(clone, "full")
    assert done.returncode == whole, done.stderr
    again = [call for call in calls(clone) if "--last-failed" in call]
    assert len(again) == 1
    assert " -n " not in again[0]
    told = re.findall(r"FAILED BESIDE OTHERS and passed alone: test_a.py::test_\d", done.stdout)
    assert len(told) == (0 if whole else what["tests"])


@pytest.mark.full
@pytest.mark.parametrize("what", [{"tests": 9}, {"tests": 0}, {"tests": 1, "status": 9}])
def test_more_than_a_few_and_what_is_no_failed_test_are_not_tried_again(clone, what):
    fails(clone, **what)
    done = run(clone, "full")
    assert done.returncode != 0
    assert not [call for call in calls(clone) if "--last-failed" in call]


@pytest.mark.full
def test_what_failed_in_an_earlier_run_is_not_this_ones(clone):
    fails(clone, tests=3)
    assert run(clone, "full").returncode == 0
    fails(clone, tests=1, half="no half")
    assert "FAILED BESIDE" not in run(clone, "full").stdout


@pytest.mark.parametrize("tool", ["ruff", "mypy", "lint-imports", "pytest", "python"])
@pytest.mark.parametrize("tier", ["quick", "full"])
def test_whatever_fails_fails_the_whole(clone, tier, tool):
    stand_in(clone / ".venv-tests" / "bin" / tool, 1)
    assert run(clone, tier).returncode != 0
    if tool != "pytest":
        assert not any(call.startswith("pytest") for call in calls(clone))


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("false", 0)])
def test_what_is_fetched_beside_is_there_before_the_tests_or_left_out_with_a_word(
    clone, ci, status
):
    (clone / ENGINES).write_text("no-such-engine @ file:///nowhere\n")
    pip = clone / "pip"
    pip.mkdir()
    (pip / "pip.conf").write_text("[global]\nno-index = true\n")
    done = run(clone, "full", CI=ci, PIP_CONFIG_FILE=str(pip / "pip.conf"))
    assert done.returncode == status
    assert "nowhere" in done.stderr
    assert ("are left out" in done.stdout) == (ci == "false")
    assert calls(clone).count("pytest") == 0 if status else 2


@pytest.mark.parametrize("place", ["tmp", "home/.config/a"])
@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("false", 0)])
def test_what_tests_leave_outside_fails_them_where_nobody_else_is_at_work(clone, place, ci, status):
    leaves = clone / place
    leaves.mkdir(parents=True)
    (leaves / "before").touch()
    pytest_ = clone / ".venv-tests" / "bin" / "pytest"
    pytest_.write_text(f"#!/bin/sh\ntouch {leaves}/pfid-strange\n")
    (clone / "tmp").mkdir(exist_ok=True)
    done = run(clone, "full", CI=ci, TMPDIR=str(clone / "tmp"), HOME=str(clone / "home"))
    assert done.returncode == status, done.stderr
    assert ("left behind" in done.stderr) == bool(status)
    assert "before" not in done.stderr
    assert {path.name for path in (clone / "tmp").iterdir()} <= {"before", "pfid-strange"}


def test_nothing_that_runs_beside_outlives_it(clone):
    """The lint fails while the environment of the judged engines is being made."""
    (clone / ENGINES).write_text("an-engine==2\n")
    (clone / "bin").mkdir()
    slow = clone / "bin" / "python3"
    slow.write_text(
        f'#!/bin/sh\n[ "$2" = venv ] || exec {sys.executable} "$@"\n'
        f"echo $$ > {clone}/beside\nexec sleep 600\n"
    )
    slow.chmod(0o755)
    stand_in(clone / ".venv-tests" / "bin" / "ruff", 1)
    done = run(clone, "full", PATH=f"{clone / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 1
    pid = int((clone / "beside").read_text())
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.05)
    pytest.fail("it goes on")


def test_a_tier_that_does_not_exist_is_refused(clone):
    assert run(clone, "quik").returncode == 1


def test_a_run_that_hangs_is_ended(clone):
    slow = clone / ".venv-tests" / "bin" / "ruff"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    source = (clone / "tests" / "run").read_text()
    bounded, changed = re.subn(r"\bbound=\d+m\b", "bound=1s", source)
    assert changed
    (clone / "tests" / "run").write_text(bounded)
    done = run(clone, "quick")
    assert done.returncode == 124
    assert "stopped after 1s" in done.stderr
