"""The GPUs for everybody's eyes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WINDOW_S, WorkLimits
from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.tracked_gpu import TrackedGpu
from pfid.domain.gpu import NVML
from pfid.domain.gpu_view import AbsentCount, GpusView, GpuView, HolderView, WorkKind, XidCount
from pfid.domain.names import RunId
from pfid.spec.ports.gpus import GpuHolder, SamplerProblem

KIND_S: Final = 10.0
Names = Mapping[RunId, str]


def gpus_view(
    box: GpuBox,
    now_s: float,
    names: Names,
    *,
    window_s: float = WINDOW_S,
    achieved: Mapping[str, float] = MappingProxyType({}),
) -> GpusView:
    """All of them.

    Args:
        box: what is known.
        now_s: monotonic.
        names: of the runs.
        window_s: seconds over which the kind of work is judged.
        achieved: FLOP/s that runs report to get out of a GPU, by its uuid.
    """
    nvml = box.samplers.get(NVML)
    count = box.count()
    problem = SamplerProblem.DISABLED if nvml is None else nvml.problem
    if problem is SamplerProblem.NONE and not box.fresh(NVML, now_s):
        problem = SamplerProblem.HUNG
    return GpusView(
        up=box.up(NVML, now_s),
        problem=problem.value,
        driver="" if nvml is None else nvml.driver,
        library="" if nvml is None else nvml.library,
        expected=None if count is None else count.known,
        withheld="" if count is None or count.configured is not None else count.withheld.value,
        visible=0 if count is None else len(count.visible),
        gpus=tuple(
            _view(
                gpu,
                names,
                _Look(WorkLimits(window_s=window_s), achieved.get(gpu.facts.uuid)),
                fresh=box.fresh(gpu.source, now_s),
            )
            for gpu in box.ordered()
        ),
        absent=tuple(
            AbsentCount(field=field, reason=reason, count=n)
            for (field, reason), n in sorted(box.absent.items())
        ),
    )


class _Look(NamedTuple):
    """What the kind of work is told by, beside the samples."""

    limits: WorkLimits
    flops_per_s: float | None


def _view(gpu: TrackedGpu, names: Names, look: _Look, *, fresh: bool) -> GpuView:
    shown = fresh and gpu.present
    kind, reason = _kind(gpu, look) if shown else (WorkKind.UNKNOWN, "no_fresh_sample")
    return GpuView(
        facts=gpu.facts,
        present=gpu.present,
        last=gpu.samples[-1] if shown and gpu.samples else None,
        kind=kind,
        kind_reason=reason,
        holders=_holders(gpu, names) if shown else None,
        xids=tuple(
            XidCount(code=code, count=n, last_s=gpu.xid_last_s[code])
            for code, n in sorted(gpu.xid_counts.items())
        ),
        unheard_s=gpu.unheard_s,
        reference=gpu.reference,
        recent_utilization=tuple(gpu.utilization.means),
        recent_power_w=tuple(gpu.power_w.means),
    )


def _kind(gpu: TrackedGpu, look: _Look) -> tuple[WorkKind, str]:
    """What it is busy with, and the code that says why; looked at anew every few seconds."""
    at_s = gpu.samples[-1].at_s if gpu.samples else 0.0
    waits = gpu.kind_due_s - KIND_S <= at_s < gpu.kind_due_s  # not where a clock was set back
    if not waits or gpu.kind is WorkKind.UNKNOWN:
        gpu.kind_due_s = at_s + KIND_S
        gpu.kind, gpu.kind_reason = _looked_at(gpu, look)
    return gpu.kind, gpu.kind_reason


def _looked_at(gpu: TrackedGpu, look: _Look) -> tuple[WorkKind, str]:
    window = newest_window(gpu.state.samples, look.limits.window_s)
    reading = classify(
        window,
        gpu.reference,
        look.limits,
        look.flops_per_s,
        default_limit_w=gpu.facts.power_limit_default_w,
    )
    return reading.kind, reading.work.value


def _holders(gpu: TrackedGpu, names: Names) -> tuple[HolderView, ...] | None:
    if gpu.holders is None:
        return None
    return tuple(_holder(holder, names) for holder in gpu.holders)


def _holder(holder: GpuHolder, names: Names) -> HolderView:
    return HolderView(
        pid=holder.pid,
        memory_bytes=holder.memory_bytes,
        visible=holder.visible,
        username=holder.username,
        run_id=holder.run_id,
        run_name="" if holder.run_id is None else names.get(holder.run_id, ""),
        zombie=holder.zombie,
    )
