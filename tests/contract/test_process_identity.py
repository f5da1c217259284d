"""Identity and exit status of real processes."""

import os
import signal
import subprocess
import time

import pytest

from pfid.adapters import process_identity
from pfid.domain.errors import ProcessGoneError
from pfid.domain.exit_status import ExitStatus


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_a_captured_process_is_known_by_machine_boot_namespace_pid_and_start(sleeper):
    captured = process_identity.capture(sleeper.pid)
    identity = captured.identity
    assert identity.pid == sleeper.pid
    assert identity.start_ticks == process_identity.read_stat(sleeper.pid).start_ticks
    assert identity.boot_id == process_identity.boot_id()
    assert identity.machine_id == process_identity.machine_id() != ""
    assert identity.pid_namespace == process_identity.pid_namespace()
    assert not process_identity.has_ended(captured.pidfd)
    os.close(captured.pidfd)


def test_the_start_is_close_to_now_in_wall_time(sleeper):
    ticks = process_identity.read_stat(sleeper.pid).start_ticks
    assert abs(process_identity.started_at_s(ticks) - time.time()) < 30


def test_a_zombie_is_gone_though_its_pid_answers_to_kill_0(sleeper):
    pidfd = process_identity.open_pidfd(sleeper.pid)
    sleeper.kill()
    assert process_identity.wait_ended(pidfd, 10)
    os.kill(sleeper.pid, 0)
    assert process_identity.read_stat(sleeper.pid).dead
    with pytest.raises(ProcessGoneError, match="has ended"):
        process_identity.capture(sleeper.pid)
    os.close(pidfd)


def test_nothing_there_is_said(sleeper):
    sleeper.kill()
    sleeper.wait()
    for ask in (process_identity.capture, process_identity.read_stat, process_identity.open_pidfd):
        with pytest.raises(ProcessGoneError, match=str(sleeper.pid)):
            ask(sleeper.pid)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 0", ExitStatus(exit_code=0)),
        ("exit 7", ExitStatus(exit_code=7)),
        ("kill -KILL $$", ExitStatus(signal=signal.SIGKILL)),
    ],
)
def test_the_kernel_tells_the_status_only_after_reaping(script, expected):
    process = subprocess.Popen(["sh", "-c", f"read x; {script}"], stdin=subprocess.PIPE)
    pidfd = process_identity.open_pidfd(process.pid)
    assert process_identity.exit_status(pidfd) is None
    process.stdin.close()
    assert process_identity.wait_ended(pidfd, 10)
    assert process_identity.exit_status(pidfd) is None
    process.wait()
    status = process_identity.exit_status(pidfd)
    os.close(pidfd)
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 15):
        assert status == expected
    else:
        assert status in (None, expected)


def test_a_descriptor_that_is_no_pidfd_has_no_status(tmp_path):
    with (tmp_path / "f").open("wb") as file:
        assert process_identity.exit_status(file.fileno()) is None


def test_waiting_for_a_living_process_returns(sleeper):
    pidfd = process_identity.open_pidfd(sleeper.pid)
    assert not process_identity.wait_ended(pidfd, 0.01)
    os.close(pidfd)
