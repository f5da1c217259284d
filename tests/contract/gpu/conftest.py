"""A real sampler process with the real pynvml, over the stand-in for NVML."""

import queue
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pfid.adapters.gpu_worker import GpuEvent, GpuSaid, GpuSamplerGone, GpuWorker
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.policy.worker_life import LifeRules, heard
from pfid.wire.gpu import Opened, PluginPlace, Read, Trouble

INTERVAL_S = 0.1
WAIT_S = 60.0
RULES = LifeRules(
    start_deadline_s=60.0,
    deadline_s=60.0,
    term_grace_s=30.0,
    kill_grace_s=30.0,
    backoff_first_s=0.1,
)
"""No sampler is ended for being slow; :meth:`Sampler.run_out` is for one that hangs."""
RUN_OUT = replace(RULES, deadline_s=0.2, term_grace_s=0.5)


class Sampler:
    """The sampler's owner, and everything it was told."""

    def __init__(self, plugins: tuple[PluginPlace, ...] = (), **worker: object) -> None:
        self.events: queue.SimpleQueue[GpuEvent] = queue.SimpleQueue()
        self.facts: dict[str, GpuFacts] = {}
        self.running = True
        self.worker = GpuWorker(
            self._hear,
            interval_s=INTERVAL_S,
            rules=RULES,
            plugins=plugins,
            **worker,
        )
        self.worker.start()

    def _hear(self, event: GpuEvent) -> None:
        if isinstance(event, GpuSamplerGone):  # in the owner's thread: the next life has its time
            self.worker.owner._rules = RULES
        self.events.put(event)

    def run_out(self, hangs: Callable[[], object]) -> GpuSamplerGone:
        """Let the deadline of a sampler run out, once ``hangs`` says that it hangs."""
        until_s = time.monotonic() + WAIT_S
        while not hangs():
            assert time.monotonic() < until_s, "the fault was not delivered"
            time.sleep(0.01)
        owner = self.worker.owner
        owner._rules = RUN_OUT
        owner._life = heard(owner._life, RUN_OUT, time.monotonic())
        owner._wake()
        return self.gone()

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
            assert self.worker.close(WAIT_S)

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
