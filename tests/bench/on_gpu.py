"""What could only be believed without a GPU, tried on one: for the day a machine is lent.

Prints one JSON object: ``beliefs`` (what pfid relies on, whether it holds here, what was seen; null
where it could not be tried), ``figures``, ``left_out`` (parts there was no time for). Ends by
itself well within ten minutes, and needs the base install and a python with torch:

    python tests/bench/on_gpu.py --python python3 > gpu.json

Exit 0 if every belief held, 1 if one did not, 3 if there is no GPU to try them on. Against the
stand-in (tests/nvml_shim) and a trainer of its own it says what this script does, and nothing of
GPUs; ``tests/e2e/test_on_gpu.py`` runs it so.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import pynvml
from scratch_daemon import ScratchDaemon, children, cpu_s

from pfid.adapters.gpu_worker import pids_are_ours
from pfid.analysis.gemm import reference_of
from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.bootstrap.gemm import IDLE_S, SCRIPT, SIZE, load
from pfid.bootstrap.gpu_look import OwnLook
from pfid.cli.gpu_shapes import gpus_json
from pfid.domain.gpu import XIDS
from pfid.domain.snapshot import Snapshot
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of
from pfid.workers import nvml_calls as nvml
from pfid.workers.nvml_power import OWN_MARGIN_W, OWN_SHARE

BUDGET_S: Final = 520.0
CALLS: Final = 100
FUNCTIONS: Final = (
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetNVMLVersion",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleFree",
    "nvmlGpmSampleGet",
    "nvmlGpmMetricsGet",
    "nvmlEventSetCreate",
    "nvmlEventSetFree",
    "nvmlEventSetWait_v2",
    "nvmlDeviceGetSupportedEventTypes",
    "nvmlDeviceRegisterEvents",
)
"""Whatever the sampler may call."""
READS: Final[dict[str, Callable[[Any], object]]] = {
    "utilization": nvml.utilization_percent,
    "energy": nvml.energy_mj,
    "power_instant": nvml.instant_power_mw,
    "power_average": nvml.average_power_mw,
    "power_limit": nvml.power_limit_mw,
    "sm_clock": nvml.sm_clock_mhz,
    "clock_reasons": nvml.clock_reasons,
    "temperature": nvml.temperature_c,
    "ecc": nvml.ecc_uncorrected,
    "memory": nvml.memory,
    **{f"processes_{kind}": partial(nvml.processes, kind=kind) for kind in nvml.KINDS},
}
CARD_PARTS: Final = frozenset({"loads", "watched", "commands"})
DAEMON: Final = "[checks.gpu_work_kind.limits]\nwindow_s = 10.0\n"


class Day:
    """What was found, and how much time there is left."""

    def __init__(self, python: str, load_s: float) -> None:
        """Begin the clock; work is done for ``load_s`` seconds at a time, by that torch."""
        self.python, self.load_s = python, load_s
        self.began_s = time.monotonic()
        self.beliefs: list[dict[str, Any]] = []
        self.figures: dict[str, Any] = {}
        self.left_out: dict[str, str] = {}
        self.uuid = ""

    def believe(self, name: str, holds: object, seen: object) -> None:
        """Note whether something holds here: true, false, or null."""
        self.beliefs.append({"belief": name, "holds": holds, "seen": seen})

    def part(self, name: str, needs_s: float, act: Callable[["Day"], None]) -> None:
        """Do one part, if there is time; whatever it raises is told and costs no other part."""
        if name in CARD_PARTS and not self.uuid:
            self.left_out[name] = "no card was found"
            return
        if BUDGET_S - (time.monotonic() - self.began_s) < needs_s:
            self.left_out[name] = "no time was left"
            return
        began_s = time.monotonic()
        try:
            act(self)
        except Exception as error:  # noqa: BLE001 - the day goes on
            self.left_out[name] = f"{type(error).__name__}: {error}"
        self.figures.setdefault("seconds", {})[name] = round(time.monotonic() - began_s, 1)

    def told(self) -> dict[str, Any]:
        """Everything."""
        return {
            "schema": 1,
            "beliefs": self.beliefs,
            "figures": self.figures,
            "left_out": self.left_out,
        }


def box(day: Day) -> None:
    """Where we are."""
    params = Path("/proc/driver/nvidia/params")
    admin = (
        [x for x in params.read_text().splitlines() if "Profiling" in x]
        if params.exists()
        else None
    )
    day.figures["box"] = {
        "kernel": os.uname().release,
        "uid": os.getuid(),
        "host_pid_namespace": pids_are_ours(),
        "profiling_params": admin,
    }
    library = ctypes.CDLL("libnvidia-ml.so.1")
    missing = [name for name in FUNCTIONS if not hasattr(library, name)]
    day.believe("the library has every function that pfid calls", not missing, missing)


def calls(day: Day) -> None:
    """What each question costs and answers; events are not waited for; the counter moves."""
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        day.figures["calls"] = {name: _timed(call, handle) for name, call in READS.items()}
        _events(day, handle)
        _counter(day, handle)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2)
        rest = memory.total - memory.used - memory.free - memory.reserved
        day.believe("total memory is used, free and reserved", abs(rest) < 2**21, rest)
    finally:
        pynvml.nvmlShutdown()
    slowest = sum(c["median_us"] for c in day.figures["calls"].values())
    day.believe("a card is read in far less than a second", slowest < 200_000, round(slowest))


def _timed(call: Callable[[Any], object], handle: Any) -> dict[str, Any]:
    took, error = [], None
    for _ in range(CALLS):
        began_s = time.perf_counter()
        try:
            call(handle)
        except (pynvml.NVMLError, ValueError) as said:
            error = str(said)
        took.append((time.perf_counter() - began_s) * 1e6)
    took.sort()
    return {"median_us": round(median(took), 1), "p99_us": round(took[-2], 1), "error": error}


def _events(day: Day, handle: Any) -> None:
    events = pynvml.nvmlEventSetCreate()
    kinds = pynvml.nvmlDeviceGetSupportedEventTypes(handle)
    pynvml.nvmlDeviceRegisterEvents(handle, kinds & pynvml.nvmlEventTypeXidCriticalError, events)
    began_s, code = time.perf_counter(), 0
    try:
        pynvml.nvmlEventSetWait(events, 0)
    except pynvml.NVMLError as error:
        code = error.value
    took_ms = (time.perf_counter() - began_s) * 1e3
    pynvml.nvmlEventSetFree(events)
    quick = code == pynvml.NVML_ERROR_TIMEOUT and took_ms < 20
    day.believe("asking for events does not wait", quick, {"code": code, "ms": round(took_ms, 3)})


def _counter(day: Day, handle: Any) -> None:
    """How often the energy counter moves, over two seconds."""
    moves, last, until_s = [], nvml.energy_mj(handle), time.monotonic() + 2.0
    while time.monotonic() < until_s:
        now = nvml.energy_mj(handle)
        if now != last:
            moves.append((time.monotonic(), now - last))
            last = now
    gaps = [b[0] - a[0] for a, b in pairwise(moves)]
    period_ms = round(median(gaps) * 1e3, 1) if gaps else None
    day.believe(
        "the energy counter moves several times a second",
        period_ms is not None and period_ms <= 250,
        {"period_ms": period_ms, "moves": len(moves)},
    )


def idle(day: Day) -> None:
    """The card as pfid sees it with nobody on it."""
    with OwnLook() as own:
        view = own.look(2 * IDLE_S)
        day.figures["idle"] = gpus_json(view)
        (card, *_) = view.gpus
        day.uuid = card.facts.uuid
        last = card.last
        day.believe(
            "an idle card is idle", last is not None and last.utilization == 0.0, card.kind.value
        )
        day.believe("nobody is on an idle card", card.holders == (), len(card.holders or ()))
        day.believe(
            "errors of the card are told", XIDS not in card.facts.absent, _named(card.facts.absent)
        )
        counted = None if last is None else last.tensor_activity is not None
        if (card.facts.capability or (0, 0)) >= (9, 0):
            day.believe(
                "Hopper and later tell tensor activity",
                counted,
                _named(last.absent if last else {}),
            )


def loads(day: Day) -> None:
    """Matrix work and none, as pfid tells them apart; and whose power the energy counter counts."""
    with OwnLook() as own:
        own.look(IDLE_S)
        driver = own.box.samplers["nvml"].driver
        limits = WorkLimits(window_s=day.load_s / 2)
        seen = load(own, day.uuid, day.python, "gemm", day.load_s)
        reference = reference_of(seen.blocks, SIZE, seen.samples, driver)
        said = {"tflops": round(reference.tflops, 1), "power_w": round(reference.power_w, 1)}
        day.figures["gemm"] = said
        _judged(
            day,
            "dense matrix work is told as such",
            "matmul_bound",
            seen.samples,
            reference,
            limits,
        )
        energy = [s.power_source.value for s in seen.samples if s.power_source is not None]
        day.believe(
            "power comes from the energy counter", set(energy[4:]) == {"energy"}, _counts(energy)
        )
        shares = [s.tensor_activity for s in seen.samples if s.tensor_activity is not None]
        day.figures["tensor_share_of_gemm"] = round(median(shares), 3) if shares else None
        spun = load(own, day.uuid, day.python, "spin", day.load_s).samples
        _judged(day, "busy without matrix work is not taken for it", None, spun, reference, limits)
    _is_the_cards(day)


def _judged(
    day: Day, name: str, wanted: str | None, samples: Any, reference: Any, limits: WorkLimits
) -> None:
    window = newest_window(samples, limits.window_s)
    found = classify(window, reference, limits).work.value
    bad = {"sm_busy_tensor_idle", "busy_at_low_power"}
    holds = (
        found == wanted
        if wanted
        else True
        if found in bad
        else None
        if "unknown" in found
        else False
    )
    day.believe(
        name,
        holds,
        {
            "work": found,
            "utilization": window.utilization,
            "power_w": window.power_w,
            "tensor": window.tensor_activity,
            "sm": window.sm_activity,
            "throttle": sorted(window.throttle or ()),
        },
    )


def _is_the_cards(day: Day) -> None:
    """Mean of the counter over a second against the driver's own figure, on the idle card again."""
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        time.sleep(3.0)
        before_mj, began_s = nvml.energy_mj(handle), time.monotonic()
        time.sleep(2.0)
        mean_w = (nvml.energy_mj(handle) - before_mj) / 1e3 / (time.monotonic() - began_s)
        average_w, instant_w = (
            nvml.average_power_mw(handle) / 1e3,
            nvml.instant_power_mw(handle) / 1e3,
        )
    finally:
        pynvml.nvmlShutdown()
    own = mean_w - average_w <= OWN_MARGIN_W or mean_w <= OWN_SHARE * average_w
    seen = {"energy_w": round(mean_w, 1), "average_w": average_w, "instant_w": instant_w}
    day.believe("the energy counter is the card's own", own, seen)


