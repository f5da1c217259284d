"""A page with one of everything on it, made by the page's own code: what can be asked for."""

from dataclasses import replace
from typing import Final

from pfid.adapters.page import Page, live_text
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.gpu import GpuFacts, GpuSample, PowerSource
from pfid.domain.gpu_view import AbsentCount, GpusView, GpuView, HolderView, XidCount
from pfid.domain.inside import Achieved
from pfid.domain.names import CheckName, RunId, RunName
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.domain.snapshot import (
    CheckCost,
    DaemonHealth,
    PluginView,
    Resources,
    RunView,
    SamplerView,
    Snapshot,
    StepHistogram,
    VerdictView,
)
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.spec.fakes import CONTROL_RUN

_AT_S: Final = CONTROL_RUN.started_at_s + 3600.0
_UUID: Final = "GPU-00000000-0000-0000-0000-000000000000"
_CHECK: Final = CheckName("run_gone")


def specimen_page() -> bytes:
    """Return it, with the families that are served live."""
    return Page().render(specimen_snapshot()) + live_text(
        _AT_S, requests=1, evicted=0, notices={"webhook": (1, 0)}
    )


def specimen_snapshot() -> Snapshot:
    """One run of a job that lives, one that ended, every kind of verdict, gate and sampler."""
    job = replace(CONTROL_RUN, job_id="812", rank=0, world_size=2)
    gone = replace(CONTROL_RUN, run_id=RunId("gone-20260829t120000z-0000"), name=RunName("gone"))
    legs = ProvenTo(controls=True, sabotage=True, live=True, alerts=True)
    return Snapshot(
        at_s=_AT_S,
        health=DaemonHealth(
            started_at_s=_AT_S - 60,
            ready=True,
            last_iteration_s=_AT_S,
            config_loaded_s=_AT_S - 60,
            selftest_last_success_s=dict.fromkeys(("controls", "sabotage", "live"), _AT_S),
            selftest_detection_s={"live": 1.0},
        ),
        runs=(
            RunView(
                run=job,
                state=RunState.RUNNING,
                last_progress_at_s=_AT_S,
                steps_total=100,
                histogram=StepHistogram(counts=(0,) * 10 + (90, 10) + (0,) * 6, sum_s=1_000.0),
                baseline=Baseline(median_s=10.0, source=BaselineSource.EARLIER_RUNS, n=64),
                slowdown_ratio=1.0,
                resources=Resources(
                    processes=2,
                    cpu_seconds=10.0,
                    resident_bytes=1 << 30,
                    read_bytes=1,
                    written_bytes=1,
                    memory_limit_bytes=1 << 36,
                    memory_available_bytes=1 << 35,
                ),
                recent_step_s=(10.0,) * 16,
                achieved=Achieved(
                    window_s=60.0,
                    steps=6,
                    ranks=1,
                    tokens_per_s=1_000.0,
                    real_tokens_per_s=900.0,
                    flops_per_s=1e14,
                    recompute_flops_per_s=1e13,
                    accounting="6 N T",
                    model_flops_utilization=0.4,
                ),
            ),
            RunView(
                run=gone,
                state=RunState.KILLED,
                end=RunEnd(kind=EndKind.SIGNALED, exit_code=None, signal=9, at_s=_AT_S),
            ),
        ),
        verdicts=(
            _verdict(Entity(EntityKind.RUN, job.run_id), Outcome.PASS),
            _verdict(Entity(EntityKind.RUN, gone.run_id), Outcome.FAIL),
            _verdict(Entity(EntityKind.GPU, "GPU-0"), Outcome.UNKNOWN),
            _verdict(BOX, Outcome.PASS),
        ),
        gates=(
            Gate(
                check=_CHECK,
                stage="watch",
                state=GateState.PROVEN,
                proven_to=legs,
                proven_at_s=_AT_S,
            ),
        ),
        samplers=(
            SamplerView(name="proc", interval_s=5.0, last_success_s=_AT_S),
            SamplerView(name="steps", interval_s=1.0, last_success_s=_AT_S),
        ),
        costs=(CheckCost(check=_CHECK, last_run_s=_AT_S, runs=1),),
        plugins=(PluginView(name="pfid_plugins", version="1"),),
        gpus=_gpus(job.run_id),
    )


def _gpus(run_id: RunId) -> GpusView:
    """One card on which everything can be read."""
    sample = GpuSample(
        uuid=_UUID,
        at_s=_AT_S,
        utilization=1.0,
        power_w=600.0,
        power_source=PowerSource.ENERGY,
        power_limit_w=700.0,
        energy_j=1.0,
        throttle=frozenset(),
        memory_used_bytes=1,
        temperature_c=60.0,
        sm_activity=1.0,
        tensor_activity=0.5,
        dram_activity=0.5,
        ecc_uncorrected=0,
        processes=(),
    )
    card = GpuView(
        facts=GpuFacts(
            uuid=_UUID, index=0, name="GPU", pci_bus_id="0000:01:00.0", memory_total_bytes=2
        ),
        present=True,
        last=sample,
        holders=(HolderView(pid=1, memory_bytes=1, visible=True, run_id=run_id),),
        xids=(XidCount(code=79, count=1, last_s=_AT_S),),
    )
    absent = (AbsentCount(field="power_w", reason="lost", count=1),)
    return GpusView(
        up=True, driver="1", library="1", expected=1, visible=1, gpus=(card,), absent=absent
    )


def _verdict(entity: Entity, outcome: Outcome) -> VerdictView:
    return VerdictView(
        check=_CHECK,
        stage="watch",
        entity=entity,
        outcome=outcome,
        reason="specimen",
        summary="a specimen",
        since_s=_AT_S,
        last_run_s=_AT_S,
    )
