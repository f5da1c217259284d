"""A ledger where git is broken, files are closed, the disk is full: said, and nothing is lost."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.adapters.ledger_file import rewrite
from pfid.cli.entry import main
from pfid.config.claims import load_claims
from pfid.domain.errors import PfidError

OLD = ("--text", "in hours", "--figure", "4.3", "--unit", "h", "--derived", "a comment")
SAID = ("--falls", "the window", "--survives", "the cache", "--withdrawn")
NOBODY = 65_534


@pytest.fixture
def folder(monkeypatch):
    """One that others may enter, with a superseded claim."""
    made = Path(tempfile.mkdtemp(prefix="pfid-ledger-"))
    made.chmod(0o755)
    monkeypatch.chdir(made)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(made.parent))
    call("add", "k", *OLD, "--expires", "2999-01-01")
    call("supersede", "k", *SAID)
    yield made
    shutil.rmtree(made)


def call(*arguments):
    done = CliRunner().invoke(main, ["claims", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def checked(exit_code):
    done = call("check", "--json")
    assert done.exit_code == exit_code, done.output
    return json.loads(done.stdout)


def test_no_file_to_look_through_is_unknown_and_never_clean(folder):
    """A superseded figure was said to stand nowhere, of no files at all."""
    (said,) = checked(3)["findings"]
    assert said["code"] == "nothing_searched"
    assert "not one file was looked through" in said["text"]
    (folder / "weights.bin").write_bytes(b"4.3 h\0")
    assert "(1 left out)" in checked(3)["findings"][0]["text"]
    (folder / "run.sh").write_text("echo\n")
    assert checked(0)["findings"] == []


@pytest.mark.needs("git")
def test_a_git_that_cannot_name_the_files_is_unknown_and_never_clean(folder, tmp_path, monkeypatch):
    """It answers everything but which files there are: a lock, a broken index, a time limit."""
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    (folder / "run.sh").write_text("# 4.3 h\n")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "c")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    assert [f["code"] for f in checked(1)["findings"]] == ["superseded_stands"]
    lame = tmp_path / "git"
    real = shutil.which("git")
    names = 'case "$*" in *--stage* | *"ls-files -v"*) ;; *ls-files*) exit 128 ;; esac'
    lame.write_text(f'#!/bin/sh\n{names}\nexec {real} "$@"\n')
    lame.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = checked(3)
    assert [(f["outcome"], f["code"]) for f in found["findings"]] == [("unknown", "search_failed")]
    assert found["ok"] is not True


@pytest.mark.needs("git")
def test_a_repository_that_git_cannot_read_is_looked_through_without_it(folder):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "run.sh").write_text("# 4.3 h\n")
    (folder / ".git" / "index").write_bytes(b"DIRC, or not")
    assert [f["code"] for f in checked(1)["findings"]] == ["superseded_stands"]


def test_a_file_that_is_closed_to_us_is_named_and_never_clean(folder):
    (folder / "notes.md").write_text("it takes 4.3 h")
    (folder / "notes.md").chmod(0o000)
    found = as_nobody(lambda: checked(3))
    assert [(f["code"], f["where"]) for f in found["findings"]] == [("file_unread", "notes.md")]


def as_nobody(look):
    """Root reads whatever is closed."""
    if os.geteuid() != 0:
        return look()
    checked(1)  # what it imports may be closed to others, too
    os.seteuid(NOBODY)
    try:
        return look()
    finally:
        os.seteuid(0)


def test_a_socket_and_a_pipe_hold_no_figure(folder):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("socket")
    os.mkfifo(folder / "pipe")
    (folder / "run.sh").write_text("echo\n")
    assert checked(0)["findings"] == []
    listener.close()


def test_a_full_disk_leaves_the_ledger_as_it_was_and_no_draft_behind(folder):
    before = (folder / "claims.toml").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), limits[1]))
    try:
        done = call("add", "l", *OLD, "--expires", "2999-01-01")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert done.exit_code == 3
    assert "cannot be written: File too large" in done.stderr
    assert (folder / "claims.toml").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["claims.toml"]


def test_a_ledger_that_must_be_new_and_one_that_is_a_folder_stay_as_they_are(folder):
    before = (folder / "claims.toml").read_bytes()
    with pytest.raises(PfidError, match="is there already"):
        rewrite(folder / "claims.toml", str.upper, new=True)
    (folder / "other").mkdir()
    with pytest.raises(PfidError, match="is no file"):
        rewrite(folder / "other", str.upper)
    (folder / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(PfidError, match="is not UTF-8"):
        rewrite(folder / "latin.toml", str.upper)
    assert (folder / "claims.toml").read_bytes() == before


def test_what_people_read_says_where_it_still_stands_and_how_much_was_looked_at(folder):
    call("add", "l", "--text", "t", "--figure", "609", "--unit", "MB", "--measured", "du")
    (folder / "run.sh").write_text("# the 609 MB cache\n")
    done = call("supersede", "l", *SAID)
    assert "l: 609 MB is superseded" in done.stderr
    assert "still stands: run.sh:1: 609 MB" in done.stderr
    done = call("check")
    assert done.exit_code == 1
    assert "superseded stands" in done.stdout
    assert "2 superseded figures looked for in 1 file by" in done.stderr


@pytest.mark.parametrize("figure", ["soon", "4.3..", "..", "1..2..3", "inf"])
def test_a_figure_that_is_no_number_is_a_fault_of_usage(folder, figure):
    done = call("add", "l", "--text", "t", "--measured", "m", "--figure", figure)
    assert done.exit_code == 2
    assert "is not like 4.3 or 9.49..14.07" in done.stderr
    assert len(load_claims(folder / "claims.toml").claims) == 1
