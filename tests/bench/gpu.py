"""What watching 8 GPUs costs, beside nvitop-exporter on the same stand-in for NVML.

Prints CPU shares and memory of pfid's processes with 64 runs on 8 GPUs at 1 Hz and a scrape every
five seconds, the same with sampling switched off, nvitop-exporter scraped as often, and how
punctual loop and page are while the sampler hangs in the driver.
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

from scratch_daemon import ScratchDaemon, children, cpu_s, end, rss_mib, sleepers

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
PEER_PORT: Final = 19877
NO_SAMPLING: Final = "[gpus]\nenabled = false\n"


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="pfid-bench-gpu-") as folder:
        shim = Shim(Path(folder) / "nvml")
        shim.play(*[H200] * GPUS, log="off")
        os.environ["LD_LIBRARY_PATH"] = str(shim.folder)
        runs = sleepers(RUNS)
        for index, run in enumerate(runs):
            shim.run_on(index % GPUS, run.pid, 10**10)
        try:
            with_gpus = _daemon(runs, shim)
            without = _daemon(runs, None)
            peer = _nvitop(Path(folder))
        finally:
            end(runs)
    gpu_part = with_gpus - without
    print(f"\n{'':44}{'% of a core':>12}")
    print(f"{'pfid, 8 GPUs at 1 Hz, 64 runs (limit 0.9)':44}{with_gpus:12.2f}")
    print(f"{'pfid, the same without GPUs':44}{without:12.2f}")
    print(f"{'pfid, GPU part':44}{gpu_part:12.2f}")
    if peer is None:
        print("nvitop-exporter: could not be installed here")
        return 0
    print(f"{'nvitop-exporter scraped every 5 s':44}{peer:12.2f}")
    per_sample = gpu_part / 1.0 / GPUS * 10
    per_peer = peer / (1 / SCRAPE_S) / GPUS * 10
    print(f"ms a GPU and sample: pfid {per_sample:.2f}, nvitop-exporter {per_peer:.2f}")
    return 0


def _daemon(runs: list["subprocess.Popen[bytes]"], shim: Shim | None) -> float:
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
        print(f"  {'together (limit 90 MB)':24}{sum(shares.values()):8.2f}{rss:8.1f}{pss:8.1f}")
        if shim is not None:
            _hung(daemon, shim, url)
        return sum(shares.values())


def _hung(daemon: ScratchDaemon, shim: Shim, url: str) -> None:
    """How long a question and a scrape take while the sampler hangs."""
    for index in range(GPUS):
        shim.gpus[index]["utilization"] = HANG
    shim.write()
    time.sleep(3.0)
    asked, scraped = [], []
    slowest = (0.0, "")
    ends_s = time.monotonic() + HUNG_S
    while time.monotonic() < ends_s:
        before = _core_s(daemon.process.pid), _core_s(os.getpid())
        began_s = time.perf_counter()
        daemon.client.call(GetRun(run_id="bench-0"))
        asked.append(time.perf_counter() - began_s)
        slowest = max(slowest, (asked[-1], _where(daemon.process.pid, before)))
        began_s = time.perf_counter()
        _scrape(url)
        scraped.append(time.perf_counter() - began_s)
        time.sleep(0.1)
    print(
        f"  while the sampler hangs: a question to the loop {_ranks(asked)}, "
        f"a scrape {_ranks(scraped)} (limits 20 ms)"
    )
    print(f"  in the slowest question, {slowest[0] * 1e3:.1f} ms: {slowest[1]}")
    for index in range(GPUS):
        shim.gpus[index]["utilization"] = 100
    shim.write()


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
    ordered = sorted(seconds)
    p99 = ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]
    return f"p50 {ordered[len(ordered) // 2] * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms"


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
