"""What a drill stands on: canaries of its own, a witness, and a record of the legs it walked."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.live.canary import Canary, NotDeliveredError
from pfid.bootstrap.live.drills import Drill
from pfid.bootstrap.live.memory_limit import MemoryLimit, memory_limit
from pfid.bootstrap.live.planted_gpus import NOT_SET_UP, PlantedGpus
from pfid.bootstrap.live.scratch import scratch_engine
from pfid.bootstrap.live.witness import POLL_S, Expected, Witness
from pfid.domain.gpu_view import GpuView
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity
from pfid.wire.control import Done, RunSelftest

LEGS: Final = (Outcome.PASS, Outcome.FAIL, Outcome.PASS)
PROVE_S: Final = 300.0
SHOWN_S: Final = 300.0
ANSWER_S: Final = 60.0
"""Bounds for what is no part of the fault: a box without a core to spare takes ten times as long
to look at a card, to prove its gates, to answer."""


@dataclass(slots=True, kw_only=True)
class Legs:
    """What was seen, in order, and how long each took from planting to metric, seconds."""

    outcomes: list[Outcome] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether good, bad and good again were all seen."""
        return tuple(self.outcomes) == LEGS

    @property
    def detection_s(self) -> float | None:
        """Seconds from the planted fault to verdict, event and metric."""
        return self.seconds[1] if len(self.seconds) > 1 else None


class DrillGround:
    """The ground of one drill, given back whole at its end."""

    def __init__(
        self, drill: Drill, socket: Path, page_url: str, gpus: PlantedGpus | None = None
    ) -> None:
        """Connect to the daemon at ``socket``, which has loaded ``gpus`` if there are any.

        Raises:
            ControlError: if nobody listens there.
        """
        self.legs = Legs()
        self._drill = drill
        self._gpus = gpus
        self._limit: MemoryLimit | None = None
        self._undo = ExitStack()
        self._client = self._undo.enter_context(ControlClient(socket, ANSWER_S))
        self._witness = Witness(self._client, page_url)
        self._folder = Path(self._undo.enter_context(tempfile.TemporaryDirectory("-pfid-drill")))
        self._engine = self._undo.enter_context(ExitStack())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def canary(
        self,
        *,
        expect_step_s: float | None = None,
        appends_to: Canary | None = None,
        name: str = "",
    ) -> Canary:
        """A fresh synthetic run."""
        return self._canary(expect_step_s=expect_step_s, appends_to=appends_to, name=name)

    def _canary(self, **more: Any) -> Canary:
        canary = Canary(self._client, Path(tempfile.mkdtemp(dir=self._folder)), **more)
        self._undo.callback(canary.close)
        if canary.metrics_url is not None:
            self._witness = Witness(self._client, canary.metrics_url)
        return canary

    def tight_canary(self) -> Canary:
        """A fresh synthetic run that may hold little memory.

        Raises:
            CannotPlantError: where no such limit can be set.
        """
        self._limit = self._undo.enter_context(memory_limit())
        return self._canary(home=self._limit)

    def out_of_memory(self, canary: Canary) -> None:
        """Have the kernel kill such a run for memory.

        Raises:
            NotDeliveredError: if it does not.
        """
        canary.eat()
        if self._limit is not None:
            self._limit.seen()

    def engine(self) -> None:
        """Go on through a fresh engine of one run; what the last one knew goes with it.

        Raises:
            ScratchDaemonError: if it does not come up.
        """
        self._engine.close()
        socket = self._engine.enter_context(scratch_engine(self._folder))
        self._client = self._engine.enter_context(ControlClient(socket, ANSWER_S))

    @property
    def gpus(self) -> PlantedGpus:
        """The stand-in for NVML.

        Raises:
            NotDeliveredError: if there is none.
        """
        if self._gpus is None:
            raise NotDeliveredError(NOT_SET_UP)
        return self._gpus

    def shown(self, uuid: str, wanted: Callable[[GpuView], bool]) -> None:
        """Wait until the daemon's own view of a card says so.

        Raises:
            NotDeliveredError: if it never does.
        """
        until_s = time.monotonic() + SHOWN_S
        while time.monotonic() < until_s:
            view = self._witness.snapshot().gpus
            if view is not None and any(g.facts.uuid == uuid and wanted(g) for g in view.gpus):
                return
            time.sleep(POLL_S)
        raise NotDeliveredError("what the driver was made to say did not reach the daemon")

    def good(self, about: Canary | Entity, reason: str) -> None:
        """Wait for PASS."""
        self._wait(about, Outcome.PASS, reason)

    def bad(self, about: Canary | Entity, reason: str) -> None:
        """Wait for FAIL."""
        self._wait(about, Outcome.FAIL, reason)

    def prove_again(self) -> None:
        """Have the daemon prove its gates again."""
        self._client.ask(RunSelftest(), Done, timeout_s=PROVE_S)

    def _wait(self, about: Canary | Entity, outcome: Outcome, reason: str) -> None:
        began_s = time.monotonic()
        synthetic = isinstance(about, Canary)
        expected = Expected(
            check=self._drill.check,
            entity=about.entity if isinstance(about, Canary) else about,
            outcome=outcome,
            reason=reason,
            synthetic=synthetic,
        )
        self._witness.wait_for(expected, self._drill.timeout_s)
        self.legs.outcomes.append(outcome)
        self.legs.seconds.append(time.monotonic() - began_s)
