"""Third-party checks of a stage that looks once: proven and evaluated in the plugin worker."""

import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Self

from pfid.bootstrap.plugin_worker import Keeping, PluginWorker
from pfid.bootstrap.selftest import (
    PLUGIN_WAIT_S,
    disabled,
    page_end,
    shipped_names,
    take_stock,
)
from pfid.config.model import Config
from pfid.domain.gate import Gate
from pfid.domain.verdict import Verdict
from pfid.host.plugins import Problem, Registry
from pfid.host.stand_in import unknown
from pfid.spec.check import Stage
from pfid.spec.reasons import CHECK_ERROR
from pfid.spec.world import World
from pfid.wire.plugins import CheckInfo
from pfid.wire.worlds import world_data, world_from

_ROUND_S: Final = 0.1


class ForeignChecks(AbstractContextManager["ForeignChecks"]):
    """The checks of one stage that are not pfid's own, while the worker lives."""

    def __init__(self, registry: Registry, stage: Stage, config: Config) -> None:
        """Prepare; without third-party plugins no worker is started."""
        self._stage = stage
        self._config = config
        self._worker = _worker(registry, config) if registry.foreign else None

    @property
    def checks(self) -> tuple[tuple[CheckInfo, Gate], ...]:
        """Every check of the stage, with its gate."""
        if self._worker is None:
            return ()
        gates = {str(g.check): g for g in self._worker.host.gates}
        off = self._config.disabled_checks
        return tuple(
            (info, disabled(info) if info.name in off else gates[info.name])
            for info in self._worker.host.checks
            if info.stage is self._stage
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with plugins that may have held a check of the stage."""
        return () if self._worker is None else self._worker.host.problems

    def evaluate(self, check: str, world: World) -> Verdict:
        """Let a check look at a world, and wait for its verdict.

        What it reads is gathered here, with the user's own rights. Checks take turns, since they
        share one process, and a check's time begins with its turn: one that hangs costs the others
        nothing but the wait for another process.

        Raises:
            ValueError: if there is no such check.
        """
        if self._worker is None:
            raise ValueError(f"no plugin has a check {check}")
        host = self._worker.host
        reads = next(info.reads for info, _ in self.checks if info.name == check)
        try:
            seen = world_from(world_data(world, reads))
        except Exception as error:  # noqa: BLE001 - as for pfid's own checks: it could not look
            return unknown(world, CHECK_ERROR, f"{type(error).__name__} while it was looked")
        came: list[Verdict] = []
        done = threading.Event()

        def take(verdict: Verdict, _error: str) -> None:
            came.append(verdict)
            done.set()

        host.evaluate_async(check, seen, take)
        while not done.wait(_ROUND_S):
            host.expire()
        return came[0]

    def __enter__(self) -> Self:
        if self._worker is not None:
            self._worker.start()
            self._worker.host.wait_settled(PLUGIN_WAIT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._worker is not None:
            self._worker.close()


def _worker(registry: Registry, config: Config) -> PluginWorker:
    return PluginWorker(
        registry.foreign,
        limits=config.limits,
        taken=shipped_names(take_stock(config)),
        far_end=page_end(),
        keeping=Keeping(memory_max_bytes=config.plugins.worker_memory_max_bytes),
    )
