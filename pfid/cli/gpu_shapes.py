"""GPUs as JSON (DESIGN, section 9): a value that is absent is null, and named with its reason."""

from typing import Any, Final

from pfid.domain.gpu import AbsentReason, MigInstance
from pfid.domain.gpu_view import GpusView, GpuView, HolderView

FIELDS: Final = (
    "utilization",
    "power_w",
    "power_limit_w",
    "energy_j",
    "sm_clock_hz",
    "memory_used_bytes",
    "temperature_c",
    "sm_activity",
    "tensor_activity",
    "dram_activity",
    "ecc_uncorrected",
)


def gpus_json(view: GpusView) -> dict[str, Any]:
    """All of them."""
    return {
        "driver": view.driver or None,
        "problem": view.problem or None,
        "expected": view.expected,
        "withheld": view.withheld or None,
        "visible": view.visible,
        "gpus": [gpu_json(gpu) for gpu in view.gpus],
    }


def gpu_json(gpu: GpuView) -> dict[str, Any]:
    """One GPU."""
    facts, last = gpu.facts, gpu.last
    holders = gpu.holders or ()
    return {
        "uuid": facts.uuid,
        "index": facts.index,
        "name": facts.name,
        "vendor": facts.vendor,
        "pci_bus_id": facts.pci_bus_id,
        "capability": None if facts.capability is None else list(facts.capability),
        "mig": facts.mig,
        "mig_instances": [_instance(each) for each in facts.instances],
        "present": gpu.present,
        **{name: None if last is None else getattr(last, name) for name in FIELDS},
        "power_source": None
        if last is None or last.power_source is None
        else last.power_source.value,
        "throttle": None if last is None or last.throttle is None else sorted(last.throttle),
        "memory_total_bytes": facts.memory_total_bytes,
        "kind": gpu.kind.value,
        "reason": gpu.kind_reason,
        "absent": _absent(gpu),
        "runs": sorted({str(h.run_id) for h in holders if h.run_id is not None}),
        "users": sorted({h.username for h in holders if h.username}),
        "processes": None if gpu.holders is None else [_holder(h) for h in gpu.holders],
        "xids": {str(x.code): x.count for x in gpu.xids},
        "xids_unheard_s": gpu.unheard_s,
        "reference": None
        if gpu.reference is None
        else {"tflops": gpu.reference.tflops, "power_w": gpu.reference.power_w},
        "recent_utilization": list(gpu.recent_utilization),
        "recent_power_w": list(gpu.recent_power_w),
    }


def _instance(slice_: MigInstance) -> dict[str, Any]:
    return {
        "uuid": slice_.uuid,
        "name": slice_.name,
        "gpu_instance": slice_.gpu_instance,
        "compute_instance": slice_.compute_instance,
        "memory_total_bytes": slice_.memory_total_bytes,
    }


def _absent(gpu: GpuView) -> dict[str, str]:
    if gpu.last is not None:
        return {n: r.value for n, r in (*gpu.facts.absent.items(), *gpu.last.absent.items())}
    why = AbsentReason.TIMEOUT if gpu.present else AbsentReason.LOST
    named = dict.fromkeys((*FIELDS, "throttle", "processes"), why.value)
    return named | {n: r.value for n, r in gpu.facts.absent.items()}


def _holder(holder: HolderView) -> dict[str, Any]:
    return {
        "pid": holder.pid,
        "memory_bytes": holder.memory_bytes,
        "visible": holder.visible,
        "user": holder.username or None,
        "run": holder.run_id,
        "zombie": holder.zombie,
    }
