"""Read traces of 300 MB and of 1 GB with ``pfid trace``, beside gunzip alone and, the smallest one,
HolisticTraceAnalysis. The last one holds nothing but device rows.

Every kernel's figures are held against a brute-force reading of the same file, pfid's and the
peer's. The peer gets an environment of its own, in the folder where this is run.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from kineto_trace import write
from limits import Limits

SIZES = ((180_000, True), (570_000, True), (1_400_000, False))
"""Launches, and whether with the host's rows: 322 MB, 1.0 GB and, of device rows alone, 1.0 GB of
JSON; the peer reads the first."""
ROUNDS = 3
TIMES_GUNZIP = 2
RSS_MB = 150
TIMES_PEER = 15
ROUNDED_US = 2
"""The peer rounds begin and end of a row down to whole microseconds."""
PEER = "HolisticTraceAnalysis==0.5.0"
"""The newest that PyPI has (looked up 2026-11-30)."""
PEER_HOME = Path(__file__).parents[2] / ".tests" / "hta-venv"
PEER_SCRIPT = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
_, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
with open(sys.argv[2], "w") as file:
    file.write(kernels.to_json(orient="records"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run of a command took."""

    seconds: float
    cpu_s: float
    rss_mb: float


def main() -> int:
    """Print the figures."""
    limits = Limits()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json.gz"
        for number, (launches, host) in enumerate(SIZES):
            write(trace, launches, host=host)
            kind = "" if host else " of device rows alone"
            one_size(trace, kind, limits, peer_too=number == 0)
    return limits.status()


def one_size(trace: Path, kind: str, limits: Limits, *, peer_too: bool) -> None:
    """Read one trace in every way there is."""
    out = trace.with_name("out.json")
    with gzip.open(trace) as file:
        size_mb = sum(len(block) for block in iter(lambda: file.read(1 << 20), b"")) / 1e6
    packed_mb = trace.stat().st_size / 1e6
    print(f"\n{size_mb:,.0f} MB of JSON{kind} in {packed_mb:.1f} MB")
    gunzip, pfid = [], []
    for _ in range(ROUNDS):
        gunzip.append(measured(["gunzip", "-c", trace], out))
        pfid.append(measured([sys.executable, "-m", "pfid", "trace", "--json", trace], out))
    said = json.loads(out.read_text())
    print(f"{'reader':22}{'seconds':>9}{'cpu':>8}{'RSS MB':>9}")
    floor, ours = shown("gunzip alone", gunzip), shown("pfid trace", pfid)
    theirs, rows = peer(trace, out) if peer_too else (None, [])
    if peer_too and theirs is None:
        limits.no_peer(f"{PEER} cannot be installed")
    print(f"pfid / gunzip in processor time: {ours.cpu_s / floor.cpu_s:.2f}")
    size = f"{size_mb:,.0f} MB{kind}"
    limits.at_most(f"{size}, time over gunzip's", ours.seconds / floor.seconds, TIMES_GUNZIP)
    limits.at_most(f"{size}, RSS", ours.rss_mb, RSS_MB, "MB")
    if theirs is not None:
        print(f"peer / pfid in processor time: {theirs.cpu_s / ours.cpu_s:.1f}")
        limits.at_least("times quicker than the peer", theirs.seconds / ours.seconds, TIMES_PEER)
        limits.at_least("times smaller than the peer", theirs.rss_mb / ours.rss_mb, TIMES_PEER)
    # In a process of its own: a child's largest RSS is never told below its parent's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        true = apart.submit(reference, trace).result()
    compare(true, said, rows, limits)


def measured(command: list[str | Path], out: Path) -> Cost:
    """Run a command with its output in a file."""
    with out.open("wb") as file:
        began_s = time.perf_counter()
        process = subprocess.Popen(command, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}: no figure")
    return Cost(
        seconds=seconds,
        cpu_s=usage.ru_utime + usage.ru_stime,
        rss_mb=usage.ru_maxrss * 1024 / 1e6,
    )


def shown(name: str, costs: list[Cost]) -> Cost:
    """Print the medians of some runs."""
    middle = Cost(
        seconds=statistics.median(cost.seconds for cost in costs),
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        rss_mb=max(cost.rss_mb for cost in costs),
    )
    print(f"{name:22}{middle.seconds:9.2f}{middle.cpu_s:8.2f}{middle.rss_mb:9.0f}")
    return middle


def peer(trace: Path, out: Path) -> tuple[Cost | None, list[dict]]:
    """Run the peer once; None where it cannot be installed."""
    python = PEER_HOME / "bin" / "python"
    if not python.exists():
        venv.create(PEER_HOME, with_pip=True)
    install = [python, "-m", "pip", "install", "--disable-pip-version-check", "-q", PEER]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        return None, []
    table = out.with_suffix(".peer")
    cost = measured([python, "-c", PEER_SCRIPT, trace, table], out)
    return shown(PEER, [cost]), json.loads(table.read_text())


def reference(trace: Path) -> dict[str, list[int]]:
    """Durations in nanoseconds of every kernel, in order, by the plainest way there is.

    The plainest way takes some five times the file's size in memory.
    """
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    found: dict[str, list[int]] = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            found.setdefault(event["name"], []).append(round(event["dur"] * 1000))
    return {name: sorted(durations) for name, durations in found.items()}


def compare(true: dict[str, list[int]], said: dict, rows: list[dict], limits: Limits) -> None:
    """Hold both tables against the reference."""
    ours = {one["name"]: one for one in said["kernels"]}
    right = sum(exact(durations, ours.get(name)) for name, durations in true.items())
    print(f"pfid: calls, total, min, p50, max equal to brute force in {right} of {len(true)} names")
    limits.true("every kernel's figures are those of brute force", right == len(true))
    if not rows:
        return
    named = [row for row in rows if row["name"] in true]
    fair = sum(near(true[row["name"]], row) for row in named)
    print(
        f"peer: min, mean, max right to two microseconds in {fair} of {len(named)} names it lists"
    )
    wrong = next((row for row in named if not near(true[row["name"]], row)), None)
    if wrong is not None:
        durations = true[wrong["name"]]
        mean_us = sum(durations) / len(durations) / 1000
        print(f"  e.g. {wrong['name'][:60]}, n={len(durations)}")
        least_us, most_us = durations[0] / 1e3, durations[-1] / 1e3
        print(f"  true: min {least_us:.0f} mean {mean_us:.1f} max {most_us:.0f} us")
        print(
            f"  peer: min {wrong['min (us)']:.0f} mean {wrong['mean (us)']:.1f}"
            f" max {wrong['max (us)']:.0f} us"
        )


def exact(durations: list[int], one: dict | None) -> bool:
    """Whether pfid's row is the reference to the nanosecond."""
    return one is not None and [
        one["calls"],
        *(round(one[key] * 1000) for key in ("total_us", "min_us", "p50_us", "max_us")),
    ] == [
        len(durations),
        sum(durations),
        durations[0],
        durations[(len(durations) + 1) // 2 - 1],
        durations[-1],
    ]


def near(durations: list[int], row: dict) -> bool:
    """Whether the peer's row is right, to the microseconds that it loses by rounding."""
    mean_us = sum(durations) / len(durations) / 1000
    pairs = (
        (row["min (us)"], durations[0] / 1000),
        (row["mean (us)"], mean_us),
        (row["max (us)"], durations[-1] / 1000),
    )
    return all(abs(said - true) <= ROUNDED_US for said, true in pairs)


if __name__ == "__main__":
    sys.exit(main())
