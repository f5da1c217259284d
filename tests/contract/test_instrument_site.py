"""What ``pfid run --instrument`` puts before a Python program: it waits, hooks, and makes way.

Real interpreters and a stand-in for torch, which is enough for everything but torch itself.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pfid.trainer

SITE = Path(pfid.trainer.__file__).parent / "site"
TORCH = {
    "torch/__init__.py": "import types\ncompiler = types.SimpleNamespace(is_compiling=bool)\n"
    "from . import optim\n",
    "torch/optim/__init__.py": "from .optimizer import Optimizer\ndel optimizer\n",
    "torch/optim/optimizer.py": """
        import torch
        pre, post = [], []
        class Handle:
            def __init__(self, hooks, hook):
                self.remove = lambda: hooks.remove(hook)
        def register_optimizer_step_pre_hook(hook):
            pre.append(hook)
            return Handle(pre, hook)
        def register_optimizer_step_post_hook(hook):
            post.append(hook)
            return Handle(post, hook)
        class Optimizer:
            param_groups = ()
            def step(self):
                for hook in list(pre): hook(self, (), {})
                self.inner()
                for hook in list(post): hook(self, (), {})
            def inner(self): pass
    """,
}
STEP = "import torch; optimizer = torch.optim.Optimizer(); [optimizer.step() for _ in range(5)]\n"
pytestmark = pytest.mark.skipif(":" in str(SITE), reason="PYTHONPATH is cut at colons")


class Program:
    """Runs Python as it runs below ``pfid run --instrument``."""

    def __init__(self, folder):
        self.folder = folder
        self.run = folder / "run"
        (self.run / "steps").mkdir(parents=True)
        self.libraries = folder / "libraries"
        for name, text in TORCH.items():
            self.write(name, textwrap.dedent(text))

    def write(self, name, text):
        path = self.libraries / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def __call__(self, code, *flags, path=(), **environ):
        entries = [SITE, *path, self.libraries]
        given = {"PYTHONPATH": ":".join(map(str, entries)), "PFID_RUN_DIR": str(self.run)}
        return subprocess.run(
            [sys.executable, *flags, "-c", code],
            env={**given, "PATH": os.environ["PATH"], **environ},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def lines(self):
        files = sorted((self.run / "steps").glob("*"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    @property
    def steps(self):
        return [line["step"] for line in self.lines if "step" in line]


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


def test_every_step_is_reported_and_nothing_is_said(program):
    done = program(STEP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert program.steps == [1, 2, 3, 4, 5]
    assert [line["note"] for line in program.lines if "note" in line] == ["attached", "optimizer"]


def test_torch_is_never_loaded_by_it_and_it_leaves_the_path(program):
    done = program("import sys; print('torch' in sys.modules, *sys.path, sep='\\n')")
    loaded, *path = done.stdout.splitlines()
    assert loaded == "False"
    assert str(SITE) not in path
    assert program.lines == []


def test_it_leaves_the_path_however_it_is_spelt_there(program):
    spelt = f"{SITE}/../site/:{os.path.relpath(SITE, program.folder)}:{program.libraries}"
    done = program(STEP + "import sys; print(*sys.path, sep='\\n')", PYTHONPATH=spelt)
    assert not [entry for entry in done.stdout.splitlines() if entry.rstrip("/").endswith("site")]
    assert program.steps == [1, 2, 3, 4, 5]


def test_a_child_process_is_seen_as_well(program):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STEP!r}], check=True)"
    assert program(code).returncode == 0
    assert program.steps == [1, 2, 3, 4, 5]


def test_the_users_own_sitecustomize_is_imported_as_ever(program):
    program.write("sitecustomize.py", "import sys; sys.stdout.write('own ')\nMARK = 7\n")
    done = program(STEP + "import sitecustomize; print(sitecustomize.MARK)")
    assert (done.stdout, done.stderr) == ("own 7\n", "")
    assert len(program.steps) == 5


def test_a_sitecustomize_that_raises_is_told_by_python_as_ever(program):
    program.write("sitecustomize.py", "1 / 0\n")
    plain = subprocess.run(
        [sys.executable, "-c", "pass"],
        env={"PYTHONPATH": str(program.libraries)},
        capture_output=True,
        text=True,
        check=False,
    )
    done = program(STEP)
    assert "ZeroDivisionError" in plain.stderr
    assert done.stderr == plain.stderr
    assert len(program.steps) == 5


def test_one_that_misses_a_module_is_told_as_ever(program):
    program.write("sitecustomize.py", "import not_there\n")
    assert "not_there" in program(STEP).stderr
    assert len(program.steps) == 5


def test_a_run_inside_a_run_is_seen_once(program):
    assert program(STEP, path=[SITE]).returncode == 0
    assert program.steps == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_an_interpreter_that_looks_at_no_environment_sees_nothing(program, flag):
    code = f"import sys; sys.path.insert(0, {str(program.libraries)!r})\n" + STEP
    assert program(code, flag).returncode == 0
    assert program.lines == []


def test_outside_of_a_run_it_does_nothing(program):
    assert program(STEP, PFID_RUN_DIR="").stderr == ""
    assert program.lines == []


def test_steps_go_on_when_the_file_is_deleted_meanwhile(program):
    code = STEP + f"import os; os.remove({str(program.run / 'steps' / 'rank-0.jsonl')!r})\n"
    code += "[optimizer.step() for _ in range(3)]"
    assert program(code).stderr == ""
    assert program.steps == [6, 7, 8]


def test_lines_that_were_lost_are_counted_in_the_file_once_it_takes_lines_again(program):
    code = (
        f"import os; steps = {str(program.run / 'steps')!r}\n{STEP}"
        "os.rename(steps, steps + '.away')\n"
        "[optimizer.step() for _ in range(4)]\n"
        "os.rename(steps + '.away', steps)\n"
        "[optimizer.step() for _ in range(3)]"
    )
    assert program(code).stderr.count("pfid:") == 1
    assert program.steps == [1, 2, 3, 4, 5, 10, 11, 12]
    assert [line["lines"] for line in program.lines if line.get("note") == "lost"] == [4]


@pytest.mark.parametrize(
    "harm",
    [
        "shutil.rmtree(run + '/steps')",
        "shutil.rmtree(run + '/steps'); open(run + '/steps', 'w').close()",
        (
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)); "
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
        ),
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    ],
    ids=["gone", "a file", "full", "no descriptors"],
)
def test_what_cannot_be_written_costs_one_warning_and_nothing_else(program, harm):
    code = f"import shutil, resource, signal\nrun = {str(program.run)!r}\n{STEP}{harm}\n"
    code += "[optimizer.step() for _ in range(50)]\nprint('done', flush=True)"
    done = program(code)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("pfid:") == 1


def test_descriptors_that_the_program_closed_and_opened_anew_are_never_written_to(program):
    code = (
        STEP + "import os; os.closerange(3, 256)\n"
        "mine = [os.open('mine%d' % i, os.O_CREAT | os.O_RDWR) for i in range(20)]\n"
        "[optimizer.step() for _ in range(50)]"
    )
    assert program(code).returncode == 0
    assert len(program.steps) == 55
    assert all(file.stat().st_size == 0 for file in program.folder.glob("mine*"))


def test_a_torch_without_these_hooks_is_left_alone_with_one_warning(program):
    program.write("torch/optim/optimizer.py", "class Optimizer:\n    def step(self): pass\n")
    done = program(STEP + "print('done')")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1
    assert "not reported" in done.stderr


OLDER = {
    "2.0": "from . import optim\n",
    "2.2": "import types\ncompiler = types.SimpleNamespace()\nfrom . import optim\n",
}
DYNAMO = """
    traced = []
    def is_compiling(): return bool(traced)
    def disable(call):
        def untraced(*given):
            print("outside of the trace")
            return call(*given)
        return untraced