def watched(day: Day) -> None:
    """A real daemon, a real trainer: whose it is, what it does, what watching costs."""
    with ScratchDaemon(DAEMON) as daemon:
        command = [day.python, str(SCRIPT), "--seconds", "600", "--size", str(SIZE)]
        environ = {**os.environ, "CUDA_VISIBLE_DEVICES": day.uuid}
        with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as trainer:
            try:
                daemon.register(trainer.pid, "gpu-day")
                held = _until(daemon, lambda v: _holder(v, "gpu-day"), 90.0)
                day.believe(
                    "the driver names the trainer by the number we know", held is not None, held
                )
                work = _until(daemon, lambda v: _work(v, "gpu-day"), 60.0)
                day.believe("the daemon says what the trainer does", work == "matmul_bound", work)
                pids = [daemon.process.pid, *children(daemon.process.pid)]
                before = sum(map(cpu_s, pids))
                time.sleep(day.load_s)
                share = (sum(map(cpu_s, pids)) - before) / day.load_s * 100
                day.figures["watching_percent_of_a_core"] = round(share, 2)
            finally:
                trainer.terminate()
        ended_s = time.monotonic()
        free = _until(daemon, lambda v: None if _holder(v, "gpu-day") else True, 60.0)
        seen = round(time.monotonic() - ended_s, 1)
        day.believe("memory is given back when the trainer is gone", bool(free), seen)


