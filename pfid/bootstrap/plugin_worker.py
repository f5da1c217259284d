"""Joins the plugin host to its disposable worker."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Self

from pfid.adapters.worker_events import WorkerEnded, WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.host.plugins import PluginSource
from pfid.host.remote import PluginHost
from pfid.policy.control_drive import FarEnd
from pfid.policy.worker_life import LifeRules

MODULE: Final = "pfid.workers.plugin_runner"
RULES: Final = LifeRules(start_deadline_s=10.0, deadline_s=5.0, term_grace_s=0.5)
"""A plugin's code may keep the worker silent for five seconds: loading, or one control."""


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
    ) -> None:
        """Prepare; see :class:`pfid.host.remote.PluginHost` for the arguments."""
        self.host = PluginHost(
            sources, limits=limits, taken=taken, far_end=far_end, monotonic_s=time.monotonic
        )
        self._owner = WorkerOwner(WorkerCommand(module=MODULE), self._on_event, rules)
        self.host.bind(self._owner.send)
        self._started = False

    def start(self) -> None:
        """Start the worker, if there is any plugin to load."""
        if self.host.wait_settled(0.0):
            return
        self._started = True
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
            self.host.worker_ended(event.generation, event.touching, event.cause.value)
