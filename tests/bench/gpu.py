"""What watching 8 GPUs costs, beside nvitop-exporter on the same stand-in for NVML.

Prints CPU shares and memory of pfid's processes with 64 runs on 8 GPUs at 1 Hz and a scrape every
five seconds, the same with sampling switched off, nvitop-exporter scraped as often, and how
punctual loop and page are while the sampler hangs in the driver, and while it is ended (TERM, then
KILL: it is deaf in its call) and another one started, beside what they were before it.
Ends with 1 if a limit is missed. ``--hung``: the daemon with GPUs and its hung sampler alone.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path
from typing import Final

from limits import Limits
from scratch_daemon import ScratchDaemon, children, cpu_s, end, rss_mib, sleepers

from pfid.analysis.percentiles import nearest_rank
from pfid.wire.control import GetRun

sys.path.insert(0, str(Path(__file__).parents[1] / "nvml_shim"))

from nvml_shim import H200, HANG, Shim

GPUS: Final = 8
RUNS: Final = 64
SETTLE_S: Final = 45.0
"""As long as in daemon_idle: an idle run has been silent for a while."""
SECONDS: Final = float(os.environ.get("PFID_BENCH_SECONDS", "60"))
SCRAPE_S: Final = 5.0
HUNG_S: Final = 20.0
REPLACED_S: Final = 35.0
"""From before the deadline (30 s of silence) over the five seconds from TERM to KILL to well after
the next sampler's start; all cards hang, so that one hangs as well."""
CPU_LIMIT: Final = 0.9
"""Per cent of a core, all of pfid's processes."""
MEMORY_LIMIT_MB: Final = 90.0
LAG_LIMIT_MS: Final = 20.0
PEER_SHARE: Final = 0.2
"""Of what the peer's sample costs."""
PEER_PORT: Final = 19877
NO_SAMPLING: Final = "[gpus]\nenabled = false\n"


def main() -> int:
    """Measure, print and hold the figures against their limits."""
    limits = Limits()
    with tempfile.TemporaryDirectory(prefix="pfid-bench-gpu-") as folder:
        shim = Shim(Path(folder) / "nvml")
        shim.play(*[H200] * GPUS, log="off")
        os.environ["LD_LIBRARY_PATH"] = str(shim.folder)
        runs = sleepers(RUNS)
        for index, run in enumerate(runs):
            shim.run_on(index % GPUS, run.pid, 10**10)
        try:
            with_gpus = _daemon(runs, shim, limits)
            if "--hung" in sys.argv[1:]:
                return limits.status()
            without = _daemon(runs, None, limits)
            peer = _nvitop(Path(folder))
        finally:
            end(runs)
    gpu_part = with_gpus - without
    print(f"\n{'':44}{'% of a core':>12}")
    print(f"{'pfid, 8 GPUs at 1 Hz, 64 runs':44}{with_gpus:12.2f}")
    print(f"{'pfid, the same without GPUs':44}{without:12.2f}")
    print(f"{'pfid, GPU part':44}{gpu_part:12.2f}")
    limits.at_most("processor, all of pfid", with_gpus, CPU_LIMIT, "% of a core")
    limits.true("nvitop-exporter was measured beside it", peer is not None)
    if peer is None:
        return limits.status()
    print(f"{'nvitop-exporter scraped every 5 s':44}{peer:12.2f}")
    per_sample = gpu_part / 1.0 / GPUS * 10
    per_peer = peer / (1 / SCRAPE_S) / GPUS * 10
    print(f"ms a GPU and sample: pfid {per_sample:.2f}, nvitop-exporter {per_peer:.2f}")
    limits.at_most("processor, GPU part, beside the peer's", gpu_part, peer, "% of a core")
    limits.at_most("a GPU and sample, as a share of the peer's", per_sample / per_peer, PEER_SHARE)
    return limits.status()


def _daemon(runs: list["subprocess.Popen[bytes]"], shim: Shim | None, limits: Limits) -> float:
    """CPU share of all of pfid's processes; prints them one by one."""
    extra = "" if shim is not None else NO_SAMPLING
    with ScratchDaemon(extra) as daemon:
        urls = [daemon.register(run.pid, f"bench-{i}") for i, run in enumerate(runs)]
        url = urls[0] or ""
        time.sleep(SETTLE_S)
        pids = [daemon.process.pid, *children(daemon.process.pid)]
        before = {pid: cpu_s(pid) for pid in pids}
        _scrapes(url, SECONDS)
        shares = {pid: (cpu_s(pid) - before[pid]) / SECONDS * 100 for pid in pids}
        print(f"\n{'with' if shim else 'without'} GPUs: % of a core, RSS and PSS in MiB")
        for pid in pids:
            print(f"  {_name(pid):24}{shares[pid]:8.2f}{rss_mib(pid):8.1f}{_pss_mib(pid):8.1f}")
        rss, pss = sum(map(rss_mib, pids)), sum(map(_pss_mib, pids))
        print(f"  {'together':24}{sum(shares.values()):8.2f}{rss:8.1f}{pss:8.1f}")
        if shim is not None:
            limits.at_most("memory, all of pfid (RSS)", rss * 1024**2 / 1e6, MEMORY_LIMIT_MB, "MB")
            _punctual(daemon, url, "before the sampler hangs")
            _hung(daemon, shim, url, limits)
        return sum(shares.values())


