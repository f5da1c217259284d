"""``pfid run --instrument``: what a program is given, what is said, and what is judged."""

import json
import sys

import pytest

SILENT = ("steps_unreported", "fail")
LOOP = (
    "import sys, time; sys.path.insert(0, {libraries!r})\n"
    "import torch; optimizer = torch.optim.Optimizer()\n"
    "for i in range(1, {steps} + 1):\n"
    "    optimizer.step(); time.sleep({pause})\n"
    "    print('iter %d: loss 2.1, time 20.00ms, mfu 1.00%%' % i, flush=True)\n"
)


@pytest.fixture
def loop(user):
    """A stand-in for torch, and a program that trains with it and logs its steps."""
    libraries = user.home / "libraries"
    (libraries / "torch" / "optim").mkdir(parents=True)
    (libraries / "torch" / "__init__.py").write_text(
        "import types\ncompiler = types.SimpleNamespace(is_compiling=bool)\nfrom . import optim\n"
    )
    (libraries / "torch" / "optim" / "__init__.py").write_text(
        "from .optimizer import Optimizer\ndel optimizer\n"
    )
    (libraries / "torch" / "optim" / "optimizer.py").write_text(
        "import torch\n"
        "pre, post = [], []\n"
        "def register_optimizer_step_pre_hook(hook): pre.append(hook)\n"
        "def register_optimizer_step_post_hook(hook): post.append(hook)\n"
        "class Optimizer:\n"
        "    param_groups = ()\n"
        "    def step(self):\n"
        "        for hook in pre: hook(self, (), {})\n"
        "        for hook in post: hook(self, (), {})\n"
    )

    def program(steps=20, pause=0.02):
        return LOOP.format(libraries=str(libraries), steps=steps, pause=pause)

    return program


def steps_file(user, record):
    text = (user.run_dir(record) / "steps" / "rank-0.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def shown(user):
    """What ``pfid show`` prints; nothing while the run's own engine is coming up."""
    said = user.pfid("show", "train", "--json").stdout
    told = json.loads(said) if said else {"run": None}
    return None if told["run"] is None else told


def test_steps_are_reported_with_no_line_changed(user, loop, eventually):
    done = user.run("--instrument", "--", sys.executable, "-c", loop())
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    (record,) = user.records()
    lines = steps_file(user, record)
    assert lines[0] == {"note": "instrumented"}
    assert [line["step"] for line in lines if "step" in line] == list(range(1, 21))

    def counted():
        found = shown(user)
        return found and found["run"]["steps"] == 20 and found["run"]

    run = eventually(counted, "the steps")
    assert run["step_seconds"]["clock"] == "reported"
    assert run["optimizers"] == ["Optimizer"]


def test_without_it_the_environment_is_left_alone(user):
    code = "import os; print(os.environ.get('PYTHONPATH'))"
    user.run("--", sys.executable, "-c", code, PYTHONPATH="/mine")
    assert user.text().endswith("\n/mine\n")
    (record,) = user.records()
    assert steps_file(user, record) == []


def test_an_interpreter_that_cannot_see_is_told_before_and_after(user, loop):
    done = user.run("--instrument", "--", sys.executable, "-I", "-c", loop(2))
    assert done.returncode == 0
    before, after = (line for line in done.stderr.splitlines() if "WARNING" in line)
    assert "isolated (-I)" in before
    assert "saw no optimizer step" in after
    assert all("StepReporter().report()" in line for line in (before, after))


@pytest.mark.full
def test_steps_in_the_log_and_none_from_inside_fail_a_check_that_names_the_call(
    user, loop, eventually
):
    user.start_run("--instrument", "--", "env", "-i", sys.executable, "-c", loop(900, 0.1))

    def verdict():
        found = shown(user) or {"verdicts": ()}
        return next(
            (
                v
                for v in found["verdicts"]
                if v["check"] == "steps_unreported" and v["outcome"] == "fail"
            ),
            None,
        )

    failed = eventually(verdict, "the verdict")
    assert failed["reason"] == "nobody_attached"
    assert "StepReporter().report()" in failed["summary"]
