"""A program under a deadline, and what its starter may have inherited."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pfid.adapters.bounded_process import CannotStartError, end_all, run_bounded

SCRIPT = """
import sys
from pfid.adapters.bounded_process import run_bounded
done = run_bounded(["/bin/sh", "-c", "echo said; exit 7"], {}, deadline_s=30)
sys.exit(done.exit_code if done.out == b"said\\n" else 99)
"""


def run(script, **environ):
    return run_bounded(
        ["/bin/sh", "-c", script], {"PATH": "/bin:/usr/bin", **environ}, deadline_s=30
    )


def test_status_signal_output_and_last_words_are_told_apart():
    done = run("echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.signal, done.out, done.last_line()) == (3, None, b"out\n", "err")
    killed = run("kill -TERM $$")
    assert (killed.exit_code, killed.signal) == (None, 15)


def test_a_parent_that_ignores_sigchld_does_not_cost_the_status():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        check=False,
    )
    assert done.returncode == 7


def test_closed_standard_descriptors_of_the_starter_confuse_nothing():
    closed = "import os\nfor fd in (0, 1, 2): os.close(fd)\n"
    assert subprocess.run([sys.executable, "-c", closed + SCRIPT], check=False).returncode == 7


def test_it_reads_nothing_and_hears_no_signal_that_its_starter_blocked():
    assert run("read line || echo empty").out == b"empty\n"
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        assert run("kill -TERM $$; echo deaf").signal == signal.SIGTERM
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def test_what_systemd_tells_its_starter_is_not_for_it():
    assert run("echo $NOTIFY_SOCKET$LISTEN_FDS", NOTIFY_SOCKET="/n", LISTEN_FDS="3").out == b"\n"


def test_much_output_does_not_block_it_and_little_of_the_rest_is_kept():
    done = run("head -c 300000 /dev/zero; head -c 300000 /dev/zero | tr '\\0' x >&2")
    assert len(done.out) == 300_000
    assert 0 < len(done.tail) <= 4_000


def test_no_descriptor_is_left_open():
    before = len(list(Path("/proc/self/fd").iterdir()))
    run("true")
    with pytest.raises(CannotStartError, match="No such file") as raised:
        run_bounded(["/no/program"], {}, deadline_s=1)
    assert raised.value.missing
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_whoever_is_about_to_end_ends_what_its_threads_wait_for(monkeypatch):
    monkeypatch.setattr("pfid.adapters.bounded_process._over", threading.Event())
    came = []

    def wait():
        came.append(run_bounded(["/bin/sleep", "600"], {}, deadline_s=600))

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(2)]
    threads[0].start()
    end_all()
    threads[1].start()
    for thread in threads:
        thread.join(30)
    assert [(one.hung, one.signal) for one in came] == [(True, signal.SIGTERM)] * 2
