"""A command whose output nobody takes says so by its status and on stderr, never by a trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PFID = (sys.executable, "-P", "-m", "pfid")
COMMANDS = (("--help",), ("config", "show"), ("config", "show", "--json"))
FULL = Path("/dev/full")
WAYS = {"buffered": {"PYTHONUNBUFFERED": ""}, "unbuffered": {"PYTHONUNBUFFERED": "1"}}
"""A person's shell has the one, many a container the other."""


def pfid(*arguments, way="buffered", **streams):
    streams.setdefault("stderr", subprocess.PIPE)
    environ = os.environ | WAYS[way]
    return subprocess.run([*PFID, *arguments], env=environ, text=True, check=False, **streams)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_a_sentence_and_no_answer(arguments, way):
    with FULL.open("wb") as full:
        done = pfid(*arguments, way=way, stdout=full)
    said = "pfid: stdout cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (3, said)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_left_is_told_by_the_status_alone(arguments, way):
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb") as nobody_reads:
        done = pfid(*arguments, way=way, stdout=nobody_reads)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("way", WAYS)
def test_a_note_that_cannot_be_said_changes_no_status(way):
    with FULL.open("wb") as full:
        assert pfid("no-such-command", way=way, stderr=full).returncode == 2
        done = pfid("steps", "/no/such/log", "--json", way=way, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 3


def test_a_run_answers_with_its_child_though_its_json_is_lost(tmp_path):
    child = ("--log", str(tmp_path / "a.log"), "--", "sh", "-c", "echo hi; exit 7")
    with FULL.open("wb") as full:
        done = pfid("run", "--json", *child, stdout=full)
    assert done.returncode == 7
    assert done.stderr.endswith("stdout cannot be written: No space left on device\n")


@pytest.mark.parametrize("closed", ["1", "0,1,2"])
def test_closed_streams_are_never_taken_for_a_file_that_was_opened_since(closed, tmp_path):
    log = tmp_path / "a.log"
    code = (
        "import os, sys\n"
        f"for fd in ({closed},): os.close(fd)\n"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
    )
    command = (*PFID[1:], "run", "--log", str(log), "--", "sh", "-c", "echo hi; exit 7")
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=False)
    assert done.returncode == 7, done.stderr
    first, *rest = log.read_text().splitlines()
    assert first.startswith("# pfid run ")
    assert rest == ["hi"]
