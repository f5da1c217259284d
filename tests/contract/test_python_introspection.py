"""The training interpreter answers, or there is one reason of its own why it does not."""

import ast
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from pfid.adapters import bounded_process, python_introspection
from pfid.adapters.python_introspection import PythonIntrospection
from pfid.spec.ports.python import PythonProblem

PYTHON = sys.executable
OLD = """#!/bin/sh
exec {python} -c "import sys, runpy
sys.version_info = (3, 6, 9)
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition('/')[0]
runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""
FAKES = {
    "crashes": ("#!/bin/sh\nkill -SEGV $$\n", PythonProblem.CRASHED, "signal 11"),
    "fails": ("#!/bin/sh\necho no such module >&2; exit 3\n", PythonProblem.CRASHED, "no such"),
    "greets": ("#!/bin/sh\necho hello; echo hello >&3\n", PythonProblem.RUBBISH, "hello"),
    "pretends": ("#!/bin/sh\necho '{\"pfid\": 1}' >&3\n", PythonProblem.RUBBISH, "no JSON object"),
    "silent": ("#!/bin/sh\nexit 0\n", PythonProblem.RUBBISH, "said nothing"),
    "floods": ("#!/bin/sh\nexec yes >&3\n", PythonProblem.RUBBISH, "far too much"),
    "old": (OLD.format(python=PYTHON), PythonProblem.TOO_OLD, "it is Python 3.6.9"),
    "no_program": ("\x00\x01", PythonProblem.NOT_STARTED, "Exec format error"),
}


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """Questions of a test's own, beside the real ``ask.py``."""
    folder = tmp_path / "probes"
    folder.mkdir()
    shutil.copy(python_introspection.PROBES / "ask.py", folder)
    monkeypatch.setattr(python_introspection, "PROBES", folder)
    return folder


@pytest.fixture
def fake(tmp_path):
    def make(text):
        file = tmp_path / "python"
        file.write_text(text)
        file.chmod(0o755)
        return str(file)

    return make


def ask(question, asked=None, *, python=PYTHON, folder="/", deadline_s=60.0, **environ):
    environ = {"PATH": os.environ["PATH"], **environ}
    interpreter = PythonIntrospection(python, environ, str(folder))
    return interpreter.ask(question, asked, deadline_s=deadline_s)


def test_the_real_interpreter_tells_its_distributions():
    answer = ask("distributions")
    assert answer.problem is PythonProblem.NONE
    assert answer.version == "{}.{}.{}".format(*sys.version_info)
    assert Path(answer.python).samefile(PYTHON)
    from importlib.metadata import version

    assert answer.said["distributions"]["pytest"] == version("pytest")


@pytest.mark.parametrize("how", FAKES)
def test_each_way_not_to_answer_has_a_reason_of_its_own(how, fake):
    text, problem, words = FAKES[how]
    answer = ask("distributions", python=fake(text))
    assert (answer.said, answer.problem) == (None, problem)
    assert words in answer.detail


def test_no_interpreter_and_one_that_nobody_named_are_told_apart():
    assert ask("distributions", python="no-such-python").problem is PythonProblem.NOT_FOUND
    assert ask("distributions", python="/no/python").problem is PythonProblem.NOT_FOUND
    assert ask("distributions", python=None).problem is PythonProblem.NOT_CONFIGURED


def test_one_that_hangs_is_ended_with_everything_it_started(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_process, "TERM_S", 0.1)
    python = fake(f"#!/bin/sh\ntrap '' TERM\nsleep 600 &\necho $! $$ > {tmp_path}/pids\nwait\n")
    answer = ask("distributions", python=python, deadline_s=0.5)
    assert answer.problem is PythonProblem.HUNG
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_a_question_leaves_running_is_ended_and_not_waited_for(questions, tmp_path):
    (questions / "leaves.py").write_text(
        "import subprocess\n"
        "def answer(_):\n    return {'pid': subprocess.Popen(['sleep', '600']).pid}\n"
    )
    answer = ask("leaves")
    state = Path(f"/proc/{answer.said['pid']}/stat")
    until = time.monotonic() + 10
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_libraries_print_is_no_part_of_an_answer(questions):
    (questions / "loud.py").write_text(
        "import os\nprint('welcome')\nos.write(1, b'{\"pfid\": 1}')\n"
        "def answer(asked):\n    return {'got': asked}\n"
    )
    assert ask("loud", {"a": [1, "ü", None]}).said == {"got": {"a": [1, "ü", None]}}


@pytest.mark.parametrize(
    ("body", "problem", "words"),
    [
        ("import no_such_library", PythonProblem.RAISED, "No module named 'no_such_library'"),
        ("import sys; sys.exit(0)", PythonProblem.RAISED, "SystemExit"),
        ("return {'model': object()}", PythonProblem.RAISED, "not JSON serializable"),
        ("return [1]", PythonProblem.RUBBISH, "no JSON object"),
        ("import os; os._exit(0)", PythonProblem.RUBBISH, "said nothing"),
        ("import os; os.abort()", PythonProblem.CRASHED, "signal 6"),
        ("return {'a': 'x' * (1 << 25)}", PythonProblem.RUBBISH, "far too much"),
    ],
)
def test_a_question_that_goes_wrong_there_says_how(questions, body, problem, words):
    (questions / "bad.py").write_text(f"def answer(_):\n    {body}\n")
    answer = ask("bad")
    assert (answer.said, answer.problem) == (None, problem)
    assert words in answer.detail


def test_a_question_imports_what_training_would_and_none_of_our_files(questions, tmp_path):
    (tmp_path / "project_module.py").write_text("HERE = True\n")
    (questions / "profile.py").write_text("raise SystemExit\n")
    (questions / "imports.py").write_text(
        "import os\n"
        "def answer(_):\n"
        "    import profile, project_module\n"
        "    return {'profile': profile.__file__, 'project': project_module.HERE,\n"
        "            'cwd': os.getcwd()}\n"
    )
    said = ask("imports", folder=tmp_path).said
    assert said["project"]
    assert said["cwd"] == str(tmp_path)
    assert "probes" not in said["profile"]
    assert ask("imports", folder=tmp_path, PYTHONSAFEPATH="1").problem is PythonProblem.RAISED


def test_a_question_nobody_wrote_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="no question 'nope'"):
        ask("nope")


def test_an_answer_nobody_waits_for_is_dropped_with_its_interpreter(fake, tmp_path):
    python = fake("#!/bin/sh\nexec sleep 600\n")
    pending = PythonIntrospection(python, {}, str(tmp_path)).start("distributions")
    pid = pending._process._pid
    assert Path(f"/proc/{pid}").exists()
    pending.drop()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("file", "version"),
    [
        (file, (3, 4) if file.stem == "ask" else (3, 9))
        for folder in ("probes", "trainer")
        for file in sorted((Path(python_introspection.__file__).parents[1] / folder).rglob("*.py"))
    ],
    ids=lambda value: getattr(value, "stem", ""),
)
def test_what_runs_in_the_training_interpreter_keeps_to_its_syntax(file, version):
    ast.parse(file.read_text(), feature_version=version)
