"""What a scrape costs: rendering by pfid and by the library, and the answer over a socket."""

import gzip
import resource
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace

from prometheus_client import generate_latest

from pfid.adapters.http_server import PageServer
from pfid.adapters.page import Page, live_text
from pfid.config.address import Address
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.identity import ProcessIdentity
from pfid.domain.outcome import Outcome
from pfid.domain.run import Run, RunSource, RunState
from pfid.domain.snapshot import (
    DaemonHealth,
    Resources,
    RunView,
    Snapshot,
    StepHistogram,
    VerdictView,
)
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.domain.verdict import Entity, EntityKind

ROUNDS = 30
SCRAPE_EVERY_S = 5.0
RUNS = (1, 8, 64, 256, 1000)
CHECKS = (
    "run_gone",
    "run_stalled",
    "step_time_regime",
    "recompile_limit",
    "log_is_one_run",
    "loss_not_finite",
)
NOW_S = 1_788_000_000.0


def main() -> int:
    """Print the tables."""
    print("one page, milliseconds of CPU; every run with steps and six verdicts")
    print(
        f"{'runs':>6}{'samples':>9}{'bytes':>10}{'pfid':>8}{'library':>9}{'gzip':>7}"
        f"{'gzipped':>9}{'% of a core':>13}{'us a sample':>13}"
    )
    for runs in RUNS:
        _row(runs)
    _scrapes(64)
    return 0


def _row(runs: int) -> None:
    page = Page(exported_runs_max=10_000)
    snapshots = [_snapshot(runs, NOW_S + i) for i in range(ROUNDS)]
    body = page.render(snapshots[0])
    samples = sum(not line.startswith(b"#") for line in body.splitlines())
    turns = iter(snapshots)
    ours_s = _cpu_s(lambda: page.render(next(turns)), ROUNDS)
    library_s = _cpu_s(lambda: generate_latest(page.registry), 5)
    packed = gzip.compress(body, 1)
    gzip_s = _cpu_s(lambda: gzip.compress(body, 1), 5)
    share = 100 * (ours_s + gzip_s) / SCRAPE_EVERY_S
    print(
        f"{runs:6}{samples:9}{len(body):10}{ours_s * 1e3:8.2f}{library_s * 1e3:9.2f}"
        f"{gzip_s * 1e3:7.2f}{len(packed):9}{share:13.3f}{ours_s / samples * 1e6:13.2f}"
    )


def _scrapes(runs: int) -> None:
    """Scrape a real server: what Prometheus waits for."""
    page = Page(exported_runs_max=10_000)
    server = PageServer(
        [Address("127.0.0.1", 0)],
        live=lambda s: live_text(time.time(), requests=s.requests, evicted=s.evicted),
    )
    server.publish(page.render(_snapshot(runs, NOW_S)))
    server.start()
    seconds = []
    for _ in range(200):
        request = urllib.request.Request(server.url, headers={"Accept-Encoding": "gzip"})
        began_s = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            answer.read()
        seconds.append(time.perf_counter() - began_s)
    server.stop()
    ms = sorted(s * 1000 for s in seconds)
    print(
        f"scrape of {runs} runs over a new connection, milliseconds: median "
        f"{statistics.median(ms):.2f}, p99 {ms[int(len(ms) * 0.99)]:.2f} (limit: 5)"
    )
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this bench: {peak_mib:.0f} MiB")


def _cpu_s(act: Callable[[], object], rounds: int) -> float:
    began_s = time.process_time()
    for _ in range(rounds):
        act()
    return (time.process_time() - began_s) / rounds


def _snapshot(runs: int, at_s: float) -> Snapshot:
    ids = [f"train-20260829t120000z-{i:04d}" for i in range(runs)]
    return Snapshot(
        at_s=at_s,
        health=DaemonHealth(started_at_s=NOW_S, ready=True, last_iteration_s=at_s),
        runs=tuple(_view(i, run_id, at_s) for i, run_id in enumerate(ids)),
        verdicts=tuple(_verdict(check, run_id, at_s) for run_id in ids for check in CHECKS),
        gates=tuple(
            Gate(
                check=check,
                stage="watch",
                state=GateState.PROVEN,
                proven_to=ProvenTo(controls=True, sabotage=True),
            )
            for check in CHECKS
        ),
    )


def _view(i: int, run_id: str, at_s: float) -> RunView:
    run = Run(
        run_id=run_id,
        name="train",
        identity=ProcessIdentity(machine_id="m", boot_id="b", pid=1000 + i, start_ticks=7),
        uid=1000,
        username="anna",
        source=RunSource.WRAPPER,
        started_at_s=NOW_S - 3600 + i,
    )
    view = RunView(
        run=run,
        state=RunState.RUNNING,
        last_progress_at_s=at_s - 1,
        steps_total=5_000,
        histogram=StepHistogram(counts=(0,) * 10 + (4_000, 1_000) + (0,) * 6, sum_s=98_765.4),
        baseline=Baseline(median_s=19.75, source=BaselineSource.EARLIER_RUNS, n=900),
        slowdown_ratio=1.01,
    )
    used = Resources(
        processes=8,
        cpu_seconds=at_s - NOW_S + i,
        resident_bytes=8 << 30,
        memory_limit_bytes=1 << 40,
        memory_available_bytes=1 << 39,
    )
    return replace(view, resources=used)


def _verdict(check: str, run_id: str, at_s: float) -> VerdictView:
    return VerdictView(
        check=check,
        stage="watch",
        entity=Entity(EntityKind.RUN, run_id),
        outcome=Outcome.PASS,
        reason="fine",
        summary="fine",
        since_s=NOW_S,
        last_run_s=at_s,
    )


if __name__ == "__main__":
    sys.exit(main())