def _hung(daemon: ScratchDaemon, shim: Shim, url: str, limits: Limits) -> None:
    """How long a question and a scrape take while the sampler hangs."""
    for index in range(GPUS):
        shim.gpus[index]["utilization"] = HANG
    shim.write()
    time.sleep(3.0)
    helpers = children(daemon.process.pid)
    asked, scraped, with_core = _punctual(daemon, url, "while the sampler hangs")
    limits.true("the sampler hung all the while", children(daemon.process.pid) == helpers)
    _hold(limits, "while it hangs", asked, scraped, with_core)
    found = _punctual(daemon, url, "while it is ended and replaced", REPLACED_S)
    left = children(daemon.process.pid)
    limits.true("a sampler was ended meanwhile", bool(set(helpers) - set(left)))
    limits.true("and another one started", bool(set(left) - set(helpers)))
    _hold(limits, "while it is ended and replaced", *found)
    for index in range(GPUS):
        shim.gpus[index]["utilization"] = 100
    shim.write()


def _hold(limits: Limits, when: str, asked: float, scraped: float, with_core: float) -> None:
    limits.at_most(f"a question to the loop {when}, p99", asked, LAG_LIMIT_MS, "ms")
    limits.at_most(f"a scrape {when}, p99", scraped, LAG_LIMIT_MS, "ms")
    limits.at_most(f"a question {when}, had both sides a core, p99", with_core, LAG_LIMIT_MS, "ms")


def _punctual(
    daemon: ScratchDaemon, url: str, when: str, for_s: float = HUNG_S
) -> tuple[float, float, float]:
    """99th percentiles of a question to the loop and of a scrape, in milliseconds.

    The third is that of a question without what loop and asker waited for a core: on a full box it
    tells whether they wait for anything else.
    """
    asked: list[float] = []
    scraped: list[float] = []
    with_core: list[float] = []
    slowest = (0.0, "")
    ends_s = time.monotonic() + for_s
    while time.monotonic() < ends_s:
        before = _core_s(daemon.process.pid), _core_s(os.getpid())
        began_s = time.perf_counter()
        daemon.client.call(GetRun(run_id="bench-0"))
        asked.append(time.perf_counter() - began_s)
        if asked[-1] > slowest[0]:
            slowest = asked[-1], _where(daemon.process.pid, before)
        after = _core_s(daemon.process.pid), _core_s(os.getpid())
        without = sum(now[1] - then[1] for now, then in zip(after, before, strict=True))
        with_core.append(max(asked[-1] - without, 0.0))
        began_s = time.perf_counter()
        _scrape(url)
        scraped.append(time.perf_counter() - began_s)
        time.sleep(0.1)
    print(f"  {when}: a question to the loop {_ranks(asked)}, a scrape {_ranks(scraped)}")
    print(f"  {when}: a question, had both sides a core, {_ranks(with_core)}")
    print(f"  in the slowest question, {slowest[0] * 1e3:.1f} ms: {slowest[1]}")
    return _p99_ms(asked), _p99_ms(scraped), _p99_ms(with_core)


Core = tuple[float, float]


def _core_s(pid: int) -> Core:
    """Seconds on a core, and seconds ready to run without one, of a process's first thread."""
    ran, waited, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


def _where(pid: int, before: tuple[Core, Core]) -> str:
    loop, own = (
        [(now - then) * 1e3 for now, then in zip(_core_s(who), was, strict=True)]
        for who, was in zip((pid, os.getpid()), before, strict=True)
    )
    return (
        f"the loop computed {loop[0]:.1f} and had no core for {loop[1]:.1f} ms, "
        f"the asker had none for {own[1]:.1f} ms"
    )


def _ranks(seconds: list[float]) -> str:
    middle = nearest_rank(sorted(seconds), 50)
    return f"p50 {middle * 1e3:.1f} ms, p99 {_p99_ms(seconds):.1f} ms"


def _p99_ms(seconds: list[float]) -> float:
    return nearest_rank(sorted(seconds), 99) * 1e3


def _nvitop(folder: Path) -> float | None:
    """CPU share of nvitop-exporter, in an environment of its own; None if it cannot be had."""
    place = folder / "nvitop"
    venv.create(place, with_pip=True)
    install = [place / "bin/pip", "install", "--quiet", "nvitop-exporter"]
    if subprocess.run(install, check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return None
    command = [place / "bin/nvitop-exporter", "--port", str(PEER_PORT), "--bind-address"]
    with subprocess.Popen(
        [*command, "127.0.0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as peer:
        url = f"http://127.0.0.1:{PEER_PORT}/metrics"
        try:
            time.sleep(SETTLE_S)
            before = cpu_s(peer.pid)
            _scrapes(url, SECONDS)
            share = (cpu_s(peer.pid) - before) / SECONDS * 100
            print(f"\nnvitop-exporter: {share:.2f} % of a core, RSS {rss_mib(peer.pid):.1f} MiB")
        finally:
            peer.terminate()
    return share


def _scrapes(url: str, for_s: float) -> None:
    ends_s = time.monotonic() + for_s
    while (left_s := ends_s - time.monotonic()) > 0:
        _scrape(url)
        time.sleep(min(SCRAPE_S, left_s))


def _scrape(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def _name(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    named = [w.decode() for w in words if w.startswith(b"pfid")]
    return named[0] if named else str(pid)


def _pss_mib(pid: int) -> float:
    """Memory with what is shared divided among those that share it."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
