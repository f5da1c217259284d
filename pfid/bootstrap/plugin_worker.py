"""Joins the plugin host to its disposable worker."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from pfid.adapters.worker_events import WorkerEnded, WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.host.plugins import PluginSource
from pfid.host.remote import PluginHost
from pfid.policy.control_drive import FarEnd
from pfid.policy.worker_life import EndCause, LifeRules

MODULE: Final = "pfid.workers.plugin_runner"
RULES: Final = LifeRules(start_deadline_s=10.0, deadline_s=5.0, term_grace_s=0.5)
"""A plugin's code may keep the worker silent for five seconds: loading, or one control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What the worker may take, and who hears what goes wrong (in the worker owner's thread).

    Attributes:
        memory_max_bytes: what it may hold; None for any.
        fault: a plugin, and what it did ("" for what a verdict says anyway).
        ended: how the worker ended, and which plugin's code it ran, "" for none.
    """

    memory_max_bytes: int | None = None
    fault: Callable[[str, str], None] = lambda _plugin, _what: None
    ended: Callable[[WorkerEnded, str], None] = lambda _end, _plugin: None


class PluginWorker(AbstractContextManager["PluginWorker"]):
    """The host and the worker's owner, started and ended together."""

    def __init__(
        self,
        sources: Sequence[PluginSource],
        *,
        limits: Mapping[str, Mapping[str, float]],
        taken: frozenset[str],
        far_end: FarEnd,
        rules: LifeRules = RULES,
        keeping: Keeping | None = None,
    ) -> None:
        """Prepare; see :class:`pfid.host.remote.PluginHost` for the arguments not named here.

        Args:
            sources: see there.
            limits: see there.
            taken: see there.
            far_end: see there.
            rules: of the worker's life.
            keeping: see there.
        """
        self._keeping = keeping or Keeping()
        self.host = PluginHost(
            sources,
            limits=limits,
            taken=taken,
            far_end=far_end,
            monotonic_s=time.monotonic,
            on_fault=self._keeping.fault,
        )
        self._rules = rules
        self._owner = self._new_owner()

    def _new_owner(self) -> WorkerOwner:
        owner = WorkerOwner(
            WorkerCommand(module=MODULE),
            self._on_event,
            self._rules,
            memory_max_bytes=self._keeping.memory_max_bytes,
        )
        self.host.bind(owner.send)
        return owner

    def start(self) -> None:
        """Start the worker, if there is any plugin to load."""
        if self.host.wait_settled(0.0):
            return
        self._owner.start()

    def let_go(self) -> None:
        """Once all is settled: give back what plugins hold of which no check is proven.

        A process does not give back what was loaded into it, so it is replaced by one that loads
        the others only, or by none.
        """
        if not self.host.dismiss():
            return
        self._owner.close()
        if self.host.wanted:
            self._owner = self._new_owner()
            self._owner.start()

    def close(self) -> None:
        """End the worker."""
        self._owner.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _on_event(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerStarted):
            self.host.worker_started(event.generation)
        elif isinstance(event, WorkerMessage):
            self.host.worker_said(event.generation, event.body)
        elif isinstance(event, WorkerEnded):
            if event.cause is not EndCause.STOPPED:
                self._keeping.ended(event, self.host.touched(event.touching))
            self.host.worker_ended(event.generation, event.touching, event.cause.value)
