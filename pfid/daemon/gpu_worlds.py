"""The GPU port of a world: what is known now, without a call to anything."""

from dataclasses import dataclass

from pfid.daemon.gpu_box import GpuBox, TrackedGpu
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.spec.fakes_gpus import FixedGpus
from pfid.spec.ports.gpus import AchievedFlops, GpuCount, GpuState, SamplerFacts


@dataclass(frozen=True, slots=True)
class LiveGpus:
    """The box's GPUs, and those of one subject. Valid for one evaluation."""

    box: GpuBox
    subject: Entity
    monotonic_s: float

    def sampler(self) -> SamplerFacts:
        """How the sampler does that brings the subject's GPU, NVML's for everybody else."""
        gpu = self._subject_gpu()
        if gpu is None:
            return self.box.facts(self.monotonic_s)
        return self.box.facts(self.monotonic_s, gpu.source)

    def count(self) -> GpuCount | None:
        """Which GPUs there should be."""
        return self.box.count()

    def all(self) -> tuple[GpuState, ...]:
        """Every GPU that was ever seen."""
        return tuple(gpu.state for gpu in self.box.ordered())

    def mine(self) -> tuple[GpuState, ...] | None:
        """Those the subject is about; None if who is where cannot be told."""
        if self.subject.kind is EntityKind.GPU:
            gpu = self._subject_gpu()
            return () if gpu is None else (gpu.state,)
        if self.subject == BOX:
            return self.all()
        gpus = self.box.gpus.values()
        held = tuple(g.state for g in gpus if self._holds(g))
        known = all(g.holders is not None for g in gpus if g.present)
        return held if held or (known and self.box.pids_are_ours) or not gpus else None

    def _holds(self, gpu: TrackedGpu) -> bool:
        holders = gpu.holders or ()
        return any(h.run_id == self.subject.id and not h.run_ended for h in holders)

    def _subject_gpu(self) -> TrackedGpu | None:
        return self.box.gpus.get(self.subject.id) if self._is_gpu() else None

    def _is_gpu(self) -> bool:
        return self.subject.kind is EntityKind.GPU

    def achieved(self) -> AchievedFlops | None:
        """Nobody reports it yet."""
        return None

    def frozen(self) -> FixedGpus:
        """The same as data, for a check that runs elsewhere."""
        return FixedGpus(
            states=self.all(),
            held=self.mine(),
            how=self.sampler(),
            counted=self.count(),
            reports=self.achieved(),
        )
