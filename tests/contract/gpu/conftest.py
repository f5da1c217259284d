"""A real sampler process with the real pynvml, over the stand-in for NVML."""

import queue
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pfid.adapters.gpu_worker import GpuEvent, GpuSaid, GpuSamplerGone, GpuWorker
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.policy.worker_life import LifeRules
from pfid.wire.gpu import Opened, PluginPlace, Read, Trouble

INTERVAL_S = 0.1
WAIT_S = 25.0
RULES = LifeRules(
    start_deadline_s=20.0, deadline_s=1.0, term_grace_s=0.5, kill_grace_s=5.0, backoff_first_s=0.1
)


class Sampler:
    """The sampler's owner, and everything it was told."""

    def __init__(
        self,
        plugins: tuple[PluginPlace, ...] = (),
        *,
        deadline_s: float = 1.0,
        **worker: object,
    ) -> None:
        self.events: queue.SimpleQueue[GpuEvent] = queue.SimpleQueue()
        self.facts: dict[str, GpuFacts] = {}
        self.running = True
        self.worker = GpuWorker(
            self.events.put,
            interval_s=INTERVAL_S,
            rules=replace(RULES, deadline_s=deadline_s),
            plugins=plugins,
            **worker,
        )
        self.worker.start()

    def until(self, wanted: Callable[[GpuEvent], object]) -> GpuEvent:
        while True:
            event = self.events.get(timeout=WAIT_S)
            if isinstance(event, GpuSaid) and isinstance(event.report, Read):
                self.facts |= {f.uuid: f for f in event.report.facts or ()}
            if wanted(event):
                return event

    def read(self, wanted: Callable[[Read], object] = lambda _: True) -> Read:
        """The next reading that is as wanted."""
        said = self.until(lambda e: isinstance(said := _report(e), Read) and wanted(said))
        return said.report

    def sample(self, wanted: Callable[[GpuSample], object] = lambda _: True) -> GpuSample:
        """The next sample that is as wanted."""
        return next(
            s for s in self.read(lambda r: any(map(wanted, r.samples))).samples if wanted(s)
        )

    def trouble(self) -> Trouble:
        return self.until(lambda e: isinstance(_report(e), Trouble)).report

    def opened(self) -> Opened:
        return self.until(lambda e: isinstance(_report(e), Opened)).report

    def close(self) -> None:
        if self.running:
            self.running = False
            assert self.worker.close()

    def gone(self) -> GpuSamplerGone:
        return self.until(lambda e: isinstance(e, GpuSamplerGone))


def _report(event: GpuEvent) -> object:
    return event.report if isinstance(event, GpuSaid) else None


@pytest.fixture
def sampler() -> Iterator[Callable[..., Sampler]]:
    made: list[Sampler] = []

    def start(**options: object) -> Sampler:
        made.append(Sampler(**options))
        return made[-1]

    yield start
    for each in made:
        each.close()
