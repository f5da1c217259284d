"""An operator's program is waited for itself, within its time, and what it says is bounded."""

import os
import time
from pathlib import Path

import pytest

from pfid.workers.notify_command import TAIL_BYTES, run


def shell(script, notice=b"{}", **more):
    return run(["/bin/sh", "-c", script], notice, **more)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(look):
    ends_at = time.monotonic() + 20
    while not look() and time.monotonic() < ends_at:
        time.sleep(0.02)
    return look()


def test_it_gets_the_notice_and_its_status_and_last_words_come_back():
    assert shell("cat >&2; exit 3", b'{"a": 1}') == (3, '{"a": 1}')
    assert shell("cat") == (0, "")
    assert shell("kill -9 $$") == (-9, "")


def test_a_notice_that_nobody_reads_holds_nothing_up():
    assert shell("exit 0", b"x" * 2_000_000) == (0, "")


def test_what_it_leaves_running_is_not_waited_for(tmp_path):
    left = tmp_path / "left"
    script = f"sleep 1000 & echo $! > {left}; echo why >&2; exit 3"
    assert shell(script) == (3, "why")
    pid = int(left.read_text())
    assert is_alive(pid), "it may leave something running"
    os.kill(pid, 9)


def test_of_much_that_it_says_the_end_is_kept():
    status, said = shell("yes | head -c 5000000 >&2; echo the end >&2; exit 1")
    assert status == 1
    assert len(said) <= TAIL_BYTES
    assert said.endswith("the end")


def test_one_that_does_not_end_is_killed_with_what_it_started(tmp_path):
    started = tmp_path / "started"
    script = f"sleep 1000 & echo $! > {started}; yes >&2"
    with pytest.raises(TimeoutError, match="did not end within 1 s"):
        shell(script, timeout_s=1.0)
    pid = int(started.read_text())
    assert until(lambda: not is_alive(pid) or _is_zombie(pid))


def _is_zombie(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_one_that_closes_its_mouth_is_still_waited_for():
    assert shell("exec 2>&-; sleep 0.2; exit 5") == (5, "")


def test_one_that_is_not_there_cannot_be_started():
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], b"")
