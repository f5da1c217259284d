"""GPUs in the loop: a reading becomes samples and holders, and checks become due."""

from typing import Final

from pfid.analysis.gpu_past import GpuPastKeeper
from pfid.daemon.box_judging import BoxJudging
from pfid.daemon.core import Core
from pfid.daemon.gpu_holders import Holders, InTree, RunTree
from pfid.daemon.messages import GpuBusSeen, GpuHeard, GpuSamplerLost
from pfid.daemon.plugins import SAMPLERS_HOOK, count
from pfid.daemon.tracked_gpu import TrackedGpu
from pfid.domain.gpu import NVML, GpuProcess, XidEvent
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.names import RunId
from pfid.domain.snapshot import SamplerView
from pfid.spec.ports.gpus import GpuHolder, SamplerProblem
from pfid.wire.gpu import Opened, Read, Trouble
from pfid.wire.stored import DropGpu, GpuBody, PutGpu, pack

RESOLVE_S: Final = 5.0
"""How often a list of processes that did not change is looked at again: a pid may be reused."""
DAY_S: Final = 86_400.0
WRITTEN_EVERY: Final = 300
"""Of so many samples one has a run's past written: what a kill of the daemon can lose of it."""
GIVEN_UP: Final = frozenset({SamplerProblem.HUNG, SamplerProblem.CRASHED})


