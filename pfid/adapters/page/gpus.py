"""GPUs: what a pfid verdict rests on. Full telemetry is dcgm-exporter's.

A value that could not be read is absent and counted, never 0; figures older than a few intervals
are not shown at all.
"""

from collections.abc import Iterator
from typing import Final

from pfid.adapters.page.family import COUNTER, GAUGE, Family, Labels, Spec, shared, untrusted
from pfid.domain.gpu import THROTTLE_REASONS, GpuSample
from pfid.domain.gpu_view import GpusView, GpuView, WorkKind

UP: Final = Spec("pfid_nvml_up", GAUGE, "1 while NVIDIA's driver answers.")
INFO: Final = Spec("pfid_nvml_info", GAUGE, "Always 1. Versions of driver and library.")
EXPECTED: Final = Spec(
    "pfid_gpus_expected", GAUGE, "GPUs ever seen here or on the bus, or as configured."
)
VISIBLE: Final = Spec("pfid_gpus_visible", GAUGE, "GPUs the driver answers for.")
GPU: Final = Spec("pfid_gpu_info", GAUGE, "Always 1. What the GPU is; join on uuid.")
MIG: Final = Spec(
    "pfid_gpu_mig_instance_info", GAUGE, "Always 1. A slice of a GPU under MIG; none without."
)
GPU_UP: Final = Spec("pfid_gpu_up", GAUGE, "1 while the driver answers for this GPU.")
UTILIZATION: Final = Spec(
    "pfid_gpu_utilization_ratio", GAUGE, "Share of time any kernel ran; says nothing of which."
)
SM: Final = Spec("pfid_gpu_sm_active_ratio", GAUGE, "Share of SMs that were busy (GPM).")
TENSOR: Final = Spec("pfid_gpu_tensor_active_ratio", GAUGE, "Share of time in tensor cores (GPM).")
DRAM: Final = Spec("pfid_gpu_dram_active_ratio", GAUGE, "Share of memory bandwidth used (GPM).")
POWER: Final = Spec(
    "pfid_gpu_power_watts", GAUGE, "Power; pfid_gpu_power_source_info says how it was had."
)
SOURCE: Final = Spec(
    "pfid_gpu_power_source_info",
    GAUGE,
    "Always 1. energy: exact mean of the interval, instant: the moment, average: the driver's own.",
)
LIMIT: Final = Spec("pfid_gpu_power_limit_watts", GAUGE, "Power limit enforced now.")
ENERGY: Final = Spec("pfid_gpu_energy_joules_total", COUNTER, "Energy since the driver was loaded.")
USED: Final = Spec("pfid_gpu_memory_used_bytes", GAUGE, "Memory in use.")
TOTAL: Final = Spec("pfid_gpu_memory_total_bytes", GAUGE, "Memory there is.")
TEMPERATURE: Final = Spec("pfid_gpu_temperature_celsius", GAUGE, "Core temperature.")
ECC: Final = Spec(
    "pfid_gpu_ecc_uncorrected_errors_total", COUNTER, "Uncorrected errors since the driver loaded."
)
PROCESSES: Final = Spec("pfid_gpu_processes", GAUGE, "Processes the driver lists on the GPU.")
UNSEEN: Final = Spec(
    "pfid_gpu_processes_not_visible", GAUGE, "Of these, those that are no process anyone can see."
)
THROTTLE: Final = Spec(
    "pfid_gpu_throttle_active", GAUGE, "1 for a reason that holds the clocks now, 0 for the others."
)
WORK: Final = Spec(
    "pfid_gpu_work_kind", GAUGE, "1 for what the GPU was busy with over the last minute, else 0."
)
XIDS: Final = Spec(
    "pfid_gpu_xid_errors_total", COUNTER, "Error events; those that matter most from the start."
)
XID_AT: Final = Spec("pfid_gpu_xid_last_timestamp_seconds", GAUGE, "Last event of that kind.")
UNHEARD: Final = Spec(
    "pfid_gpu_xid_unheard_seconds_total",
    COUNTER,
    "Time in which nobody listened for error events, and of which nothing tells.",
)
REFERENCE_POWER: Final = Spec(
    "pfid_gpu_reference_power_watts", GAUGE, "Power of this card's own dense GEMM, where measured."
)
ABSENT: Final = Spec(
    "pfid_gpu_absent_values_total", COUNTER, "Values that could not be read, by reason."
)
RUN_MEMORY: Final = Spec("pfid_run_gpu_memory_bytes", GAUGE, "GPU memory a run's processes hold.")
ALERTED: Final = (48, 62, 64, 74, 79, 95, 119, 120)
SHOWN_XIDS: Final = 20
SHOWN_INSTANCES: Final = 8
"""No card is divided into more."""
OTHER: Final = "other"


def families(view: GpusView | None, runs: frozenset[str]) -> Iterator[Family]:
    """Everything about GPUs; nothing where nobody looks.

    Args:
        view: of the snapshot.
        runs: ids of the runs that are on the page.
    """
    if view is None:
        return
    yield from _driver(view)
    gpus = [(gpu, shared(uuid=untrusted(gpu.facts.uuid))) for gpu in view.gpus]
    yield from _facts(gpus)
    fresh = [(gpu, labels, gpu.last) for gpu, labels in gpus if gpu.last is not None]
    yield from _figures([(labels, last) for _, labels, last in fresh])
    yield from _processes([(gpu, labels) for gpu, labels, _ in fresh], runs)
    yield from _errors(gpus)
    absent = Family(ABSENT)
    for count in view.absent:
        absent.add(count.count, shared(field=count.field, reason=count.reason))
    yield absent


