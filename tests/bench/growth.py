"""What one more run costs: processor time and memory of the daemon from 10 to 1,000 idle runs."""

import statistics
import sys
import time

from scratch_daemon import ScratchDaemon, cpu_s, end, rss_mib, sleepers

STEPS = (10, 100, 300, 1000)
QUIET_S = 50.0
WATCHED_S = 30.0


def main() -> int:
    """Print the table."""
    processes = sleepers(STEPS[-1])
    rows = []
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
