"""The owner's side of the GPU sampler: when it starts, what it must not touch, what became of it.

A GPU whose driver call hung or crashed the sampler is held back for a while, so that the others are
seen; the while doubles with each time it does so again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.gpu_gate import LOOK_S, MISMATCH_S, GpuGate
from pfid.adapters.worker_events import WorkerCounters, WorkerEnded, WorkerEvent, WorkerMessage
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.policy.worker_life import EndCause, LifeRules
from pfid.spec.gpu_sampler import Heard
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import Configure, PluginPlace, Read, Report, Trouble, decode_report, encode

MODULE: Final = "pfid.workers.gpu_sampler"
RULES: Final = LifeRules(start_deadline_s=30.0, deadline_s=30.0, term_grace_s=5.0)
"""A driver on a busy box answers slowly, and starting one without persistence takes seconds a card:
what is silent for half a minute is not slow."""
HOLD_FIRST_S: Final = 600.0
HOLD_MAX_S: Final = 6 * 3600.0
MAX_INDEX: Final = 512
TOO_LARGE: Final = "it held more memory than it may"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSaid:
    """The sampler reports."""

    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSamplerGone:
    """The sampler ended without saying why, or cannot be started.

    Attributes:
        problem: what it looks like.
        index: the device it was about, None if none.
        detail: more of it, "" where there is no more.
    """

    problem: SamplerProblem
    index: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusOnBus:
    """What sysfs shows; None if it cannot be read."""

    bus_ids: frozenset[str] | None


GpuEvent = GpuSaid | GpuSamplerGone | GpusOnBus


@dataclass(slots=True)
class _Held:
    until_s: float
    for_s: float


class GpuWorker:
    """One sampler process over its lives: NVML's, or that of the plugins."""

    def __init__(
        self,
        on_event: Callable[[GpuEvent], None],
        *,
        interval_s: float = 1.0,
        plugins: tuple[PluginPlace, ...] = (),
        rules: LifeRules = RULES,
        gate: GpuGate | None = None,
        memory_max_bytes: int | None = None,
    ) -> None:
        """Prepare.

        Args:
            on_event: called in the owner's thread.
            interval_s: between two readings.
            plugins: whose samplers it runs; none for NVML's.
            rules: of the process's life.
            gate: when it may start.
            memory_max_bytes: what the process may hold; None for any.
        """
        self._heard_to: Heard | None = None
        self._places: frozenset[str] = frozenset()
        self._on_event = on_event
        self._interval_s = interval_s
        self._plugins = plugins
        self._held: dict[int, _Held] = {}
        self._reported = False
        self._over = False
        self._gate = gate or GpuGate(monotonic_s=time.monotonic)
        self._bus = self._gate.bus
        self._gate.on_missing = self._missing
        self._gate.on_stopped = self._stopped
        self._gate.on_open = self._on_open
        self.owner = WorkerOwner(
            WorkerCommand(module=MODULE),
            self._heard,
            rules,
            may_start=self._wait_s,
            memory_max_bytes=memory_max_bytes,
        )

    def start(self) -> None:
        """Start it as soon as there is something to read."""
        self.owner.start()

    def close(self, timeout_s: float = 15.0) -> bool:
        """End it, shutting the driver down politely; False if that took too long. Once."""
        return self.owner.close(timeout_s)

    def try_again(self) -> None:
        """An operator says that whatever kept us from the driver is over; from any thread."""
        self._gate.release()
        self._held.clear()
        self.owner.ask_again()

    @property
    def counters(self) -> WorkerCounters:
        """Lives and ends up to now."""
        return self.owner.counters

    # Everything below runs in the owner's thread.

    def _wait_s(self) -> float:
        if self._over:
            return 3600.0
        if not self._plugins:
            return self._gate.wait_s()
        if not self._gate.stop.stands():
            return 0.0
        self._stopped()
        return LOOK_S

    def _missing(self) -> None:
        self._look_at_bus()
        self._on_event(GpuSamplerGone(problem=SamplerProblem.NO_LIBRARY))

    def _stopped(self) -> None:
        self._look_at_bus()
        self._on_event(GpuSamplerGone(problem=SamplerProblem.FATAL_XID))

    def _on_open(self) -> None:
        self._look_at_bus()

    def _look_at_bus(self) -> bool:
        """Tell what the kernel sees, if it is time to; whether that changed."""
        if self._plugins or not self._bus.due():
            return False
        before = self._bus.changes
        self._on_event(GpusOnBus(bus_ids=self._bus.look()))
        return self._bus.changes != before

    def _heard(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage):
            self._message(decode_report(event.body), event.generation)
        elif isinstance(event, WorkerEnded):
            self._ended(event)
        else:
            self._reported = False
            self._tell_it(event.generation)

    def _tell_it(self, generation: int) -> None:
        order = Configure(
            interval_s=self._interval_s,
            skip=tuple(sorted(self._held)),
            plugins=self._plugins,
            look=self._bus.changes,
            heard=self._heard_to,
            places=tuple(sorted(self._places)),
            kernel_log=str(self._gate.kernel_log),
        )
        self.owner.send(encode(order), generation=generation)

    def _message(self, report: Report, generation: int) -> None:
        if isinstance(report, Trouble):
            self._trouble(report)
        elif isinstance(report, Read):
            self._read(report)
        if self._look_at_bus() | self._forgive():
            self._tell_it(generation)
        self._on_event(GpuSaid(report=report))

    def _read(self, report: Read) -> None:
        """Keep what the next process has to know."""
        self._heard_to = report.heard or self._heard_to
        if report.facts is not None:
            self._places |= {f.pci_bus_id for f in report.facts if f.pci_bus_id}

    def _trouble(self, report: Trouble) -> None:
        self._reported = self._reported or report.leaving
        if report.problem is SamplerProblem.FATAL_XID:
            self._gate.stop.set()
            self._heard_to = None  # what was fatal is over when the next one starts
        elif report.problem is SamplerProblem.DRIVER_MISMATCH and report.leaving:
            self._gate.shut(for_s=MISMATCH_S)
        elif self._plugins and report.leaving:
            self._over = True  # none of them brings a sampler

    def _ended(self, event: WorkerEnded) -> None:
        index = event.touching
        at_device = index is not None and 0 <= index <= MAX_INDEX
        if event.cause is EndCause.STOPPED or self._reported:
            return
        if (
            at_device
            and index is not None
            and event.cause
            in {
                EndCause.TIMED_OUT,
                EndCause.CRASHED,
            }
        ):
            self._hold(index)
        hung = event.cause is EndCause.TIMED_OUT
        self._on_event(
            GpuSamplerGone(
                problem=SamplerProblem.HUNG if hung else SamplerProblem.CRASHED,
                index=index if at_device else None,
                detail=TOO_LARGE if event.cause is EndCause.OUTGROWN else "",
            )
        )

    def _hold(self, index: int) -> None:
        before = self._held.get(index)
        for_s = HOLD_FIRST_S if before is None else min(before.for_s * 2, HOLD_MAX_S)
        self._held[index] = _Held(time.monotonic() + for_s, for_s)

    def _forgive(self) -> bool:
        """Whether a device that was held back may be tried again."""
        now_s = time.monotonic()
        over = [index for index, held in self._held.items() if now_s >= held.until_s]
        for index in over:
            del self._held[index]
        return bool(over)


def pids_are_ours(namespace: Path = Path("/proc/self/ns/pid")) -> bool:
    """Whether the driver counts processes as this process does: not inside a container.

    The first process namespace of a kernel has a fixed number (PROC_PID_INIT_INO).
    """
    try:
        return str(namespace.readlink()) == "pid:[4026531836]"
    except OSError:
        return False
