"""An idle daemon with 64 runs of 8 processes each, scraped every 5 s, and the log reader with it.

Beside it prometheus-process-exporter on the same processes. Also: how long until READY. Memory is
in MB, a million bytes. Every figure is held against its limit; one that is missed ends it with 1.
"""

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from limits import Limits
from scratch_daemon import ScratchDaemon, children, cpu_s, end, rss_mb

RUNS = 64
PROCESSES = 8
SCRAPE_S = 5.0
WATCHED_S = 60.0
QUIET_S = 45.0
"""An idle run has been silent for a while."""
IDLE_PERCENT, DAEMON_MB, TOGETHER_MB, SCRAPE_MS, READY_S = 0.6, 45.0, 65.0, 5.0, 1.5
READER = "log reader"
TREE = f"for i in {{1..{PROCESSES - 1}}}; do sleep 3600 & done; wait"


def main() -> int:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else WATCHED_S
    parents = [
        subprocess.Popen(["/bin/bash", "-c", TREE], stderr=subprocess.DEVNULL) for _ in range(RUNS)
    ]
    folder = tempfile.TemporaryDirectory()
    logs = [Path(folder.name) / f"{i}.log" for i in range(RUNS)]
    try:
        with ScratchDaemon() as daemon:
            ready_s = daemon.ready_s
            url = ""
            for i, (parent, log) in enumerate(zip(parents, logs, strict=True)):
                log.write_text("".join(f'{{"step": {k}, "seconds": 1.0}}\n' for k in range(100)))
                url = daemon.register(parent.pid, f"idle-{i}", log) or url
            time.sleep(QUIET_S)
            pids = {"daemon": daemon.process.pid}
            for pid in children(daemon.process.pid):
                pids[_named(pid)] = pid
            shown = _figures(pids, url, seconds)
            held = _held(daemon)
        peer = _peer(seconds)
    finally:
        _end_trees(parents)
        folder.cleanup()
    print(f"{RUNS} runs, {held} processes, a scrape every {SCRAPE_S:g} s for {seconds:g} s")
    print(f"{'':34}{'% of a core':>12}{'RSS MB':>9}{'scrape ms':>11}{'bytes':>9}")
    for what, (cpu, rss, scrape_ms, size) in {**shown, **peer}.items():
        scrape = f"{scrape_ms:11.1f}{size:9}" if size else ""
        print(f"{what:34}{cpu:12.2f}{rss:9.1f}{scrape}")
    return held_against(shown, ready_s, held)


def held_against(
    shown: dict[str, tuple[float, float, float, int]], ready_s: float, processes: int
) -> int:
    """Hold what is promised of daemon and log reader; the exit status."""
    limits = Limits()
    limits.true("a log reader was measured", f"pfid {READER}" in shown)
    limits.at_least("processes held", processes, RUNS * PROCESSES)
    cpu, rss, scrape_ms, _ = shown["pfid together"]
    limits.at_most("together, a core", cpu, IDLE_PERCENT, "%")
    limits.at_most("together, RSS", rss, TOGETHER_MB, "MB")
    limits.at_most("daemon, RSS", shown["pfid daemon"][1], DAEMON_MB, "MB")
    limits.at_most("scrape, median", scrape_ms, SCRAPE_MS, "ms")
    limits.at_most("socket answers", ready_s, READY_S, "s")
    return limits.status()


def _named(pid: int) -> str:
    """Say what a child of the daemon is; each counts."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    module = next((word for word in words if word.startswith("pfid.workers.")), "child")
    return READER if module == "pfid.workers.log_reader" else f"{module} {pid}"


def _held(daemon: ScratchDaemon) -> int:
    from pfid.wire.control import GetSnapshot

    reply = daemon.client.call(GetSnapshot())
    return sum(r["resources"]["processes"] for r in reply.snapshot["runs"])


def _figures(pids: dict[str, int], url: str, seconds: float):
    before = {name: cpu_s(pid) for name, pid in pids.items()}
    began_s = time.monotonic()
    scrapes, size = _scrape(url, seconds)
    took_s = time.monotonic() - began_s
    rows = {}
    for name, pid in pids.items():
        cpu = (cpu_s(pid) - before[name]) / took_s * 100
        rows[f"pfid {name}"] = (cpu, rss_mb(pid), 0.0, 0)
    total = [sum(row[i] for row in rows.values()) for i in (0, 1)]
    rows["pfid together"] = (total[0], total[1], statistics.median(scrapes), size)
    return rows


def _scrape(url: str, seconds: float) -> tuple[list[float], int]:
    found, size = [], 0
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        began_s = time.perf_counter()
        with urllib.request.urlopen(url, timeout=30) as page:
            size = len(page.read())
        found.append((time.perf_counter() - began_s) * 1000)
        time.sleep(SCRAPE_S)
    return found, size


def _peer(seconds: float):
    program = shutil.which("prometheus-process-exporter")
    if program is None:
        print("prometheus-process-exporter is missing: its row stays empty")
        return {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    exporter = subprocess.Popen(
        [program, "-procnames", "bash,sleep", f"-web.listen-address=127.0.0.1:{port}"],
        stderr=subprocess.DEVNULL,
    )
    try:
        _listening(port)
        rows = _figures({"exporter": exporter.pid}, f"http://127.0.0.1:{port}/metrics", seconds)
        return {"prometheus-process-exporter": rows["pfid together"]}
    finally:
        end([exporter])


def _listening(port: int) -> None:
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        with socket.socket() as tried:
            if not tried.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)
    raise SystemExit("prometheus-process-exporter does not listen: no figure to compare with")


def _end_trees(parents) -> None:
    for parent in parents:
        for pid in children(parent.pid):
            subprocess.run(["kill", "-9", str(pid)], check=False)
    end(parents)


if __name__ == "__main__":
    sys.exit(main())
