"""What runs of many steps cost the daemon in memory, living, and relaunched again and again."""

import subprocess
import sys
import time
from pathlib import Path

from limits import Limits
from scratch_daemon import ScratchDaemon, end, rss_mib, sleepers

from pfid.wire.control import GetRun, RunReply

STEPS = 12_000
LIVING = (8, 24, 56)
WAVES, RELAUNCHED = 2, 24
EACH_KB = 200.0
"""KB are a thousand bytes. The first runs also pay for what is there once, and are not held."""


def main() -> int:
    """Print two tables."""
    with ScratchDaemon() as daemon:
        log = _log(daemon.folder / "train.log")
        empty_mib = rss_mib(daemon.process.pid)
        print(f"{STEPS} steps a run; without any run {empty_mib:.1f} MiB")
        print(f"{'runs':>12}{'RSS MiB':>9}{'KiB each':>10}{'KiB each more':>15}")
        held: list[list[subprocess.Popen[bytes]]] = []
        last = (0, empty_mib)
        more_kb: dict[str, float] = {}
        for runs in LIVING:
            held.append(_launch(daemon, log, f"living-{runs}", runs - last[0]))
            begun, last = last, _row(daemon, f"{runs}", runs, empty_mib, last)
            more_kb[f"{runs} living"] = _each_more_kb(begun, last)
        again = held.pop()
        for wave in range(1, WAVES + 1):
            end(again)
            again = _launch(daemon, log, f"again-{wave}", RELAUNCHED)
            label = f"{wave * RELAUNCHED} more"
            runs = LIVING[-1] + wave * RELAUNCHED
            begun, last = last, _row(daemon, label, runs, empty_mib, last)
            more_kb[f"{label}, others over"] = _each_more_kb(begun, last)
        for processes in (*held, again):
            end(processes)
    return held_against(more_kb)


def held_against(more_kb: dict[str, float]) -> int:
    """Hold what one more run takes, but of the first; the exit status."""
    limits = Limits()
    for what, each_kb in list(more_kb.items())[1:]:
        limits.at_most(f"each one more, {what}", each_kb, EACH_KB, "KB")
    return limits.status()


def _each_more_kb(before: tuple[int, float], now: tuple[int, float]) -> float:
    return (now[1] - before[1]) * 1048.576 / (now[0] - before[0])


def _log(path: Path) -> Path:
    """A log of steps of about a second, no two alike."""
    lines = (
        f"iter {i}: loss 2.5, time {900 + i * 7919 % 211}.{i % 97:02}ms, mfu 1.00%\n"
        for i in range(STEPS + 1)
    )
    path.write_text("".join(lines))
    return path


def _launch(
    daemon: ScratchDaemon, log: Path, stem: str, runs: int
) -> list[subprocess.Popen[bytes]]:
    """Have so many runs watched, and wait until every step is counted."""
    processes = sleepers(runs)
    for number, process in enumerate(processes):
        daemon.register(process.pid, f"{stem}-{number}", log)
    for number in range(runs):
        while _counted(daemon, f"{stem}-{number}") < STEPS:
            time.sleep(0.2)
    return processes


def _counted(daemon: ScratchDaemon, run_id: str) -> int:
    reply = daemon.client.call(GetRun(run_id=run_id))
    summary = reply.run["summary"] if isinstance(reply, RunReply) else None
    return 0 if summary is None else summary["n"]


def _row(
    daemon: ScratchDaemon, label: str, runs: int, empty_mib: float, last: tuple[int, float]
) -> tuple[int, float]:
    time.sleep(3.0)
    mib = rss_mib(daemon.process.pid)
    each = (mib - empty_mib) * 1024 / runs
    more = (mib - last[1]) * 1024 / (runs - last[0])
    print(f"{label:>12}{mib:9.1f}{each:10.0f}{more:15.0f}", flush=True)
    return runs, mib


if __name__ == "__main__":
    sys.exit(main())
