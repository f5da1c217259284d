"""One JSON object on stdout and nothing else; nothing a run is called can hurt a terminal."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pfid.cli.output import emit_json, emit_json_line, error, note
from pfid.domain.outcome import Outcome

HOSTILE = "a\x1b[31m\x07\n\u202eb\x9b\udc80é"


@dataclass(frozen=True)
class Thing:
    share: float
    outcome: Outcome


def test_the_schema_comes_first(capsys):
    emit_json({"a": 1})
    assert list(json.loads(capsys.readouterr().out)) == ["schema", "a"]


def test_domain_objects_are_taken_as_they_are(capsys):
    emit_json({"thing": Thing(0.5, Outcome.PASS), "many": (Thing(1.0, Outcome.FAIL),)})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "schema": 1,
        "thing": {"share": 0.5, "outcome": "pass"},
        "many": [{"share": 1.0, "outcome": "fail"}],
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_null(capsys, value):
    emit_json({"deep": [{"x": value}]})
    assert json.loads(capsys.readouterr().out)["deep"] == [{"x": None}]


def test_json_is_pure_ascii_and_comes_back_whole(capsys):
    emit_json({"name": HOSTILE})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "\x1b" not in printed
    assert json.loads(printed)["name"] == HOSTILE


def test_a_line_is_one_line(capsys):
    emit_json_line({"name": "a\nb"})
    emit_json_line({"name": "c"})
    assert [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()] == [
        "a\nb",
        "c",
    ]


def test_notes_and_errors_leave_stdout_alone(capsys):
    note(HOSTILE)
    error(f"first\nsecond {HOSTILE[1:6]}")
    said = capsys.readouterr()
    assert said.out == ""
    assert "\x1b" not in said.err
    assert said.err.splitlines()[1].startswith("pfid: first")
    assert said.err.splitlines()[2].startswith("pfid: second")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_any_encoding_takes_it(encoding):
    code = (
        "from pfid.cli.output import emit_json, note, table\n"
        "name = 'träin…\\udc80'\n"
        "emit_json({'n': name}); note(name); table(('A',), [(name,)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONIOENCODING": encoding, "PATH": "/usr/bin"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode(encoding)
