"""What is known of the box's GPUs: samples as they came, who is gone, what was absent and why.

Only the main thread touches it. It knows nothing of runs; :mod:`pfid.daemon.gpu_holders` does.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from pfid.daemon.tracked_gpu import POINT_S, TrackedGpu
from pfid.domain.gpu import NVML, GpuFacts, GpuSample, XidEvent
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.names import RunId
from pfid.policy.xid_pairs import BY_PLACE, by_log
from pfid.spec.ports.gpus import (
    KEPT_S,
    GpuCount,
    GpuXid,
    SamplerFacts,
    SamplerProblem,
    Withheld,
)
from pfid.wire.gpu import Opened, Read, Trouble
from pfid.wire.stored import GpuBody

MAX_GPUS: Final = 64
MAX_SAMPLES: Final = 3_000
STALE_INTERVALS: Final = 3.0
STALE_LEAST_S: Final = 5.0
"""A busy driver may be slow for a moment; what is older than this is not shown as it is now."""


@dataclass(slots=True, eq=False, kw_only=True)
class SamplerState:
    """One sampler; ``began_s`` and ``read_s`` are monotonic."""

    began_s: float
    problem: SamplerProblem = SamplerProblem.STARTING
    read_s: float | None = None
    driver: str = ""
    library: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class GpuBox:
    """All GPUs, and how their samplers do.

    Attributes:
        interval_s: between two readings.
        configured: how many GPUs there should be, None if nobody says.
        pids_are_ours: whether drivers count processes as we do; not in a container.
        own_pid: what we call a process of the host there, None where that cannot be told.
        why_withheld: why cards of the bus that never answered may not be ours, by how many of how
            many there are.
        references: what the user measured of each card.
        point_s: seconds of one mean of the small plots.
        gpus: by uuid.
        samplers: by name.
        on_bus: places of NVIDIA's cards on the PCI bus, None if they cannot be read.
        absent: how often a value was absent, by field and reason.
    """

    interval_s: float = 1.0
    configured: int | None = None
    pids_are_ours: bool = True
    own_pid: Callable[[int], int | None] = lambda _: None
    why_withheld: Callable[[int, int], Withheld] = lambda *_: Withheld.NONE
    references: Mapping[str, GpuReference] = field(default_factory=dict)
    point_s: float = POINT_S
    gpus: dict[str, TrackedGpu] = field(default_factory=dict)
    samplers: dict[str, SamplerState] = field(default_factory=dict)
    on_bus: frozenset[str] | None = None
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sampler(self, name: str, now_s: float) -> SamplerState:
        """The state of a sampler, made when it is first heard of."""
        return self.samplers.setdefault(name, SamplerState(began_s=now_s))

    def opened(self, report: Opened, now_s: float) -> list[TrackedGpu]:
        """A driver answers: it may be a newer one, under which references do not count.

        After a fatal error none is opened before it was loaded anew or an operator said that it
        may be (pfid.adapters.driver_stop): so whatever was fatal is over.

        Returns:
            The GPUs of which something was.
        """
        state = self.sampler(report.sampler, now_s)
        state.problem = SamplerProblem.NONE
        state.driver, state.library = report.driver, report.library
        for gpu in self._of(report.sampler):
            gpu.reference = self.valid(gpu)
            gpu.changed()
        return [gpu for gpu in self._of(report.sampler) if gpu.reloaded()]

    def valid(self, gpu: TrackedGpu) -> GpuReference | None:
        """The newest reference; it counts only under the driver it was measured with."""
        driver = self.samplers[gpu.source].driver if gpu.source in self.samplers else ""
        stored = None if gpu.written is None else gpu.written.reference
        known = [r for r in (stored, self.references.get(gpu.facts.uuid)) if r is not None]
        return max((r for r in known if r.driver == driver), key=lambda r: r.at_s, default=None)

    def read(
        self, report: Read, now_s: float, whose: Callable[[XidEvent], RunId | None]
    ) -> list[TrackedGpu]:
        """Take a reading in; returns the GPUs it brought something of."""
        state = self.sampler(report.sampler, now_s)
        state.problem, state.read_s = SamplerProblem.NONE, now_s
        for each in self._of(report.sampler) if report.unheard_s else ():
            if each.deaf_s is None:
                each.missed(report.at_s, report.unheard_s)
        if report.facts is not None:
            self._list(report.sampler, report.facts, report.at_s)
        told = [gpu for s in report.samples if (gpu := self._sample(s)) is not None]
        for uuid in report.lost:
            if uuid in self.gpus:
                self.gpus[uuid].gone(report.at_s)
        for event in report.xids:
            self._xid(event, whose(event))
        heard = report.heard
        remembered = heard is not None and heard.record is not None and not heard.torn
        for each in self._of(report.sampler):
            each.hears(report.at_s, remembered=remembered)
        return told

    def _of(self, sampler: str) -> Iterable[TrackedGpu]:
        return (gpu for gpu in self.gpus.values() if gpu.source == sampler)

    def _list(self, sampler: str, facts: Iterable[GpuFacts], at_s: float) -> None:
        """What the driver lists is there; what it listed once and no longer lists is gone."""
        listed = {f.uuid: f for f in facts}
        for fact in listed.values():
            self.absent.update((name, reason.value) for name, reason in fact.absent.items())
        for gpu in self._of(sampler):
            if gpu.facts.uuid not in listed:
                gpu.gone(at_s)
        for uuid, fact in listed.items():
            found = self.gpus.get(uuid) or self._add(fact, sampler)
            if found is not None:
                found.facts, found.source = fact, sampler
                found.reference = self.valid(found)
                found.back()
                found.changed()

    def _add(self, facts: GpuFacts, sampler: str) -> TrackedGpu | None:
        if len(self.gpus) >= MAX_GPUS:
            return None
        kept = min(max(int(KEPT_S / self.interval_s), 1), MAX_SAMPLES)
        gpu = TrackedGpu(
            facts=facts,
            source=sampler,
            samples=deque(maxlen=kept),
            point_s=self.point_s,
            pids_are_ours=self.pids_are_ours,
        )
        self.gpus[facts.uuid] = gpu
        return gpu

    def _sample(self, sample: GpuSample) -> TrackedGpu | None:
        gpu = self.gpus.get(sample.uuid)
        if gpu is None:
            return None
        for name, reason in sample.absent.items():
            self.absent[name, reason.value] += 1
        gpu.take(sample)
        gpu.back()
        return gpu

    def _xid(self, event: XidEvent, run_id: RunId | None) -> None:
        gpu = self.erring(event)
        xid = GpuXid(event=event, run_id=run_id)
        if gpu is not None and not gpu.told_already(xid):
            gpu.erred(xid)

    def erring(self, event: XidEvent) -> TrackedGpu | None:
        """The GPU an error is of; the kernel's log knows it by its place alone."""
        if not by_log(event) or event.uuid in self.gpus:
            return self.gpus.get(event.uuid)
        place = event.uuid.removeprefix(BY_PLACE)
        return next((g for g in self.gpus.values() if g.facts.pci_bus_id == place), None)

    def trouble(self, report: Trouble, now_s: float) -> None:
        """A sampler says why there is nothing."""
        if report.sampler:
            self.troubled(report.sampler, report.problem, now_s)

    def troubled(self, sampler: str, problem: SamplerProblem, now_s: float) -> None:
        """There is nothing to be read, and why."""
        self.sampler(sampler, now_s).problem = problem

    def fresh(self, sampler: str, now_s: float) -> bool:
        """Whether what a sampler read last may be shown as it is now."""
        state = self.samplers.get(sampler)
        if state is None or state.read_s is None:
            return False
        return now_s - state.read_s <= max(STALE_INTERVALS * self.interval_s, STALE_LEAST_S)

    def up(self, sampler: str, now_s: float) -> bool:
        """Whether the driver answers."""
        state = self.samplers.get(sampler)
        opened = state is not None and state.problem is SamplerProblem.NONE
        return opened and self.fresh(sampler, now_s)

    def restore(self, body: GpuBody) -> None:
        """A GPU that was here before; until the driver lists it, it is gone."""
        if body.facts.uuid in self.gpus or len(self.gpus) >= MAX_GPUS:
            return
        gpu = self._add(body.facts, body.source)
        if gpu is not None:
            gpu.written = body
            for xid in body.xids:
                gpu.erred(xid)
            gpu.present, gpu.lost_at_s = False, body.last_seen_s

    def facts(self, now_s: float, sampler: str = NVML) -> SamplerFacts:
        """How a sampler does, as a check sees it."""
        state = self.samplers.get(sampler)
        if state is None:
            return SamplerFacts(
                problem=SamplerProblem.DISABLED,
                since_success_s=None,
                running_s=0.0,
                interval_s=self.interval_s,
            )
        return SamplerFacts(
            problem=state.problem,
            since_success_s=None if state.read_s is None else now_s - state.read_s,
            running_s=now_s - state.began_s,
            interval_s=self.interval_s,
            driver=state.driver,
        )

    def asked(self) -> frozenset[str]:
        """Samplers that have to answer on this box: NVML, unless all its cards are others'."""
        others = frozenset(
            g.source for g in self.gpus.values() if g.source != NVML and g.source in self.samplers
        )
        state = self.samplers.get(NVML)
        nothing = state is None or state.problem in {
            SamplerProblem.NO_LIBRARY,
            SamplerProblem.NO_DRIVER,
        }
        without = nothing and not self.on_bus and not any(self._of(NVML))
        return others if others and without else others | {NVML}

    def count(self) -> GpuCount | None:
        """Which GPUs there should be; other vendors' are not on NVIDIA's list of the bus."""
        if not self.gpus and self.on_bus is None and self.configured is None:
            return None
        places = [(g.facts.pci_bus_id or g.facts.uuid, g) for g in self.gpus.values()]
        remembered = frozenset(place for place, _ in places)
        on_bus = self.on_bus or frozenset()
        silent = len(on_bus - remembered)
        return GpuCount(
            visible=frozenset(place for place, g in places if g.present),
            remembered=remembered,
            on_bus=self.on_bus,
            configured=self.configured,
            withheld=self.why_withheld(silent, len(on_bus)) if silent else Withheld.NONE,
        )

    def ordered(self) -> list[TrackedGpu]:
        """Every GPU, by sampler and index."""
        return sorted(self.gpus.values(), key=lambda g: (g.source, g.facts.index, g.facts.uuid))

    def refer(self, reference: GpuReference) -> TrackedGpu | None:
        """Keep what a GPU does on its own GEMM; None for a GPU nobody knows."""
        gpu = self.gpus.get(reference.uuid)
        if gpu is not None:
            body = gpu.written or GpuBody(facts=gpu.facts, source=gpu.source, last_seen_s=0.0)
            gpu.written = msgspec.structs.replace(body, reference=reference)
            gpu.reference = self.valid(gpu)
            gpu.changed()
        return gpu
