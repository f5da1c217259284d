"""Follow a 200 MB log through the real reader process, beside mtail with one pattern.

Every dialect is active. mtail's count is held against what was written, so that a peer that read
half of the file cannot look quick. Rounds alternate. See mixed_log.py for what the logs hold;
``log_follow.py NAME...`` reads only those.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from limits import Limits
from mixed_log import MIXES, write

from pfid.adapters.worker_events import WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.wire.reader import Batch, Configure, Follow, decode_report, encode

SIZE_MB = 200
ROUNDS = 3
MARK_MB = 50
PROGRAM = "counter iterations\n/iter (\\d+): loss/ {\n  iterations++\n}\n"
RATIO, HELD_LOG = 3.0, "mixed"
FLAT_MB = 2.0
"""RSS at the end may be so much more than at 50 MB: of 150 MB more it is a hundredth."""
IDLE_LOGS = 64
IDLE_S = 20.0


class Reading:
    """One log through a fresh reader: seconds, processor seconds, memory on the way."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY)
        self._size = path.stat().st_size
        self._done = threading.Event()
        self.events = 0
        self.rss_mb: list[float] = []
        self._pid = 0
        self.owner = WorkerOwner(WorkerCommand(module="pfid.workers.log_reader"), self._on_event)
        self.owner.start()
        self._done.wait()
        self.seconds = time.perf_counter() - self._began_s
        self.cpu_s = _cpu_s(self._pid)
        self.owner.close()
        os.close(self._fd)

    def _on_event(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerStarted):
            self._pid = event.pid
            self._began_s = time.perf_counter()
            self.owner.send(encode(Configure()), generation=event.generation)
            self.owner.send(encode(Follow(stream=1)), [self._fd], generation=event.generation)
        elif isinstance(event, WorkerMessage):
            report = decode_report(event.body)
            if isinstance(report, Batch):
                self._take(report)

    def _take(self, batch: Batch) -> None:
        self.events += len(batch.events)
        if not self.rss_mb and batch.offset >= MARK_MB << 20:
            self.rss_mb.append(_rss_mb(self._pid))
        if batch.offset == self._size:
            self.rss_mb.append(_rss_mb(self._pid))
            self._done.set()


def main() -> int:
    """Print the tables."""
    figures: dict[str, tuple[float, list[list[float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        print(f"{SIZE_MB} MB of log to the end, seconds (processor seconds), {ROUNDS} rounds")
        print(f"{'log':10}{'steps':>9}{'pfid':>16}{'mtail':>16}{'ratio':>7}  RSS at 50 and 200 MB")
        for name in sys.argv[1:] or MIXES:
            figures[name] = _compare(Path(folder), name)
    _idle()
    return held_against(figures, sys.argv[1:] or [HELD_LOG])


def held_against(
    figures: dict[str, tuple[float, list[list[float]]]], asked: Sequence[str] = (HELD_LOG,)
) -> int:
    """Hold the ratio of the mixed log, and that memory is flat on each; the exit status.

    Args:
        figures: by log: mtail's seconds by pfid's, and of each round RSS at 50 MB and at the end.
        asked: logs that must be among them.
    """
    limits = Limits()
    for name, (ratio, rounds) in figures.items():
        if name == HELD_LOG:
            limits.at_least(f"{name}, mtail by pfid", ratio, RATIO)
        limits.true(
            f"{name}, memory looked at twice in each round", all(len(r) == 2 for r in rounds)
        )
        grown = max((r[-1] - r[0] for r in rounds), default=0.0)
        limits.at_most(f"{name}, more memory at the end", grown, FLAT_MB, "MB")
    limits.true("what was asked for was read", set(asked) <= set(figures))
    return limits.status()


def _compare(folder: Path, name: str) -> tuple[float, list[list[float]]]:
    log = folder / f"{name}.log"
    counts = write(log, SIZE_MB << 20, MIXES[name])
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(Reading(log))
        theirs.append(_mtail(folder, log, counts["nanogpt"]))
    log.unlink()
    pfid = statistics.median(one.seconds for one in ours)
    cpu = statistics.median(one.cpu_s for one in ours)
    mtail = statistics.median(seconds for seconds, _ in theirs)
    mtail_cpu = statistics.median(cpu for _, cpu in theirs)
    rss = " ".join(f"{mb:.1f}" for mb in ours[-1].rss_mb)
    print(
        f"{name:10}{ours[0].events:9}{pfid:8.1f} ({cpu:5.1f}){mtail:8.1f} ({mtail_cpu:5.1f})"
        f"{mtail / pfid:7.2f}  {rss} MB"
    )
    return mtail / pfid, [one.rss_mb for one in ours]


def _mtail(folder: Path, log: Path, expected: int) -> tuple[float, float]:
    program = folder / "one.mtail"
    program.write_text(PROGRAM)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.perf_counter()
    said = subprocess.run(
        ["mtail", "-one_shot", "-progs", program, "-logs", log],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted = json.loads(said.stdout)["iterations"][0]["LabelValues"][0]["Value"]["Value"]
    if counted != expected:
        raise SystemExit(f"mtail counted {counted} lines of {expected}: no figure to compare with")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu_s


def _idle() -> None:
    """Print what the reader costs while nothing is written."""
    started = threading.Event()
    told: list[WorkerStarted] = []

    def on_event(event: WorkerEvent) -> None:
        if isinstance(event, WorkerStarted):
            told.append(event)
            started.set()

    owner = WorkerOwner(WorkerCommand(module="pfid.workers.log_reader"), on_event)
    owner.start()
    started.wait()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(IDLE_LOGS):
            path = Path(folder) / f"{n}.log"
            path.write_text("a line\n" * 100)
            with path.open() as file:
                follow = encode(Follow(stream=n))
                owner.send(follow, [file.fileno()], generation=told[0].generation)
        time.sleep(20.0)  # until the quiet interval is reached
        before_s = _cpu_s(told[0].pid)
        time.sleep(IDLE_S)
        share = (_cpu_s(told[0].pid) - before_s) / IDLE_S
        print(f"{IDLE_LOGS} quiet logs: {share:.3%} of a core, {_rss_mb(told[0].pid):.1f} MB RSS")
    owner.close()


def _cpu_s(pid: int) -> float:
    """Processor seconds, from the scheduler's nanoseconds rather than from ticks."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


if __name__ == "__main__":
    sys.exit(main())