"""
TRACED = "import torch._dynamo as d; d.traced.append(1); optimizer.step(); d.traced.clear()\n"
AGAIN = "[optimizer.step() for _ in range(3)]; print('trained')\n"


@pytest.mark.parametrize("version", OLDER)
def test_an_older_torch_that_cannot_be_asked_is_seen_step_by_step(program, version):
    program.write("torch/__init__.py", OLDER[version])
    program.write("torch/_dynamo.py", textwrap.dedent(DYNAMO))
    done = program(STEP + "import torch._dynamo\n" + TRACED + AGAIN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained\n", "")
    assert program.steps == [1, 2, 3, 4, 5, 6, 7, 8]  # a foreign class that is traced is let alone


@pytest.mark.parametrize("version", OLDER)
def test_a_step_that_an_older_torch_traces_is_reported_outside_of_the_trace(program, version):
    program.write("torch/__init__.py", OLDER[version])
    program.write("torch/_dynamo.py", textwrap.dedent(DYNAMO))
    stock = "import torch.optim as o; o.Optimizer.__module__, o.Optimizer.__name__ = "
    done = program(STEP + stock + "'torch.optim.sgd', 'SGD'\n" + TRACED)
    assert (done.stdout, done.stderr) == ("outside of the trace\n" * 2, "")
    assert program.steps == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "harm",
    [
        "",
        "def disable(call): return call\n",
        "def is_compiling(): return False\n",
        "def is_compiling(): 1 / 0\ndef disable(call): return call\n",
        "def is_compiling(): return False\ndef disable(call): 1 / 0\n",
        "def is_compiling(): return True\ndef disable(call): return call\n",
    ],
    ids=["neither", "no question", "no way out", "question raises", "way out raises", "always"],
)
def test_a_dynamo_that_is_another_one_takes_the_hooks_off_with_one_warning(program, harm):
    program.write("torch/__init__.py", OLDER["2.2"])
    program.write("torch/_dynamo.py", harm)
    left = "o = sys.modules['torch.optim.optimizer']; print(len(o.pre + o.post))"
    done = program(STEP + "import torch._dynamo, sys\n" + AGAIN + left)
    assert (done.returncode, done.stdout) == (0, "trained\n0\n")
    assert done.stderr.count("pfid:") == done.stderr.count("\n") == 1
    assert program.steps == [1, 2, 3, 4, 5]
    assert program.lines[-1]["note"] == "given_up"


def test_hooks_that_the_program_took_off_or_will_not_let_go_end_no_training(program):
    """Each hook is called still, and the handles raise: what is left does nothing."""
    program.write("torch/_dynamo.py", "")
    stuck = "o = sys.modules['torch.optim.optimizer']; o.pre, o.post = list(o.pre), list(o.post)\n"
    stubborn = "o.Handle.remove = None\n"
    text = (program.libraries / "torch/optim/optimizer.py").read_text()
    program.write(
        "torch/optim/optimizer.py", text.replace("lambda: hooks.remove(hook)", "lambda: 1 / 0")
    )
    done = program("import sys\n" + STEP + stuck + stubborn + "import torch._dynamo\n" + AGAIN)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("pfid:") == done.stderr.count("\n") == 1
    assert program.steps == [1, 2, 3, 4, 5]


def test_a_torch_with_one_of_the_two_hooks_keeps_neither(program):
    text = (program.libraries / "torch/optim/optimizer.py").read_text()
    program.write("torch/optim/optimizer.py", text.replace("step_post_hook", "step_late_hook"))
    left = "import sys; print(len(sys.modules['torch.optim.optimizer'].pre))"
    done = program(STEP + left)
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert done.stderr.count("pfid:") == done.stderr.count("\n") == 1


def test_an_error_that_cannot_even_be_shown_ends_no_training(program):
    harm = (
        "import sys; made = sys.modules['_pfid_trainer.torch_hooks']._attached[0]\n"
        "class Odd(Exception):\n"
        "    def __repr__(self): raise self\n"
        "made.give_up(Odd())\n"
    )
    done = program(STEP + harm + AGAIN)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert program.lines[-1]["why"] == "Odd"


def test_a_torch_in_a_zip_whose_modules_share_one_loader_is_attached_to_once(program):
    program.write("torch/optim/other.py", "X = 1\n")
    packed = shutil.make_archive(str(program.folder / "all"), "zip", program.libraries)
    shutil.rmtree(program.libraries)
    done = program(STEP + "import torch.optim.other as o; print(o.X)", path=[packed])
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert program.steps == [1, 2, 3, 4, 5]
    assert [line["note"] for line in program.lines if "note" in line].count("attached") == 1


LEGACY = """import sys
class Legacy:
    def find_module(self, name, path=None): return None
