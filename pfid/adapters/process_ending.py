"""Ending processes that are held by pidfd, and finding what belongs to them."""

import os
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from pfid.adapters.process_identity import Captured, capture, has_ended, read_stat
from pfid.domain.errors import LaunchError, ProcessGoneError
from pfid.domain.process_stat import ProcStat
from pfid.policy.process_tree import Tree, newcomers


def send(pidfd: int, number: int) -> None:
    """Send a signal; a process that has ended is no matter.

    Raises:
        LaunchError: if it is not ours to signal.
    """
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise LaunchError("it belongs to another user; ask its owner, or root") from error


def wait_all_ended(pidfds: Sequence[int], timeout_s: float) -> bool:
    """Wait until every one has ended; False if time ran out."""
    waiting = {pidfd for pidfd in pidfds if not has_ended(pidfd)}
    poller = select.poll()
    for pidfd in waiting:
        poller.register(pidfd, select.POLLIN)
    deadline_s = time.monotonic() + timeout_s
    while waiting:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return False
        for pidfd, _ in poller.poll(left_s * 1000):
            poller.unregister(pidfd)
            waiting.discard(pidfd)
    return True


def capture_tree(root_pid: int, root_start_ticks: int | None) -> list[Captured]:
    """Capture every living process that descends from the root or founded nothing of its own.

    The asker and its own parents are never part of it.
    """
    tree = Tree(root_pid=root_pid, root_start_ticks=root_start_ticks)
    captured = []
    for stat in newcomers(tree, _living(), taken=_own_line()):
        try:
            held = capture(stat.pid)
        except ProcessGoneError:
            continue
        if held.stat.start_ticks == stat.start_ticks:
            captured.append(held)
        else:
            os.close(held.pidfd)
    return captured


def _living() -> list[ProcStat]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                found.append(read_stat(int(entry.name)))
            except (ProcessGoneError, OSError, ValueError):
                continue
    return found


def _own_line() -> set[int]:
    line = set()
    pid = os.getpid()
    while pid > 0 and pid not in line:
        line.add(pid)
        try:
            pid = read_stat(pid).parent_pid
        except (ProcessGoneError, OSError, ValueError):
            break
    return line
