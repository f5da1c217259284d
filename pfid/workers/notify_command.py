"""An operator's program with a notice on its stdin, within bounds of time and of what it says."""

import contextlib
import os
import select
import signal
import subprocess
import time
from typing import Final

TIMEOUT_S: Final = 20.0
TAIL_BYTES: Final = 800
_CHUNK_BYTES: Final = 64 * 1024
_running: Final[set[int]] = set()
"""Process groups of programs that are waited for now."""


def end_running() -> None:
    """Kill what is waited for, and what it started: nobody will wait for it any more."""
    for pid in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def run(command: list[str], notice: bytes, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Start it and wait for it alone, not for what it leaves running.

    Returns:
        Its status (negative: the signal that ended it), and the end of what it said on stderr.

    Raises:
        OSError: if it cannot be started.
        TimeoutError: if it did not end in time; it and what it started are killed then.
    """
    stdin = os.memfd_create("notice")
    try:
        os.write(stdin, notice)
        os.lseek(stdin, 0, os.SEEK_SET)
        process = subprocess.Popen(  # noqa: S603 - the operator's own program
            command,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        os.close(stdin)
    _running.add(process.pid)
    try:
        with process:
            tail = _watched(process, time.monotonic() + timeout_s)
            if tail is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise TimeoutError(f"{command[0]} did not end within {timeout_s:g} s")
            return process.wait(), tail.decode(errors="replace").strip()
    finally:
        _running.discard(process.pid)


def _watched(process: "subprocess.Popen[bytes]", ends_at_s: float) -> bytes | None:
    """The end of what it says until it ends; None if it does not in time."""
    if process.stderr is None:
        return None
    said = process.stderr.fileno()
    os.set_blocking(said, False)
    ended = os.pidfd_open(process.pid)
    try:
        poll, tail = select.poll(), b""
        poll.register(ended, select.POLLIN)
        poll.register(said, select.POLLIN)
        while (left_s := ends_at_s - time.monotonic()) > 0:
            ready = dict(poll.poll(left_s * 1_000))
            if said in ready:
                chunk = _read(said)
                tail = (tail + chunk)[-TAIL_BYTES:]
                if not chunk:
                    poll.unregister(said)
            if ended in ready:
                return (tail + _read(said))[-TAIL_BYTES:]
        return None
    finally:
        os.close(ended)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except BlockingIOError:
        return b""