def _until(daemon: ScratchDaemon, wanted: Callable[[Snapshot], Any], within_s: float) -> Any:
    """The first answer that is one."""
    ends_s = time.monotonic() + within_s
    while time.monotonic() < ends_s:
        found = wanted(snapshot_of(daemon.client.ask(GetSnapshot(), SnapshotReply)))
        if found is not None:
            return found
        time.sleep(0.5)
    return None


def _holder(shown: Snapshot, run: str) -> dict[str, Any] | None:
    cards = () if shown.gpus is None else shown.gpus.gpus
    holders = [h for g in cards for h in g.holders or () if h.run_id == run]
    return {"pid": holders[0].pid, "memory_bytes": holders[0].memory_bytes} if holders else None


def _work(shown: Snapshot, run: str) -> str | None:
    """The reason of the verdict on the run's work, once there are readings enough."""
    said = [v for v in shown.verdicts if (v.check, v.entity.id) == ("gpu_work_kind", run)]
    early = {"window_too_short", "holders_unknown", "no_gpu", "no_clear_fault"}
    return said[0].reason if said and said[0].reason not in early else None


def commands(day: Day) -> None:
    """What a user would type."""
    for name, words in {
        "probe_gemm": ("probe", "gemm", "--python", day.python, "--json"),
        "gpus": ("gpus", "--json"),
    }.items():
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pfid", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        day.figures[name] = json.loads(done.stdout) if done.stdout else None
        day.believe(f"pfid {words[0]} ends well", done.returncode == 0, done.stderr[-300:])


def _named(absent: Any) -> dict[str, str]:
    return {field: reason.value for field, reason in absent.items()}


def _counts(words: Iterable[str]) -> dict[str, int]:
    listed = list(words)
    return {word: listed.count(word) for word in sorted(set(listed))}


def main() -> int:
    """Try everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--load", type=float, default=12.0, help="seconds of work at a time")
    parser.add_argument("--parts", default="", help="these only, with commas between")
    chosen = parser.parse_args()
    only = chosen.parts.split(",") if chosen.parts else []
    day = Day(chosen.python, chosen.load)
    for name, needs_s, act in (
        ("box", 5, box),
        ("calls", 20, calls),
        ("idle", 20, idle),
        ("loads", 90, loads),
        ("watched", 150, watched),
        ("commands", 60, commands),
    ):
        if not only or name in only:
            day.part(name, needs_s, act)
    print(json.dumps(day.told(), indent=1))
    if not day.uuid:
        return 3
    return 1 if day.left_out or any(b["holds"] is False for b in day.beliefs) else 0


if __name__ == "__main__":
    sys.exit(main())
