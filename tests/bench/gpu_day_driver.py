"""What pfid relies on in the driver: its functions, what each costs, events, the energy counter."""

import ctypes
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import pynvml
from gpu_day import Day

from pfid.adapters.gpu_worker import pids_are_ours
from pfid.workers import nvml_calls as nvml

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
    "nvmlDeviceGetPowerManagementDefaultLimit",
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