sys.meta_path.insert(0, Legacy())
"""
LOADER = """import importlib.abc, importlib.machinery, sys
class Loader:
    def load_module(self, name):
        module = sys.modules[name] = type(sys)(name)
        module.Optimizer = type("Optimizer", (), {"step": print})
        return module
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torch.optim.optimizer":
            return importlib.machinery.ModuleSpec(name, Loader())
import warnings; warnings.simplefilter("ignore")
sys.meta_path.insert(1, Finder())
"""


def test_a_finder_of_old_that_python_passes_over_is_passed_over(program):
    done = program(LEGACY + STEP, PYTHONWARNINGS="ignore")
    assert (done.returncode, done.stderr) == (0, "")
    assert program.steps == [1, 2, 3, 4, 5]


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="load_module is gone")
def test_a_loader_that_cannot_be_wrapped_loads_as_ever_with_one_warning(program):
    done = program(LOADER + "import torch; print(torch.optim.Optimizer)")
    assert (done.returncode, done.stdout.count("Optimizer")) == (0, 1)
    assert done.stderr.count("pfid:") == done.stderr.count("\n") == 1
    assert program.lines == []


def test_a_fault_of_its_own_takes_the_hooks_off_and_is_noted(program):
    harm = (
        "import sys; made = sys.modules['_pfid_trainer.torch_hooks']._attached[0]\n"
        "made._dynamo = None\n"
        "[optimizer.step() for _ in range(5)]\n"
        "print(len(sys.modules['torch.optim.optimizer'].post))"
    )
    done = program(STEP + harm)
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert done.stderr.count("pfid:") == 1
    assert program.steps == [1, 2, 3, 4, 5]
    assert program.lines[-1]["note"] == "given_up"


def test_what_a_users_signal_handler_raises_in_the_middle_of_a_report_goes_through(program):
    code = (
        "import signal, sys\n"
        + STEP
        + "made = sys.modules['_pfid_trainer.torch_hooks']._attached\n"
        "class Late(Exception): pass\n"
        "def handler(*_): raise Late\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "class Slow:\n"
        "    def changes(self):\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "        while True: pass\n"
        "made[0]._dynamo = Slow()\n"
        "try: optimizer.step()\n"
        "except Late: print('late', len(sys.modules['torch.optim.optimizer'].post))\n"
    )
    done = program(code)
    assert (done.stdout, done.stderr) == ("late 1\n", "")


def test_a_step_that_raises_is_no_step_and_one_inside_another_counts_once(program):
    code = (
        STEP + "class Bad(torch.optim.Optimizer):\n"
        "    def inner(self): raise KeyError\n"
        "class Outer(torch.optim.Optimizer):\n"
        "    def inner(self): optimizer.step()\n"
        "try: Bad().step()\n"
        "except KeyError: pass\n"
        "outer = Outer(); outer.step(); outer.step()"
    )
    assert program(code).stderr == ""
    assert program.steps == [1, 2, 3, 4, 5, 6, 7]
    assert {line.get("opt", 0) for line in program.lines if "step" in line} == {0}


def test_optimizers_are_told_apart_and_an_id_used_again_is_another_one(program):
    code = (
        "import torch\n"
        "for _ in range(4):\n"
        "    optimizer = torch.optim.Optimizer(); optimizer.step(); optimizer.step()\n"
        "    del optimizer\n"
    )
    assert program(code).returncode == 0
    steps = [(line.get("opt", 0), line["step"]) for line in program.lines if "step" in line]
    assert steps == [(opt, step) for opt in range(4) for step in (1, 2)]


def test_more_optimizers_than_anybody_tells_apart_write_nothing(program):
    code = "import torch\nall = [torch.optim.Optimizer() for _ in range(100)]\n"
    assert program(code + "[o.step() for o in all * 3]").returncode == 0
    assert len(program.steps) == 32 * 3


def test_one_optimizer_after_the_other_is_seen_however_many_there_were(program):
    code = "import torch\nfor _ in range(100): torch.optim.Optimizer().step()"
    assert program(code).returncode == 0
    assert len(program.steps) == 100


def test_a_forked_child_that_trains_is_another_writer_and_one_that_does_not_says_nothing(program):
    code = (
        "import os\n" + STEP + "if not (pid := os.fork()):\n    os._exit(0)\nos.waitpid(pid, 0)\n"
        "if not (pid := os.fork()):\n    optimizer.step(); os._exit(0)\nos.waitpid(pid, 0)\n"
    )
    assert program(code).returncode == 0
    last = program.lines[-1]
    assert (last["step"], last["seconds"]) == (1, None)
    assert last["pid"] != program.lines[0]["pid"]
    assert len(program.steps) == 6


REPORTER = "from vendored import StepReporter; reporter = StepReporter()\n"
REPORTED = "for _ in range(3): optimizer.step(); reporter.report(tokens=1)"


@pytest.mark.parametrize(
    ("code", "hooked"),
    [
        pytest.param(STEP + REPORTER, 5, id="torch first"),
        pytest.param(
            REPORTER + "import torch; optimizer = torch.optim.Optimizer()\n", 0, id="last"
        ),
    ],
)
def test_a_step_reporter_takes_over_from_the_hooks_whichever_comes_first(program, code, hooked):
    package = Path(pfid.trainer.__file__).parent
    shutil.copytree(package, program.libraries / "vendored")
    assert program(code + REPORTED).stderr == ""
    told = [line for line in program.lines if "step" in line]
    assert [("tokens" in line) for line in told] == [False] * hooked + [True] * 3


def test_a_file_does_not_grow_by_gigabytes_however_short_the_steps(program):
    code = "import torch; o = torch.optim.Optimizer()\nfor _ in range(60_000): o.step()"
    assert program(code).returncode == 0
    told = [line for line in program.lines if "step" in line]
    assert [line["step"] for line in told[:10_000]] == list(range(1, 10_001))
    merged = told[10_000:]
    assert 0 < len(merged) < 1_000
    assert all(line["interval_steps"] > 1 and line["seconds"] >= 0.01 for line in merged)


def test_every_old_python_can_read_it():
    """Python 2.7's grammar, as far as Python 3 can tell: no newer syntax stands in it."""
    import ast

    tree = ast.parse((SITE / "sitecustomize.py").read_text(), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    arguments = [a for f in functions for a in (*f.args.args, *f.args.kwonlyargs)]
    assert not [f for f in functions if f.returns or f.args.kwonlyargs]
    assert not [a for a in arguments if a.annotation]
