"""With a terminal: the child has the foreground, Ctrl-C, Ctrl-Z and fg behave, output is shown.

A real pseudo-terminal with a real shell that does job control stands in for the person.
"""

import os
import pty
import re
import select
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

PFID = f"{sys.executable} -P -m pfid"
CTRL_C, CTRL_Z, CTRL_BACKSLASH = b"\x03", b"\x1a", b"\x1c"
WAITS_FOR_GO = """
import os, sys, time
print("up", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
print("more", flush=True)
"""
"""No shell that starts a sleep again and again: a stop that falls between its vfork and its exec
stops the sleep alone, and a shell that waits for an exec cannot be stopped."""


def waiting_child(user, then):
    """The command of a child that waits for a file, then does something."""
    (user.work / "child.py").write_text(WAITS_FOR_GO + then)
    return f"{PFID} run --name train -- {sys.executable} child.py"


class Person:
    """Types at a shell and reads the screen."""

    def __init__(self, user):
        self.screen = ""
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(user.work)
            shell = ["bash", "--norc", "--noprofile", "-i"]
            os.execvpe(shell[0], shell, user.environ | {"PS1": "READY$ ", "TERM": "dumb"})

    def types(self, keys):
        os.write(self._terminal, keys if isinstance(keys, bytes) else keys.encode() + b"\n")

    def sees(self, pattern, within_s=30):
        """Read until the pattern is on the screen; what was read before it is forgotten."""
        deadline_s = time.monotonic() + within_s
        while not (found := re.search(pattern, self.screen)):
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._terminal], [], [], left_s)[0]:
                pytest.fail(f"{pattern!r} is not on the screen: {self.screen!r}")
            self.screen += os.read(self._terminal, 65536).decode(errors="replace")
        self.screen = self.screen[found.end() :]
        return found

    def leaves(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


@pytest.fixture
def person(user):
    it = Person(user)
    it.sees(r"READY\$ ")
    yield it
    it.leaves()


def test_output_is_shown_and_logged_but_the_first_line_is_only_logged(person, user):
    person.types(f"{PFID} run --name train -- sh -c 'echo see-$((40+2)); exit 3'; echo code=$?")
    person.sees("see-42")
    person.sees("code=3")
    assert "# pfid run" not in person.screen
    assert user.text().splitlines()[1:] == ["see-42"]
    assert user.text().startswith("# pfid run")


def test_a_child_may_read_the_terminal_and_the_shell_gets_it_back(person, user):
    person.types(f"{PFID} run --name train -- sh -c 'echo go-on; read x; echo got-$x'")
    person.sees("go-on")
    person.types("hello")
    person.sees("got-hello")
    person.sees(r"READY\$ ")
    person.types("echo shell-$((1+1))")
    person.sees("shell-2")


def test_ctrl_c_ends_the_child_and_is_not_relaunched(person, user):
    person.types(f"{PFID} run --name train --restart 5 -- sh -c 'echo up; sleep 60'; echo code=$?")
    person.sees(r"\nup")
    person.types(CTRL_C)
    person.sees("code=130")
    [record] = user.records()
    assert record["end"]["signal"] == signal.SIGINT


def test_a_child_that_handles_ctrl_c_decides_itself(person, user):
    script = "trap 'echo caught; exit 7' INT; echo up; while :; do sleep 0.1; done"
    person.types(f'{PFID} run --name train -- sh -c "{script}"; echo code=$?')
    person.sees(r"\nup")
    person.types(CTRL_C)
    person.sees("caught")
    person.sees("code=7")


def test_ctrl_backslash_quits(person, user):
    person.types(f"ulimit -c 0; {PFID} run --name train -- sh -c 'echo up; sleep 60'; echo code=$?")
    person.sees(r"\nup")
    person.types(CTRL_BACKSLASH)
    person.sees("code=131")


def test_ctrl_z_stops_the_whole_job_and_fg_goes_on_with_the_terminal(person, user, eventually):
    person.types(waiting_child(user, "print('got-' + input(), flush=True)"))
    person.sees(r"\nup")
    person.types(CTRL_Z)
    person.sees("Stopped")
    person.sees(r"READY\$ ")
    [record] = user.records()
    state = lambda: stat_state(record["process"]["pid"])  # noqa: E731 - asked again and again
    eventually(lambda: state() == "T", "the child to be stopped")
    assert stat_state(record["launcher"]["pid"]) == "T"
    (user.work / "go").touch()
    time.sleep(0.3)
    assert "more" not in user.text(), "a stopped child does nothing"
    person.types("fg")
    person.sees(r"\nmore")
    person.types("hello")
    person.sees("got-hello")
    person.sees(r"READY\$ ")


def test_bg_lets_it_run_and_fg_brings_ctrl_c_back(person, user, eventually):
    person.types(waiting_child(user, "time.sleep(60)"))
    person.sees(r"\nup")
    person.types(CTRL_Z)
    person.sees("Stopped")
    person.types("bg")
    (user.work / "go").touch()
    person.sees(r"more\r")
    person.types("echo shell-$((1+1))")
    person.sees("shell-2")
    person.types("fg")
    time.sleep(0.5)
    person.types(CTRL_C)
    person.sees("signal 2")
    person.sees(r"READY\$ ")


def test_a_background_launch_does_not_take_the_terminal(person, user):
    person.types(f"{PFID} run --name train -- sh -c 'echo up; sleep 60' &")
    person.sees(r"\nup")
    person.types("echo shell-$((1+1))")
    person.sees("shell-2")
    [record] = user.records()
    person.types(f"kill {record['launcher']['pid']}; wait; echo done-$((1+1))")
    person.sees("done-2")
    assert user.records()[0]["end"]["signal"] == signal.SIGTERM


def test_a_hangup_reaches_the_child(person, user, eventually):
    person.types(f"{PFID} run --name train -- sh -c 'echo up; sleep 60'")
    person.sees(r"\nup")
    [record] = user.records()
    os.kill(record["launcher"]["pid"], signal.SIGHUP)
    eventually(lambda: user.records()[0]["end"], "the end")
    assert user.records()[0]["end"]["signal"] == signal.SIGHUP


def test_an_operators_sigstop_stops_the_run_but_not_the_launcher(person, user, eventually):
    person.types(f"{PFID} run --name train -- sh -c 'echo up; exec sleep 60'")
    person.sees(r"\nup")
    [record] = user.records()
    os.kill(record["process"]["pid"], signal.SIGSTOP)
    eventually(lambda: stat_state(record["process"]["pid"]) == "T", "the stop")
    time.sleep(0.3)
    assert stat_state(record["launcher"]["pid"]) == "S"
    os.kill(record["process"]["pid"], signal.SIGCONT)
    person.types(CTRL_C)
    person.sees("signal 2")


def stat_state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_without_a_shell_that_could_continue_it_ctrl_z_stops_nothing_for_ever(user, eventually):
    """In an orphaned process group the kernel ignores a launcher's stop: the child goes on."""
    command = shlex.split(waiting_child(user, "sys.exit(5)"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(user.work)
        os.execvpe(command[0], command, user.environ)
    eventually(lambda: "up" in user.text(), "output")
    os.write(terminal, CTRL_Z)
    time.sleep(0.5)
    (user.work / "go").touch()
    eventually(lambda: drained(terminal) and user.records()[0]["end"], "the end")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(terminal)


def drained(terminal):
    """Read what is there, so that nobody blocks on a full terminal."""
    while select.select([terminal], [], [], 0)[0]:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    return True
