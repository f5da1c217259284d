"""Alerts straight from series that no check judges: half an hour is Prometheus's to count.

Each has its twin for the case that nobody can tell, one step less loud, as the alerts of checks do.
Those that do not suit every box are printed only when asked for.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pfid.monitoring.rule import NONE, Alert, Group
from pfid.monitoring.run_rules import ENDED, IDENTITY

LEFT_MIN: Final = 0.1
"""Share of the memory that is left below which it is scarce ..."""
HELD_MIN: Final = 0.1
"""... and that a run holds at least to be named for it."""
HELD_ON_GPU_MIN: Final = 0.05
IDLE_BELOW: Final = 0.01
HOT_C: Final = 90
KEEP_S: Final = 300
"""Longer than PfidDown takes: that a box falls silent is no recovery, and then silences these."""
_ON_RUN: Final = "on (job, instance, run)"
_ON_GPU: Final = "on (job, instance, uuid)"
_OF_LIMIT: Final = f"/ {_ON_RUN} pfid_run_memory_limit_bytes"
_UNTOLD: Final = "`pfid gpus` names what could not be read of it, and why."

ALWAYS: Final = (
    Alert(
        name="PfidRunHostMemoryHigh",
        expr=f"((pfid_run_memory_available_bytes {_OF_LIMIT} < {LEFT_MIN}) and {_ON_RUN}"
        f" (pfid_run_resident_memory_bytes {_OF_LIMIT} > {HELD_MIN})) {IDENTITY}",
        for_s=120,
        severity="warning",
        summary="Memory is nearly used up where a run lives, and the run holds much of it.",
        description="Run {{ $labels.name }} of {{ $labels.username }} ({{ $labels.run }}) on"
        " {{ $labels.instance }} lives where {{ $value | humanizePercentage }} of the memory is"
        " left, of the box or under the limit of its cgroup.",
        runbook="When nothing is left the kernel kills the largest process: save a checkpoint, then"
        " look at data loader workers, prefetching and pinned memory. Resident memory counts pages"
        " that workers share once for each of them.",
    ),
    Alert(
        name="PfidRunHostMemoryUnknown",
        expr=f"(pfid_run_resident_memory_bytes unless {_ON_RUN} pfid_run_memory_available_bytes"
        f" unless {_ON_RUN} {ENDED}) {IDENTITY}",
        for_s=600,
        severity="info",
        summary="Nobody can tell how much memory is left where a run lives.",
        description="Run {{ $labels.name }} of {{ $labels.username }} ({{ $labels.run }}) on"
        " {{ $labels.instance }}: neither the box nor its cgroup says what is left.",
        runbook="/proc/meminfo must name MemTotal and MemAvailable to pfid's own user.",
    ),
    Alert(
        name="PfidGpuHeldIdle",
        expr=f"(pfid_gpu_processes > 0) and {_ON_GPU} (pfid_gpu_memory_used_bytes / {_ON_GPU}"
        f" pfid_gpu_memory_total_bytes > {HELD_ON_GPU_MIN}) and {_ON_GPU}"
        f" (pfid_gpu_utilization_ratio < {IDLE_BELOW})",
        for_s=1_800,
        severity="info",
        summary="A GPU is held and has computed nothing for half an hour.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }}: {{ $value }} processes hold"
        " its memory, and none of them uses it.",
        runbook="`pfid gpus` names processes, users and runs. A notebook or a debugger can give it"
        " back; a run that waits shows what for under `pfid show RUN`.",
    ),
    Alert(
        name="PfidGpuHeldIdleUnknown",
        expr=f"(pfid_gpu_processes > 0) unless {_ON_GPU} (pfid_gpu_utilization_ratio and {_ON_GPU}"
        f" pfid_gpu_memory_used_bytes and {_ON_GPU} pfid_gpu_memory_total_bytes)",
        for_s=1_800,
        severity=NONE,
        summary="Nobody can tell whether a GPU that is held computes anything.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }} does not tell its utilisation"
        " or its memory; under MIG none does.",
        runbook=_UNTOLD,
    ),
    Alert(
        name="PfidGpuThrottled",
        expr='pfid_gpu_throttle_active{reason=~"hw_slowdown|hw_thermal|hw_power_brake"} == 1',
        for_s=300,
        severity="warning",
        summary="A GPU is held back by its hardware.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }} is slowed:"
        " {{ $labels.reason }}.",
        runbook="Cooling, power cables and supply; `nvidia-smi -q -d PERFORMANCE,TEMPERATURE` on"
        " the box. Steps of every run on it are slower than they should be.",
    ),
    Alert(
        name="PfidGpuThrottledUnknown",
        expr=f"(pfid_gpu_up == 1) unless {_ON_GPU} (group by (job, instance, uuid)"
        " (pfid_gpu_throttle_active))",
        for_s=600,
        severity="info",
        summary="Nobody can tell whether a GPU is held back.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }} answers and does not tell its"
        " clock event reasons.",
        runbook=_UNTOLD,
    ),
)
IF_ASKED: Final = (
    Alert(
        name="PfidGpuThrottledBySoftware",
        expr='pfid_gpu_throttle_active{reason="sw_thermal"} == 1',
        for_s=300,
        severity="info",
        summary="A GPU's driver holds it back for its temperature.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }} is slowed by its driver.",
        runbook="On many boxes this is how a card works under load; steps that are slower than they"
        " were show as PfidStepTimeRegime.",
    ),
    Alert(
        name="PfidGpuTemperatureHigh",
        expr=f"pfid_gpu_temperature_celsius > {HOT_C}",
        for_s=300,
        severity="warning",
        summary="A GPU is hot.",
        description="GPU {{ $labels.uuid }} on {{ $labels.instance }} is at {{ $value }} °C.",
        runbook="Cooling of the box; cards differ in what they stand, so set the limit in the rule"
        " to yours.",
    ),
)
"""Cards and boxes differ too much for these to be right everywhere."""


def series_group(asked: Iterable[str] = ()) -> Group:
    """The alerts of every box, and those of ``IF_ASKED`` that were asked for."""
    wanted = frozenset(asked)
    more = tuple(alert for alert in IF_ASKED if alert.name in wanted)
    kept = (replace(alert, keep_s=KEEP_S) for alert in (*ALWAYS, *more))
    return Group(name="pfid-series", rules=tuple(kept))


NAMES: Final = frozenset(alert.name for alert in (*ALWAYS, *IF_ASKED))
