"""Many runs, many scrapers, and clients that mean no good: what a scrape and the loop notice.

First the page alone: 500 runs and 8 GPUs, rendered and fetched. Then a real daemon that watches
as many real processes on 8 GPUs of the stand-in for NVML. The loop's own answer to a question over
the control socket is timed while nobody scrapes; while one scraper comes every five seconds; while
50 scrapers, silent clients and a slow loris load an unrelated server with as large a page; and
while they load pfid. What the third row has beyond the first is the machine's, what the fourth has
beyond the third is pfid's. ``--daemon`` leaves the page alone out.
"""

import gzip
import itertools
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gpu_snapshot import with_gpus
from limits import Limits
from page import NOW_S, _snapshot
from round_times import for_so_long, rank, timed
from scratch_daemon import ScratchDaemon, end, sleepers
from unrelated_server import UnrelatedServer

from pfid.adapters.http_server import PageServer
from pfid.adapters.page import Page, live_text
from pfid.adapters.status_page import status_page
from pfid.bootstrap.daemon import settle_memory
from pfid.bootstrap.page_joint import SCRAPED_WITHIN_S
from pfid.config.address import Address
from pfid.domain.snapshot import Snapshot
from pfid.wire.control import GetRun

sys.path.insert(0, str(Path(__file__).parents[1] / "nvml_shim"))

from nvml_shim import H200, Shim

RUNS = (125, 250, 500)
GPUS = 8
ROUNDS = 60
SCRAPES = 300
SCRAPERS = 50
SCRAPE_EVERY_S = 1.0
LOAD_S = 15.0
ASKED_S = LOAD_S - 3.0
TURNS = 3
"""How often every load is tried, one after the other: a machine changes while one looks."""
POLITE_EVERY_S = 5.0
LIMIT_MS = 25.0
LINEAR = 2.3
"""So many times the time of half the runs at the most, as the mean of all doublings: linear, and
what memory adds to it. One doubling alone says as much of the caches as of the page."""
DELAY = 2.0
"""How much later than beside an unrelated server with as large a page the loop may answer."""
SLOW, SILENT = 10, 10
SHARES = (0.5, 0.9, 0.99)
NOBODY = "loop, nobody scrapes"
POLITE = "loop, one scraper every 5 s"
UNRELATED = "loop, unrelated server loaded"
PFID = "loop, pfid loaded"


def main() -> int:
    """Print the figures; ``--scrape URL`` is the process of the scrapers.

    Ends with 1 where a limit is missed.
    """
    if sys.argv[1:2] == ["--scrape"]:
        return _scrapers(sys.argv[2])
    limits = Limits()
    if sys.argv[1:2] != ["--daemon"]:
        _pages(limits)
    if sys.argv[1:2] != ["--page"]:
        with tempfile.TemporaryDirectory(prefix="pfid-bench-load-") as folder:
            _daemon(RUNS[-1], Shim(Path(folder) / "nvml"), limits)
    return limits.status()


def _pages(limits: Limits) -> None:
    print(f"the page of runs and {GPUS} GPUs, milliseconds")
    print(
        f"{'runs':>6}{'samples':>9}{'bytes':>10}{'gzipped':>9}{'render p50':>12}{'p99':>8}"
        f"{'scrape p50':>12}{'p99':>8}{'status page':>13}{'bytes':>9}"
    )
    scrapes_p99_ms = [_page(runs) for runs in RUNS]
    limits.at_most(f"scrape of {RUNS[-1]} runs, p99", scrapes_p99_ms[-1], LIMIT_MS, "ms")
    computed = _rendered(RUNS)
    said = ", ".join(f"{runs} runs {ms:.2f}" for runs, ms in computed.items())
    print(f"processor time of a page, least of {ROUNDS} rounds, milliseconds: {said}")
    growth = (computed[RUNS[-1]] / computed[RUNS[0]]) ** (1 / math.log2(RUNS[-1] / RUNS[0]))
    limits.at_most("processor time of a page of twice the runs", growth, LINEAR, "times")


