"""A child waits at its gate: nothing of its command runs before it is let go."""

import os
import signal
import time
from contextlib import suppress

import pytest

from pfid.adapters.spawn import ChildStart, find_command, spawn_gated
from pfid.domain.errors import ExecError


@pytest.fixture
def out(tmp_path):
    with (tmp_path / "out").open("wb") as file:
        yield file.fileno()


def start(out, *argv, **more):
    return spawn_gated(ChildStart(argv=argv, environ=dict(os.environ), output=out, **more))


def status(child):
    return os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])


def test_a_released_child_becomes_its_command(out, tmp_path):
    child = start(out, "sh", "-c", "echo $$; exit 5")
    child.release()
    assert status(child) == 5
    assert (tmp_path / "out").read_text() == f"{child.pid}\n"


def test_an_abandoned_child_never_ran_a_line(out, tmp_path):
    start(out, "touch", str(tmp_path / "ran")).abandon()
    assert not (tmp_path / "ran").exists()


def test_a_launcher_that_dies_takes_the_waiting_child_with_it(out, tmp_path):
    told, tell = os.pipe()
    launcher = os.fork()
    if launcher == 0:
        with suppress(BaseException):
            child = start(out, "touch", str(tmp_path / "ran"))
            os.write(tell, str(child.pid).encode())
            time.sleep(60)
        os._exit(1)
    waiting = int(os.read(told, 32))
    pidfd = os.pidfd_open(waiting)
    os.kill(launcher, signal.SIGKILL)
    os.waitpid(launcher, 0)
    deadline_s = time.monotonic() + 20
    while time.monotonic() < deadline_s:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, 0)
            time.sleep(0.02)
            continue
        break
    else:
        pytest.fail("the child waits for ever")
    assert not (tmp_path / "ran").exists()
    for descriptor in (told, tell, pidfd):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("make", "code"), [("absent", 127), ("plain", 126), ("folder", 126), ("interpreter", 127)]
)
def test_what_cannot_be_executed_is_told_with_a_shells_code(out, tmp_path, make, code):
    command = tmp_path / "command"
    if make == "folder":
        command.mkdir()
    elif make != "absent":
        command.write_text("#!/no/such/interpreter\n")
        command.chmod(0o755 if make == "interpreter" else 0o644)
    child = start(out, str(command))
    with pytest.raises(ExecError, match="cannot execute") as raised:
        child.release()
    assert raised.value.exit_code == code
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, 0)


@pytest.mark.parametrize(
    ("command", "code"),
    [("no-such-thing", 127), ("/etc/passwd", 126), ("/etc", 126), ("/none/at/all", 127)],
)
def test_it_is_seen_beforehand_too(command, code):
    with pytest.raises(ExecError) as raised:
        find_command(command, os.environ["PATH"])
    assert raised.value.exit_code == code


def test_what_is_there_is_found():
    find_command("sh", os.environ["PATH"])
    find_command("/bin/sh", None)


def test_the_child_starts_with_the_mask_it_is_given_and_pythons_ignored_signals_restored(
    out, tmp_path
):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
    child = start(out, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", signal_mask=[10])
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    child.release()
    assert status(child) == 0
    blocked, ignored = (line.split()[1] for line in (tmp_path / "out").read_text().splitlines())
    assert int(blocked, 16) == 1 << (signal.SIGUSR1 - 1)
    assert not int(ignored, 16) & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


def test_the_child_leads_its_own_group(out):
    child = start(out, "sleep", "60")
    assert os.getpgid(child.pid) == child.pid
    child.abandon()
