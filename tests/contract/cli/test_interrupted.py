"""Ctrl-C ends a command at once, with what it started, whatever its threads are waiting for."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.full

SUITE = """\
import os, pathlib, time
def test_that_takes_its_time():
    pathlib.Path({marker!r}).write_text(str(os.getpid()))
    time.sleep(600)
"""
STUCK = """\
import threading, time
import click
import pfid.cli.status
from pfid.cli.entry import main

@click.command()
def command():
    threading.Thread(target=time.sleep, args=(600,)).start()
    raise KeyboardInterrupt

pfid.cli.status.command = command
main(["status"])
"""
STUCK_S = 60


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "toy"
    (folder / "tests").mkdir(parents=True)
    marker = tmp_path / "marker"
    (folder / "tests" / "test_a.py").write_text(SUITE.format(marker=str(marker)))
    spec = f'name = "toy"\npython = "{sys.executable}"\n[tests]\nrunner = "pytest"\n'
    (folder / "preflight.toml").write_text(spec)
    commit = "git init -q; git add -A; git -c user.name=n -c user.email=e@example.org commit -qm x"
    subprocess.run(commit, shell=True, cwd=folder, check=True)
    return folder, marker


def test_a_test_suite_that_is_run_ends_with_the_command(project, tmp_path):
    folder, marker = project
    command = subprocess.Popen(
        [sys.executable, "-P", "-m", "pfid", "preflight"],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until_s = time.monotonic() + STUCK_S
    while not (marker.exists() and marker.read_text()) and time.monotonic() < until_s:
        time.sleep(0.05)
    suite = os.pidfd_open(int(marker.read_text()))
    assert not select.select([suite], [], [], 0)[0]
    os.killpg(command.pid, signal.SIGINT)
    _, said = command.communicate(timeout=STUCK_S)
    assert (command.returncode, said) == (130, "pfid: interrupted\n")
    assert select.select([suite], [], [], STUCK_S)[0]
    os.close(suite)


def test_a_thread_that_nobody_can_end_is_not_waited_for():
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=STUCK_S, check=False
    )
    assert (done.returncode, done.stderr) == (130, "pfid: interrupted\n")
