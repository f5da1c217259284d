"""Many runs, many scrapers, and clients that mean no good: what a scrape and the loop notice.

First the page alone: 500 runs and 8 GPUs, rendered and fetched. Then a real daemon that watches
as many real processes on 8 GPUs of the stand-in for NVML, 50 scrapers at once, and beside them
silent clients and a slow loris; the loop's own answer to a question over the control socket is
timed before and meanwhile. ``--daemon`` leaves the page alone out.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from page import NOW_S, _snapshot
from scratch_daemon import ScratchDaemon, end, sleepers

from pfid.adapters.http_server import PageServer
from pfid.adapters.page import Page, live_text
from pfid.adapters.status_page import status_page
from pfid.bootstrap.daemon import settle_memory
from pfid.config.address import Address
from pfid.domain.gpu import GpuFacts, GpuSample, PowerSource
from pfid.domain.gpu_view import GpusView, GpuView, HolderView
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
LIMIT_MS = 25.0
SLOW, SILENT = 10, 10


def main() -> int:
    """Print the figures; ``--scrape URL`` is the process of the scrapers."""
    if sys.argv[1:2] == ["--scrape"]:
        return _scrapers(sys.argv[2])
    if sys.argv[1:2] != ["--daemon"]:
        _pages()
    if sys.argv[1:2] != ["--page"]:
        with tempfile.TemporaryDirectory(prefix="pfid-bench-load-") as folder:
            _daemon(RUNS[-1], Shim(Path(folder) / "nvml"))
    return 0


def _pages() -> None:
    print(f"the page of runs and {GPUS} GPUs, milliseconds")
    print(
        f"{'runs':>6}{'samples':>9}{'bytes':>10}{'gzipped':>9}{'render p50':>12}{'p99':>8}"
        f"{'scrape p50':>12}{'p99':>8}{'status page':>13}{'bytes':>9}"
    )
    for runs in RUNS:
        _page(runs)
    print(f"limit of a scrape of {RUNS[-1]} runs: p99 {LIMIT_MS} ms")


def _page(runs: int) -> None:
    page = Page(exported_runs_max=10_000)
    snapshots = [_with_gpus(_snapshot(runs, NOW_S + i), NOW_S + i) for i in range(ROUNDS)]
    page.render(snapshots[0])
    settle_memory()
    turns = iter(snapshots)
    rendered = _timed(lambda: page.render(next(turns)), ROUNDS)
    body = page.render(snapshots[-1])
    people = _timed(lambda: status_page(snapshots[-1]), 5)
    server = PageServer(
        [Address("127.0.0.1", 0)],
        live=lambda s: live_text(time.time(), requests=s.requests, evicted=s.evicted),
    )
    server.publish(body)
    server.start()
    scraped = _timed(lambda: _fetch(str(server.url)), SCRAPES)
    server.stop()
    samples = sum(not line.startswith(b"#") for line in body.splitlines())
    print(
        f"{runs:6}{samples:9}{len(body):10}{len(gzip.compress(body, 1)):9}"
        f"{_rank(rendered, 0.5):12.2f}{_rank(rendered, 0.99):8.2f}"
        f"{_rank(scraped, 0.5):12.2f}{_rank(scraped, 0.99):8.2f}"
        f"{_rank(people, 0.5):13.2f}{len(status_page(snapshots[-1])):9}"
    )


def _daemon(runs: int, shim: Shim) -> None:
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
            quiet = _for(ask, 5.0)
            alone = _timed(lambda: _fetch(url), 50)
            loaded, reports = _under_load(url, ask)
            print(
                f"a daemon with {runs} real runs on {GPUS} GPUs; {SCRAPERS} scrapers, each every "
                f"{SCRAPE_EVERY_S:g} s, {SLOW} slow-loris and {SILENT} silent clients"
            )
            print("  milliseconds                         p50      p99      max")
            _line("loop answers, nobody scrapes", quiet)
            _line("loop answers, under that load", loaded)
            _line("scrape, alone", alone)
            _line("scrape, all of them", [1000 * s for s in reports["seconds"]])
            print(f"  scrapes {len(reports['seconds'])}, failed {reports['failed']}")
    finally:
        end(processes)


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
        seen = _for(ask, LOAD_S - 3.0)
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


def _timed(act: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each round."""
    took = []
    for _ in range(rounds):
        began_s = time.perf_counter()
        act()
        took.append(1000 * (time.perf_counter() - began_s))
    return took


def _for(act: Callable[[], object], seconds: float) -> list[float]:
    """Milliseconds of each time, a hundred times a second for so long."""
    took: list[float] = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        took += _timed(act, 1)
        time.sleep(0.01)
    return took


def _rank(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _line(name: str, values: list[float]) -> None:
    figures = "".join(f"{_rank(values, share):9.2f}" for share in (0.5, 0.99, 1.0))
    print(f"  {name:<30}{figures}")


def _with_gpus(snapshot: Snapshot, at_s: float) -> Snapshot:
    cards = tuple(_card(i, at_s, snapshot) for i in range(GPUS))
    view = GpusView(up=True, driver="1", library="1", expected=GPUS, visible=GPUS, gpus=cards)
    return replace(snapshot, gpus=view)


def _card(index: int, at_s: float, snapshot: Snapshot) -> GpuView:
    uuid = f"GPU-00000000-0000-0000-0000-{index:012d}"
    held = snapshot.runs[index::GPUS]
    holders = tuple(
        HolderView(pid=1, memory_bytes=1 << 30, visible=True, run_id=view.run.run_id)
        for view in held
    )
    sample = GpuSample(
        uuid=uuid,
        at_s=at_s,
        utilization=0.9,
        power_w=612.0,
        power_source=PowerSource.ENERGY,
        power_limit_w=700.0,
        energy_j=at_s,
        throttle=frozenset(),
        memory_used_bytes=90 << 30,
        temperature_c=61.0,
        sm_activity=0.9,
        tensor_activity=0.6,
        dram_activity=0.4,
        ecc_uncorrected=0,
        processes=(),
    )
    facts = GpuFacts(
        uuid=uuid,
        index=index,
        name="GPU",
        pci_bus_id=f"0000:{index:02x}:00.0",
        memory_total_bytes=141 << 30,
    )
    return GpuView(facts=facts, present=True, last=sample, holders=holders)


if __name__ == "__main__":
    sys.exit(main())