def _driver(view: GpusView) -> Iterator[Family]:
    up, info = Family(UP), Family(INFO)
    up.add(1 if view.up else 0)
    if view.driver:
        info.add(
            1,
            shared(driver_version=untrusted(view.driver), nvml_version=untrusted(view.library)),
        )
    expected, visible = Family(EXPECTED), Family(VISIBLE)
    expected.add_known(view.expected)
    if view.up or any(gpu.last is not None for gpu in view.gpus):
        visible.add(view.visible)
    yield from (up, info, expected, visible)


def _facts(gpus: list[tuple[GpuView, Labels]]) -> Iterator[Family]:
    specs = (GPU, GPU_UP, TOTAL, REFERENCE_POWER, WORK)
    info, up, total, reference, work = made = tuple(Family(spec) for spec in specs)
    for gpu, labels in gpus:
        facts = gpu.facts
        info.add(
            1,
            shared(
                **labels.pairs,
                gpu=str(facts.index),
                name=untrusted(facts.name),
                pci_bus_id=untrusted(facts.pci_bus_id),
            ),
        )
        up.add(1 if gpu.last is not None else 0, labels)
        if gpu.present:
            total.add_known(facts.memory_total_bytes, labels)
        if gpu.reference is not None:
            reference.add(gpu.reference.power_w, labels)
        for kind in WorkKind:
            work.add(1 if gpu.kind is kind else 0, labels.wider(kind=kind.value))
    yield from made
    yield _slices(gpus)


def _slices(gpus: list[tuple[GpuView, Labels]]) -> Family:
    family = Family(MIG)
    for gpu, labels in gpus:
        for each in gpu.facts.instances[:SHOWN_INSTANCES] if gpu.present else ():
            family.add(
                1,
                shared(**labels.pairs, instance=untrusted(each.uuid), profile=untrusted(each.name)),
            )
    return family


def _figures(fresh: list[tuple[Labels, GpuSample]]) -> Iterator[Family]:
    plain = (
        (UTILIZATION, "utilization"),
        (SM, "sm_activity"),
        (TENSOR, "tensor_activity"),
        (DRAM, "dram_activity"),
        (POWER, "power_w"),
        (LIMIT, "power_limit_w"),
        (ENERGY, "energy_j"),
        (USED, "memory_used_bytes"),
        (TEMPERATURE, "temperature_c"),
        (ECC, "ecc_uncorrected"),
    )
    for spec, name in plain:
        family = Family(spec)
        for labels, last in fresh:
            family.add_known(getattr(last, name), labels)
        yield family
    source, throttle = Family(SOURCE), Family(THROTTLE)
    for labels, last in fresh:
        if last.power_source is not None:
            source.add(1, labels.wider(source=last.power_source.value))
        if last.throttle is not None:
            for reason in THROTTLE_REASONS:
                active = 1 if reason in last.throttle else 0
                throttle.add(active, labels.with_one("reason", reason))
    yield from (source, throttle)


def _processes(fresh: list[tuple[GpuView, Labels]], runs: frozenset[str]) -> Iterator[Family]:
    processes, unseen, of_runs = Family(PROCESSES), Family(UNSEEN), Family(RUN_MEMORY)
    for gpu, labels in fresh:
        if gpu.holders is None:
            continue
        processes.add(len(gpu.holders), labels)
        unseen.add(sum(h.visible is False for h in gpu.holders), labels)
        for run_id, used in _by_run(gpu, runs).items():
            of_runs.add(used, shared(run=run_id, **labels.pairs))
    yield from (processes, unseen, of_runs)


def _by_run(gpu: GpuView, runs: frozenset[str]) -> dict[str, int]:
    """Bytes by run; a run with a process whose memory is not told is left out."""
    held: dict[str, int | None] = {}
    for holder in gpu.holders or ():
        if holder.run_id is None or holder.run_id not in runs:
            continue
        before = held.get(holder.run_id, 0)
        known = before is not None and holder.memory_bytes is not None
        held[holder.run_id] = (before or 0) + (holder.memory_bytes or 0) if known else None
    return {run_id: used for run_id, used in held.items() if used is not None}


def _errors(gpus: list[tuple[GpuView, Labels]]) -> Iterator[Family]:
    counts, last, unheard = Family(XIDS), Family(XID_AT), Family(UNHEARD)
    for gpu, labels in gpus:
        unheard.add(gpu.unheard_s, labels)
        seen = {x.code: x for x in gpu.xids}
        others = [code for code in seen if code not in ALERTED]
        shown = (*ALERTED, *others[: SHOWN_XIDS - len(ALERTED)])
        for code in shown:
            of_code = labels.wider(xid=str(code))
            counts.add(seen[code].count if code in seen else 0, of_code)
            if code in seen:
                last.add(seen[code].last_s, of_code)
        rest = [seen[code] for code in seen if code not in shown]
        of_rest = labels.wider(xid=OTHER)
        counts.add(sum(x.count for x in rest), of_rest)
        if rest:
            last.add(max(x.last_s for x in rest), of_rest)
    yield from (counts, last, unheard)
