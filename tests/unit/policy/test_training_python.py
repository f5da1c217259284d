import pytest

from pfid.policy.training_python import (
    BEHIND_A_LAUNCHER,
    NOT_A_PYTHON,
    shebang,
    training_python,
)


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python train.py", "python"),
        ("/venv/bin/python3.12 -m train", "/venv/bin/python3.12"),
        ("python3.13t train.py", "python3.13t"),
        ("nice -n 5 python train.py", "python"),
        ("env A=b CUDA_VISIBLE_DEVICES=0 python train.py", "python"),
        ("numactl --cpunodebind=0 timeout 60 python3 train.py", "python3"),
        ("pypy3 train.py", "pypy3"),
    ],
)
def test_an_interpreter_is_found_behind_what_changes_nothing_for_it(command, program):
    found = training_python(command.split())
    assert (found.program, found.is_script, found.problem) == (program, False, "")


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("torchrun --nproc-per-node 8 train.py", "torchrun"),
        ("./train.py", "./train.py"),
        ("nice -n 5 /venv/bin/accelerate launch train.py", "/venv/bin/accelerate"),
        ("true", "true"),
    ],
)
def test_anything_else_may_be_a_script_of_one(command, program):
    found = training_python(command.split())
    assert (found.program, found.is_script) == (program, True)


@pytest.mark.parametrize(
    "command",
    ["uv run python train.py", "bash train.sh", "srun python train.py", "docker run x python y"],
)
def test_what_may_change_its_environment_is_not_looked_behind(command):
    found = training_python(command.split())
    assert (found.program, found.problem) == ("", BEHIND_A_LAUNCHER)


def test_no_interpreter_is_a_reason():
    assert training_python([]).problem == NOT_A_PYTHON
    assert training_python(["nice", "-n", "5", "./train"]).problem == NOT_A_PYTHON


def test_what_the_command_sets_for_it_is_kept():
    found = training_python(["env", "PYTHONPATH=/x", "python", "-I", "-u", "-c", "-S", "x"])
    assert dict(found.environ) == {"PYTHONPATH": "/x"}
    assert found.flags == ("-I",)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        (b"#!/venv/bin/python\n", "/venv/bin/python"),
        (b"#!/usr/bin/env python3\n", "python3"),
        (b"#!/usr/bin/env -S python3 -u\n", "python3"),
        (b"#! /venv/bin/python3.12 -I\n", "/venv/bin/python3.12"),
        (b"#!/bin/sh\n", ""),
        (b"#!/opt/tool\n", ""),
        (b"\x7fELF\x02", ""),
        (b"", ""),
        (b"#!\xff\n", ""),
    ],
)
def test_a_first_line_names_an_interpreter_or_nothing(line, program):
    assert shebang(line) == program
