"""What one more run costs: processor time and memory of the daemon from 10 to 1,000 idle runs."""

import statistics
import sys
import time

from limits import Limits
from scratch_daemon import ScratchDaemon, cpu_s, end, rss_mib, sleepers

STEPS = (10, 100, 300, 1000)
QUIET_S = 50.0
WATCHED_S = 30.0
CONSTANT = 2.0
"""What one more of the last 700 runs may cost, by what one more of the 290 before did: a cost that
grew with their number would be several times as much."""
Row = tuple[int, float, float, float]
"""Runs, per cent of a core, RSS in MiB, milliseconds of a registration."""


def main() -> int:
    """Print the table."""
    processes = sleepers(STEPS[-1])
    rows: list[Row] = []
    try:
        with ScratchDaemon() as daemon:
            pid = daemon.process.pid
            before_mib = rss_mib(pid)
            begun = 0
            for runs in STEPS:
                took = []
                for i in range(begun, runs):
                    began_s = time.perf_counter()
                    daemon.register(processes[i].pid, f"grow-{i}")
                    took.append((time.perf_counter() - began_s) * 1000)
                begun = runs
                time.sleep(QUIET_S)
                spent_s = cpu_s(pid)
                time.sleep(WATCHED_S)
                share = (cpu_s(pid) - spent_s) / WATCHED_S * 100
                rows.append((runs, share, rss_mib(pid), statistics.median(took)))
    finally:
        end(processes)
    print(f"{'runs':>6}{'% of a core':>13}{'per run':>10}{'RSS MiB':>9}{'KiB per run':>13}", end="")
    print(f"{'register ms':>13}")
    for runs, share, mib, register_ms in rows:
        kib = (mib - before_mib) * 1024 / runs
        print(f"{runs:6}{share:13.2f}{share / runs:10.4f}{mib:9.1f}{kib:13.1f}{register_ms:13.2f}")
    print("a run's cost stays constant; what is there without any run is in the first line")
    return held_against(rows)


def held_against(rows: list[Row]) -> int:
    """Hold that one more run costs the same however many there are; the exit status."""
    limits = Limits()
    first, *_, before, last = rows
    for what, column, unit in (("processor", 1, "% of a core"), ("memory", 2, "MiB")):
        earlier = (before[column] - first[column]) / (before[0] - first[0])
        later = (last[column] - before[column]) / (last[0] - before[0])
        limits.at_most(f"one more run, {what}", later, CONSTANT * earlier, unit)
    limits.at_most("registration, last", last[3], CONSTANT * max(first[3], before[3]), "ms")
    return limits.status()


if __name__ == "__main__":
    sys.exit(main())
