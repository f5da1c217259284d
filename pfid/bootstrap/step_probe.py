"""Joins the probes that run the user's own step to the GPUs: nobody else may be on the card."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pfid.adapters.probe_run import Ending, ProbeAsk, ProbeEnd, run_probe
from pfid.analysis.gemm import why_not_idle, why_to_stop
from pfid.bootstrap.gpu_look import OwnLook
from pfid.bootstrap.sources import Source
from pfid.domain.errors import PfidError
from pfid.domain.gpu_view import GpusView, GpuView

IDLE_S: Final = 3.0
TICK_S: Final = 0.5
VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
TINY: Final = "tiny"
REFUSALS: Final = {
    "no_torch": "that interpreter has no torch; name the training interpreter with --python",
    "no_cuda": "torch in that interpreter sees no CUDA device",
    "old_python": "that interpreter is older than Python 3.9",
    "no_model": "the factory must return (step, model) for this",
}
Event = Mapping[str, Any]


class StepProbeError(PfidError):
    """Nothing could be measured, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAsk:
    """What to run.

    Attributes:
        python: the training interpreter.
        probe: module of pfid.probes.
        arguments: of it, the target first.
        device: ``auto``, ``cpu`` or ``cuda``.
        gpu: uuid or index, None for the first visible.
        deadline_s: for everything.
        silent_s: for one step.
    """

    python: str
    probe: str
    arguments: tuple[str, ...]
    device: str = "auto"
    gpu: str | None = None
    deadline_s: float = 3_600.0
    silent_s: float = 600.0


@dataclass(slots=True, kw_only=True)
class StepSaid:
    """What came back.

    Attributes:
        events: every line between the first and the last.
        alone: whether nobody else was seen on the GPU; None on a CPU, or where nobody can look.
    """

    events: list[Event] = field(default_factory=list)
    alone: bool | None = None

    def of(self, event: str) -> list[Event]:
        """Lines of one kind."""
        return [one for one in self.events if one.get("event") == event]

    @property
    def device(self) -> Event:
        """What the probe said of where it ran."""
        ready = self.of("ready")
        return {k: ready[0].get(k) for k in ("device", "name", "torch")} if ready else {}


def run_step_probe(
    ask: StepAsk, gather: Callable[[], tuple[Source, ...]], told: Callable[[Event], None]
) -> StepSaid:
    """Run a probe to its end.

    Args:
        ask: what to run.
        gather: finds those who watch this box; asked only where GPUs are looked at.
        told: given every line as it comes.

    Raises:
        StepProbeError: if the card is not free, or the probe does not end well.
    """
    if ask.device == "cpu":
        return _run(ask, {**os.environ, VISIBLE: ""}, told, None)
    with OwnLook(gather()) as own:
        view = own.look(IDLE_S)
        if stop := why_to_stop(view, ""):
            raise StepProbeError(f"nothing is measured: {stop}; --device cpu does without")
        if not view.up or not view.gpus:
            return _run(ask, os.environ, told, None)
        card = _card(view, ask.gpu or os.environ.get(VISIBLE, "").split(",")[0].strip())
        busy = why_not_idle(card)
        if busy:
            raise StepProbeError(
                f"GPU {card.facts.index} is not measured on: {busy}; wait, choose another with "
                "--gpu, or use --device cpu"
            )
        uuid = card.facts.uuid

        def watch() -> None:
            why = why_to_stop(own.look(TICK_S), uuid)
            if why:
                raise StepProbeError(why)

        return _run(ask, {**os.environ, VISIBLE: uuid}, told, watch)


def _run(
    ask: StepAsk,
    environ: Mapping[str, str],
    told: Callable[[Event], None],
    watch: Callable[[], None] | None,
) -> StepSaid:
    found = StepSaid(alone=None if watch is None else True)

    def take(said: dict[str, Any]) -> None:
        found.events.append(said)
        told(said)

    probe = ProbeAsk(
        python=ask.python,
        probe=ask.probe,
        arguments=(*ask.arguments, "--device", ask.device),
        environ=environ,
        deadline_s=ask.deadline_s,
        silent_s=ask.silent_s,
    )
    end = run_probe(probe, take, watch)
    if end.ending is not Ending.DONE:
        raise StepProbeError(f"the step was not measured: {_why(end)}")
    return found


def _why(end: ProbeEnd) -> str:
    if end.ending is Ending.REFUSED:
        return REFUSALS.get(end.reason) or end.why.removeprefix(f"{end.reason}: ")
    return end.why or end.ending.value


def _card(view: GpusView, wanted: str) -> GpuView:
    """The card that is meant, by uuid, its beginning, or index; the first one for ""."""
    for gpu in view.gpus:
        uuid, index = gpu.facts.uuid, str(gpu.facts.index)
        if not wanted or wanted == index or (len(wanted) > 4 and uuid.startswith(wanted)):
            return gpu
    raise StepProbeError(f"there is no GPU {wanted}; `pfid gpus --json` names them")
