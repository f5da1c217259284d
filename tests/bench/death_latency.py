"""From a SIGKILL to its committed event, with 500 runs tracked.

Twice: until another process that reads the state file finds the event in it, and until a client
has it. Beside it: one epoll over the same pidfds alone, and a psutil poll every second. The first
is held against its limits; one that is missed ends it with 1.
"""

import os
import select
import statistics
import sys
import threading
import time

import psutil
from committed_events import CommittedEvents
from limits import Limits
from scratch_daemon import ScratchDaemon, end, sleepers

from pfid.adapters.control_client import ControlClient
from pfid.wire.control import EventsReply, GetEvents

RUNS = 500
DEATHS = 200
POLLED = 30
MEDIAN_MS, P99_MS = 2.0, 20.0


def main() -> int:
    """Print the table."""
    processes = sleepers(RUNS)
    try:
        with ScratchDaemon() as daemon:
            for i, process in enumerate(processes):
                daemon.register(process.pid, f"bench-{i}")
            time.sleep(10)
            names = [f"bench-{i}" for i in range(DEATHS)]
            with CommittedEvents(daemon.folder / "state" / "pfid.sqlite") as seen:
                times = [_ours(daemon, processes[i], name) for i, name in enumerate(names)]
            read = [read_s - began_s for began_s, read_s in times]
            committed = [
                seen.first_after(name, began_s)
                for name, (began_s, _) in zip(names, times, strict=True)
            ]
        left = processes[DEATHS:]
        alone = [_epoll(left[i], left) for i in range(100)]
        polled = _polled(left[100 : 100 + POLLED])
    finally:
        end(processes)
    print(f"SIGKILL seen, {RUNS} runs tracked, milliseconds")
    print(f"{'':44}{'n':>5}{'median':>9}{'p99':>9}{'max':>9}")
    median_ms, p99_ms = _row("pfid, until the event is committed", committed)
    _row("pfid, until a client has read it", read)
    _row("epoll over the pidfds alone", alone)
    _row("psutil every second", polled)
    limits = Limits()
    limits.at_most("committed, median", median_ms, MEDIAN_MS, "ms")
    limits.at_most("committed, p99", p99_ms, P99_MS, "ms")
    return limits.status()


def _row(what: str, seconds: list[float]) -> tuple[float, float]:
    ms = sorted(s * 1000 for s in seconds)
    median_ms, p99_ms = statistics.median(ms), ms[min(len(ms) - 1, int(len(ms) * 0.99))]
    print(f"{what:44}{len(ms):5}{median_ms:9.2f}{p99_ms:9.2f}{ms[-1]:9.2f}")
    return median_ms, p99_ms


def _ours(daemon: ScratchDaemon, process, name: str) -> tuple[float, float]:
    """When it was killed, and when a client that follows had the event."""
    reply = daemon.client.call(GetEvents(run_id=name))
    assert isinstance(reply, EventsReply)
    found: list[float] = []
    asking = threading.Thread(target=_follow, args=(daemon, name, reply.last_id, found))
    asking.start()
    time.sleep(0.02)
    began_s = time.perf_counter()
    process.kill()
    process.wait()
    asking.join()
    return began_s, found[0]


def _follow(daemon: ScratchDaemon, name: str, after_id: int, found: list[float]) -> None:
    with ControlClient(daemon.socket, timeout_s=30) as client:
        client.call(GetEvents(run_id=name, after_id=after_id, wait_s=20))
        found.append(time.perf_counter())


def _epoll(process, processes) -> float:
    epoll = select.epoll()
    fds = [os.pidfd_open(p.pid) for p in processes if p.returncode is None]
    for fd in fds:
        epoll.register(fd, select.EPOLLIN)
    found: list[float] = []
    waiting = threading.Thread(target=lambda: (epoll.poll(), found.append(time.perf_counter())))
    waiting.start()
    time.sleep(0.005)
    began_s = time.perf_counter()
    process.kill()
    waiting.join()
    process.wait()
    epoll.close()
    for fd in fds:
        os.close(fd)
    return found[0] - began_s


def _polled(processes) -> list[float]:
    watched = [psutil.Process(p.pid) for p in processes]
    killed: dict[int, float] = {}
    seen: dict[int, float] = {}

    def poll() -> None:
        while len(seen) < len(watched):
            for one in watched:
                if one.pid not in seen and not _alive(one):
                    seen[one.pid] = time.perf_counter()
            time.sleep(1.0)

    polling = threading.Thread(target=poll)
    polling.start()
    for process in processes:
        killed[process.pid] = time.perf_counter()
        process.kill()
        time.sleep(0.137)
    polling.join()
    return [seen[pid] - killed[pid] for pid in seen]


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    sys.exit(main())