def _rendered(sizes: Sequence[int]) -> dict[int, float]:
    """Milliseconds of the processor that a page of each size takes, at the least.

    The sizes take turns, so that a machine that slows down meanwhile slows all of them.
    """
    turns = {runs: itertools.cycle(_snapshots(runs, ROUNDS // 10)) for runs in sizes}
    pages = {runs: Page(exported_runs_max=10_000) for runs in sizes}
    for runs, page in pages.items():
        page.render(next(turns[runs]))
    settle_memory()
    took: dict[int, list[float]] = {runs: [] for runs in sizes}
    for _ in range(ROUNDS):
        for runs, page in pages.items():
            snapshot = next(turns[runs])
            took[runs] += timed(partial(page.render, snapshot), 1, time.thread_time)
    return {runs: min(each) for runs, each in took.items()}


def _snapshots(runs: int, count: int) -> list[Snapshot]:
    """A second apart each."""
    return [with_gpus(_snapshot(runs, NOW_S + i), NOW_S + i, GPUS) for i in range(count)]


def _page(runs: int) -> float:
    """Print the row of a page; milliseconds of fetching it, the 99th percentile."""
    page = Page(exported_runs_max=10_000)
    snapshots = _snapshots(runs, ROUNDS)
    page.render(snapshots[0])
    settle_memory()
    turns = iter(snapshots)
    rendered = timed(lambda: page.render(next(turns)), ROUNDS)
    body = page.render(snapshots[-1])
    people = timed(lambda: status_page(snapshots[-1]), 5)
    server = PageServer(
        [Address("127.0.0.1", 0)],
        live=lambda s: live_text(time.time(), requests=s.requests, evicted=s.evicted),
    )
    server.publish(body)
    server.start()
    scraped = timed(lambda: _fetch(str(server.url)), SCRAPES)
    server.stop()
    samples = sum(not line.startswith(b"#") for line in body.splitlines())
    print(
        f"{runs:6}{samples:9}{len(body):10}{len(gzip.compress(body, 1)):9}"
        f"{rank(rendered, 0.5):12.2f}{rank(rendered, 0.99):8.2f}"
        f"{rank(scraped, 0.5):12.2f}{rank(scraped, 0.99):8.2f}"
        f"{rank(people, 0.5):13.2f}{len(status_page(snapshots[-1])):9}"
    )
    return rank(scraped, 0.99)


def _daemon(runs: int, shim: Shim, limits: Limits) -> None:
    processes = sleepers(runs)
    shim.play(*[H200] * GPUS, log="off")
    shim.processes += [(i % GPUS, process.pid, 1 << 30) for i, process in enumerate(processes)]
    shim.write()
    os.environ["LD_LIBRARY_PATH"] = str(shim.folder)
    try:
        with ScratchDaemon() as daemon:
            url = ""
            for i, process in enumerate(processes):
                url = str(daemon.register(process.pid, f"load-{i:04d}"))

            def ask() -> None:
                daemon.client.call(GetRun(run_id="load-0000"))

            _until_held(url, runs)
            time.sleep(2.0)
            alone = timed(lambda: _fetch(url), SCRAPES)
            with UnrelatedServer(_packed(url)) as unrelated:
                rows, reports = _loads(url, unrelated.url, ask)
            print(
                f"a daemon with {runs} real runs on {GPUS} GPUs; {SCRAPERS} scrapers, each every "
                f"{SCRAPE_EVERY_S:g} s, {SLOW} slow-loris and {SILENT} silent clients"
            )
            heads = "".join(f"{head:>9}" for head in ("p50", "p90", "p99", "max"))
            print(f"  {'milliseconds':<35}{heads}{'p99 to nobody':>17}")
            for name, values in rows.items():
                _line(name, values, rank(rows[NOBODY], 0.99))
            _line("scrape, alone", alone)
            for name, report in reports.items():
                loaded = name.removeprefix("loop, ")
                _line(f"scrape, {loaded}", [1000 * s for s in report["seconds"]])
                print(f"    scrapes {len(report['seconds'])}, failed {report['failed']}")
            own = [rank(rows[PFID], share) / rank(rows[UNRELATED], share) for share in SHARES]
            print("  pfid loaded to the unrelated server loaded, loop, p50, p90, p99:", end="")
            print("".join(f" {ratio:.2f}" for ratio in own))
            limits.at_most("scrape, alone, p99", rank(alone, 0.99), LIMIT_MS, "ms")
            scrapes = reports[PFID]
            limits.at_most("scrapes that failed under load", scrapes["failed"], 0)
            loaded_ms = 1000 * rank(scrapes["seconds"], 0.99)
            limits.at_most("scrape under load, p99", loaded_ms, LIMIT_MS, "ms")
            limits.at_most("loop, of what an unrelated server costs it, p99", own[-1], DELAY)
    finally:
        end(processes)


def _loads(
    url: str, unrelated: str, ask: Callable[[], None]
) -> tuple[dict[str, list[float]], dict[str, dict[str, list[float]]]]:
    """Each load in turn, several times; what the loop took and what the scrapes did, by load."""
    rows: dict[str, list[float]] = {NOBODY: [], POLITE: [], UNRELATED: [], PFID: []}
    reports: dict[str, dict[str, list[float]]] = {
        UNRELATED: {"seconds": [], "failed": 0},
        PFID: {"seconds": [], "failed": 0},
    }
    time.sleep(SCRAPED_WITHIN_S + 1.0)
    rows[NOBODY] = for_so_long(ask, TURNS * ASKED_S)
    for _ in range(TURNS):
        rows[POLITE] += _politely(url, ask)
        for name, at in ((UNRELATED, unrelated), (PFID, url)):
            seen, said = _under_load(at, ask)
            rows[name] += seen
            reports[name] = {key: reports[name][key] + said[key] for key in said}
    return rows, reports


def _politely(url: str, ask: Callable[[], None]) -> list[float]:
    over = threading.Event()

    def scrape() -> None:
        while not over.wait(POLITE_EVERY_S):
            _fetch(url)

    one = threading.Thread(target=scrape)
    one.start()
    seen = for_so_long(ask, ASKED_S)
    over.set()
    one.join()
    return seen


def _packed(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        body: bytes = answer.read()
    return body


def _under_load(url: str, ask: Callable[[], None]) -> tuple[list[float], dict[str, list[float]]]:
    host, port = url.removeprefix("http://").removesuffix("/metrics").rsplit(":", 1)
    over = threading.Event()
    bad = [socket.create_connection((host, int(port))) for _ in range(SLOW + SILENT)]
    drips = threading.Thread(target=_drip, args=(bad[:SLOW], over))
    drips.start()
    with subprocess.Popen(
        [sys.executable, __file__, "--scrape", url], stdout=subprocess.PIPE
    ) as scrapers:
        time.sleep(1.0)
        seen = for_so_long(ask, ASKED_S)
        said, _ = scrapers.communicate(timeout=60)
    over.set()
    drips.join()
    for sock in bad:
        sock.close()
    return seen, json.loads(said)


def _drip(socks: list[socket.socket], over: threading.Event) -> None:
    """One byte of a request now and then, and the whole of it never; cut ones come again."""
    peer = socks[0].getpeername()
    while not over.wait(0.5):
        for i, sock in enumerate(socks):
            try:
                sock.send(b"G")
            except OSError:
                sock.close()
                socks[i] = socket.create_connection(peer)


def _scrapers(url: str) -> int:
    """Fifty threads that scrape until the time is over; prints what each scrape took."""
    seconds: list[float] = []
    failed: list[str] = []
    ends_at = time.monotonic() + LOAD_S

    def scrape(number: int) -> None:
        time.sleep(SCRAPE_EVERY_S * number / SCRAPERS)
        while (began_s := time.monotonic()) < ends_at:
            try:
                _fetch(url)
                seconds.append(time.monotonic() - began_s)
            except OSError as problem:
                failed.append(str(problem))
            time.sleep(max(SCRAPE_EVERY_S - (time.monotonic() - began_s), 0.0))

    threads = [threading.Thread(target=scrape, args=(i,)) for i in range(SCRAPERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"seconds": seconds, "failed": len(failed)}))
    return 0


def _fetch(url: str) -> None:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


def _until_held(url: str, runs: int) -> None:
    """Wait until every run stands on the page with what it holds of a GPU."""
    for _ in range(60):
        with urllib.request.urlopen(url, timeout=10) as answer:
            names = [line.partition(b"{")[0] for line in answer.read().splitlines()]
        up, held = names.count(b"pfid_gpu_up"), names.count(b"pfid_run_gpu_memory_bytes")
        if (up, held) == (GPUS, runs):
            return
        time.sleep(0.5)
    raise RuntimeError(f"{up} GPUs and {held} runs on them stand on the page")


def _line(name: str, values: list[float], beside: float | None = None) -> None:
    figures = "".join(f"{rank(values, share):9.2f}" for share in (0.5, 0.9, 0.99, 1.0))
    ratio = "" if beside is None else f"{rank(values, 0.99) / beside:17.2f}"
    print(f"  {name:<35}{figures}{ratio}")


if __name__ == "__main__":
    sys.exit(main())