class Gpus:
    """Takes what samplers say into ``core.gpus``."""

    def __init__(self, core: Core, judging: BoxJudging) -> None:
        """Work for ``core``."""
        self._core = core
        self._judging = judging
        self._box = core.gpus
        self._holders = Holders(
            core.ports.processes,
            pids_are_ours=core.gpus.pids_are_ours,
            own_pid=core.gpus.own_pid,
        )
        self._resolve_due_s: dict[str, float] = {}

    def heard(self, message: GpuHeard) -> None:
        """A sampler reports."""
        now_s = self._core.monotonic_s()
        report = message.report
        if isinstance(report, Read):
            self._read(report, now_s)
        elif isinstance(report, Opened):
            for gpu in self._box.opened(report, now_s):
                self._write(gpu)
                self._judging.gpus_changed()
            self._known(report.sampler)
            self._core.ports.log.say(
                "info", "gpu driver", sampler=report.sampler, driver=report.driver
            )
        elif isinstance(report, Trouble):
            self._trouble(report, now_s)

    def _read(self, report: Read, now_s: float) -> None:
        told = self._box.read(report, now_s, self._whose)
        self._known(report.sampler)
        self._core.sampled(report.sampler)
        for gpu in told:
            self._who(gpu, now_s)
            self._past(gpu)
        if report.facts is not None:
            self._remember(report.at_s)
        for event in report.xids:
            self._core.ports.log.say("warning", "xid", uuid=event.uuid, code=event.code)
            self._core.urgent = True
        for gpu in {g.facts.uuid: g for e in report.xids if (g := self._box.erring(e))}.values():
            self._write(gpu)
        if report.facts is not None or report.lost or report.xids or report.unheard_s:
            self._judging.gpus_changed()
        self._core.snapshot_stale = True

    def _trouble(self, report: Trouble, now_s: float) -> None:
        name = report.sampler or NVML
        before = self._box.sampler(name, now_s).problem
        self._box.trouble(report, now_s)
        self._known(name)
        if before is not report.problem:
            self._core.sampled(name, error=True)
            self._say(name, report.problem, report.detail)
            self._judging.gpus_changed()

    def lost(self, message: GpuSamplerLost) -> None:
        """The sampler is gone, or there is nothing to start it for."""
        now_s = self._core.monotonic_s()
        name = message.sampler
        before = self._box.sampler(name, now_s).problem
        self._box.troubled(name, message.problem, now_s)
        self._known(name)
        if message.problem in GIVEN_UP:
            hung = message.problem is SamplerProblem.HUNG
            self._core.sampled(name, error=not hung, timeout=hung)
        if before is not message.problem or message.problem in GIVEN_UP:
            device = "" if message.index is None else f"device {message.index}"
            self._say(name, message.problem, " ".join(filter(None, (device, message.detail))))
            self._judging.gpus_changed()

    def _say(self, sampler: str, problem: SamplerProblem, detail: str) -> None:
        level = "info" if problem is SamplerProblem.NO_LIBRARY else "error"
        event = "gpu sampler" if sampler == NVML else "plugin sampler"
        self._core.ports.log.say(
            level, event, sampler=sampler, problem=problem.value, detail=detail
        )
        if sampler != NVML and problem is not SamplerProblem.NO_LIBRARY:
            count(self._core, sampler, SAMPLERS_HOOK)
        self._core.snapshot_stale = True

    def bus(self, message: GpuBusSeen) -> None:
        """What the kernel sees."""
        if message.bus_ids != self._box.on_bus:
            self._box.on_bus = message.bus_ids
            self._judging.gpus_changed()

    def _known(self, sampler: str) -> None:
        self._core.samplers.setdefault(
            sampler,
            SamplerView(name=sampler, interval_s=self._box.interval_s, last_success_s=None),
        )

    def _who(self, gpu: TrackedGpu, now_s: float) -> None:
        """Say who is on a GPU, when the list changed and now and then."""
        listed = gpu.samples[-1].processes
        uuid = gpu.facts.uuid
        if listed == gpu.listed and now_s < self._resolve_due_s.get(uuid, 0.0):
            return
        self._resolve_due_s[uuid] = now_s + RESOLVE_S
        gpu.listed = listed
        holders = None if listed is None else self._named(gpu, listed)
        if holders != gpu.holders:
            others = _who_is_on(holders) != _who_is_on(gpu.holders)
            gpu.holders = holders
            gpu.changed()
            self._judging.gpus_changed(of_runs=others)

    def _past(self, gpu: TrackedGpu) -> None:
        """Keep the sample for the runs on this GPU: it is asked for when they are over."""
        for run_id in gpu.held_by:
            run = self._core.runs.get(run_id)
            if run is None or run.end is not None:
                continue
            kept = run.gpus.get(gpu.facts.uuid)
            if kept is None:
                kept = run.gpus[gpu.facts.uuid] = GpuPastKeeper.of(gpu.facts)
            if kept.add(gpu.samples[-1], gpu.reference) and kept.seen % WRITTEN_EVERY == 1:
                run.steps_dirty = True

    def _named(self, gpu: TrackedGpu, listed: tuple[GpuProcess, ...]) -> tuple[GpuHolder, ...]:
        core = self._core
        if not listed:
            gpu.owners.clear()
            return ()
        here = self._holders.here(listed).values()
        members = {pid: m for pid in here if (m := self._member(pid)) is not None}
        runs = {
            run_id: RunTree(ended=run.end is not None, defunct=run.defunct)
            for _, run_id in gpu.owners.values()
            if (run := core.runs.get(run_id)) is not None
        }
        return self._holders.of(gpu, listed, members, runs)

    def _member(self, pid: int) -> InTree | None:
        """The process as the tree of its run knows it; None for a stranger or a zombie."""
        member = self._core.by_pid.get(pid)
        run = None if member is None else self._core.runs.get(member.run_id)
        if member is None or run is None or run.defunct:
            return None
        return InTree(
            run_id=run.run_id,
            start_ticks=member.start_ticks,
            comm=member.comm,
            uid=run.run.uid,
            username=run.run.username,
        )

    def _whose(self, event: XidEvent) -> RunId | None:
        """The run an error belongs to: only if the driver names a process, and it is a run's."""
        pid = event.pid
        if pid is not None and not self._box.pids_are_ours:
            pid = self._box.own_pid(pid)
        member = None if pid is None else self._core.by_pid.get(pid)
        return None if member is None else member.run_id

    def _remember(self, at_s: float) -> None:
        """Keep on disk which GPUs there are, so that one that is gone is missed."""
        for gpu in self._box.gpus.values():
            if gpu.present and _worth_writing(gpu, at_s):
                self._write(gpu, at_s)

    def _write(self, gpu: TrackedGpu, at_s: float | None = None) -> None:
        """Keep one on disk as it is; ``at_s`` for one that was seen just now."""
        before = gpu.written
        seen_s = 0.0 if before is None else before.last_seen_s
        gpu.written = GpuBody(
            facts=gpu.facts,
            source=gpu.source,
            last_seen_s=seen_s if at_s is None else at_s,
            reference=None if before is None else before.reference,
            xids=gpu.stored_xids(),
        )
        self._core.changes.append(PutGpu(uuid=gpu.facts.uuid, body=pack(gpu.written)))

    def refer(self, references: tuple[GpuReference, ...]) -> None:
        """Keep what GPUs do on their own GEMM."""
        for reference in references:
            gpu = self._box.refer(reference)
            if gpu is not None and gpu.written is not None:
                self._write(gpu)
        self._judging.gpus_changed()
        self._core.snapshot_stale = True

    def forget(self, uuid: str) -> bool:
        """A GPU was taken out on purpose; False if it is here or nobody knows it."""
        gpu = self._box.gpus.get(uuid)
        if gpu is None or gpu.present:
            return False
        del self._box.gpus[uuid]
        self._core.changes.append(DropGpu(uuid=uuid))
        self._judging.gpus_changed()
        self._core.snapshot_stale = self._core.urgent = True
        return True


def _who_is_on(holders: tuple[GpuHolder, ...] | None) -> object:
    """What of them matters to a run beside them: who they are, and about how much each holds."""
    if holders is None:
        return None
    return [
        (h.pid, h.uid, h.run_id, h.run_ended, h.visible, h.zombie, (h.memory_bytes or -1) >> 26)
        for h in holders
    ]


def _worth_writing(gpu: TrackedGpu, at_s: float) -> bool:
    written = gpu.written
    return (
        written is None
        or written.facts != gpu.facts
        or written.source != gpu.source
        or at_s - written.last_seen_s > DAY_S
    )
