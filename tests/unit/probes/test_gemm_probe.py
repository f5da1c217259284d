"""The script that the training interpreter runs: its own arithmetic, and its refusals."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pfid.probes import gemm

SCRIPT = Path(gemm.__file__)


def test_it_is_python_3_9_and_needs_nothing_but_the_standard_library_to_start():
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 9))
    top = {n.names[0].name for n in tree.body if isinstance(n, ast.Import)}
    assert top <= {"argparse", "json", "sys", "time"}


@pytest.mark.parametrize(
    ("count", "took", "expected"),
    [(1, 0.05, 10), (1, 0.001, 10), (100, 0.5, 100), (100, 5.0, 10), (1, 10.0, 1), (8, 0.0, 16)],
)
def test_blocks_grow_until_they_take_half_a_second(count, took, expected):
    assert gemm.repetitions(count, took) == expected


def test_a_block_is_timed_from_idle_to_idle():
    calls = []
    took = gemm.timed(lambda: calls.append("work"), lambda: calls.append("wait"), 3)
    assert calls == ["wait", "work", "work", "work", "wait"]
    assert took >= 0


def run(*arguments, **environ):
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environ},
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_an_interpreter_without_torch_is_told_so(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('none here')\n")
    assert run(PYTHONPATH=str(tmp_path)) == (3, [{"event": "refused", "reason": "no_torch"}])


@pytest.mark.full
@pytest.mark.torch
def test_a_box_without_cuda_is_refused_by_the_real_torch():
    assert run() == (3, [{"event": "refused", "reason": "no_cuda"}])
