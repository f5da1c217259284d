"""The GPU port of a world: what is known now, without a call to anything."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pfid.analysis.gpu_presence import age_s
from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.tracked_gpu import TrackedGpu
from pfid.domain.inside import Achieved
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.spec.fakes_gpus import FixedGpus
from pfid.spec.ports.gpus import (
    AchievedFlops,
    GpuCount,
    GpuState,
    SamplerFacts,
    SamplerProblem,
)


def _trouble(sampler: SamplerFacts) -> tuple[bool, float]:
    return sampler.problem is not SamplerProblem.NONE, age_s(sampler)


def nothing_reported() -> Achieved | None:
    """The report of whoever takes no steps: the box, a GPU."""
    return None


def nobody_notes() -> None:
    """Nobody wants to know whether the age of readings was asked for."""


@dataclass(frozen=True, slots=True)
class LiveGpus:
    """The box's GPUs, and those of one subject. Valid for one evaluation."""

    box: GpuBox
    subject: Entity
    monotonic_s: float
    reported: Callable[[], Achieved | None] = nothing_reported
    note: Callable[[], None] = nobody_notes

    def sampler(self) -> SamplerFacts:
        """How the sampler does that brings the subject's GPUs; of several, the one in trouble.

        What it says changes by time alone, and so do the readings, on a box that has GPUs.
        """
        if self.box.gpus:
            self.note()
        told = (self.box.facts(self.monotonic_s, name) for name in self._samplers())
        return max(told, key=_trouble)

    def _samplers(self) -> Collection[str]:
        """Whose word counts: theirs who bring its GPUs, and the box's for whoever is on none."""
        gpu = self._subject_gpu()
        if gpu is not None:
            return (gpu.source,)
        if self.subject.kind is EntityKind.RUN:
            held = {g.source for g in self.box.gpus.values() if self.subject.id in g.held_by}
            if held:
                return held
        return self.box.asked()

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
        held = tuple(g.state for g in gpus if self.subject.id in g.held_by)
        known = all(g.holders is not None for g in gpus if g.present)
        return held if held or (known and self.box.pids_are_ours) or not gpus else None

    def _subject_gpu(self) -> TrackedGpu | None:
        return self.box.gpus.get(self.subject.id) if self._is_gpu() else None

    def _is_gpu(self) -> bool:
        return self.subject.kind is EntityKind.GPU

    def achieved(self) -> AchievedFlops | None:
        """What the subject's steps report, as one of its GPUs has it.

        Only where every GPU it is on has a rank that reports: of eight ranks one alone may
        report, or one process may drive eight GPUs, and these cannot be told apart.
        """
        said, cards = self.reported(), self.mine()
        if said is None or said.flops_per_s is None or not cards or said.ranks < len(cards):
            return None
        done = said.flops_per_s + (said.recompute_flops_per_s or 0.0)
        return AchievedFlops(flops_per_s=done / len(cards), window_s=said.window_s)

    def frozen(self) -> FixedGpus:
        """The same as data, for a check that runs elsewhere."""
        return FixedGpus(
            states=self.all(),
            held=self.mine(),
            how=self.sampler(),
            counted=self.count(),
            reports=self.achieved(),
        )
