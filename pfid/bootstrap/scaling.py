"""Joins the scaling probe to the GPUs: nobody else may be on the card, before and meanwhile."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pfid.adapters.probe_run import Ending, ProbeAsk, ProbeEnd, run_probe
from pfid.analysis.gemm import BYSTANDER_BYTES, why_not_idle
from pfid.analysis.scaling import Timing
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
}


class ScalingError(PfidError):
    """Nothing could be measured, and why."""


class SharedGpuError(ScalingError):
    """Somebody else is on the GPU: what would be timed is not the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepAsk:
    """What to time.

    Attributes:
        python: the training interpreter.
        target: ``MODULE:STEP_FACTORY``, or TINY for the built-in one.
        widths: narrowest first.
        batch: records of every micro-batch.
        repeats: timings a width.
        warm: steps before the first of them.
        device: ``auto``, ``cpu`` or ``cuda``.
        gpu: uuid or index, None for the first visible.
        deadline_s: for the whole sweep.
        silent_s: for one step.
    """

    python: str
    target: str
    widths: tuple[int, ...]
    batch: int
    repeats: int
    warm: int
    device: str
    gpu: str | None
    deadline_s: float
    silent_s: float


@dataclass(slots=True, kw_only=True)
class Sweep:
    """What came back.

    Attributes:
        device: what the probe said of where it ran.
        timings: in the order measured.
        peak_bytes: device memory by width.
        stopped: width and reason at which the sweep ended early; None if it did not.
        alone: whether it was seen that nobody else was on the GPU; None on a CPU, or where GPUs
            cannot be looked at.
    """

    device: dict[str, Any] = field(default_factory=dict)
    timings: list[Timing] = field(default_factory=list)
    peak_bytes: dict[int, int] = field(default_factory=dict)
    stopped: dict[str, Any] | None = None
    alone: bool | None = None


def sweep(
    ask: SweepAsk, gather: Callable[[], tuple[Source, ...]], told: Callable[[dict[str, Any]], None]
) -> Sweep:
    """Time a step at every width.

    Args:
        ask: what to time.
        gather: finds those who watch this box; asked only where GPUs are looked at.
        told: hears everything the probe says.

    Raises:
        SharedGpuError: if somebody is on the GPU or comes meanwhile.
        ScalingError: if the probe ends without one width timed, or is not done.
    """
    if ask.device == "cpu":
        return _run(ask, {**os.environ, VISIBLE: ""}, told, None, None)
    with OwnLook(gather()) as own:
        view = own.look(IDLE_S)
        if not view.up or not view.gpus:
            return _run(ask, os.environ, told, None, None)
        card = _card(view, ask.gpu or os.environ.get(VISIBLE, "").split(",")[0].strip())
        busy = why_not_idle(card)
        if busy:
            raise SharedGpuError(
                f"GPU {card.facts.index} is not measured on: {busy}; wait, choose another with "
                "--gpu, or use --device cpu"
            )
        environ = {**os.environ, VISIBLE: card.facts.uuid}
        return _run(ask, environ, told, own, card.facts.uuid)


def _card(view: GpusView, wanted: str) -> GpuView:
    """The card that is meant, by uuid, its beginning, or index; the first one for ""."""
    for gpu in view.gpus:
        uuid, index = gpu.facts.uuid, str(gpu.facts.index)
        if not wanted or wanted == index or (len(wanted) > 4 and uuid.startswith(wanted)):
            return gpu
    raise ScalingError(f"there is no GPU {wanted}; `pfid gpus --json` names them")


def _run(
    ask: SweepAsk,
    environ: Mapping[str, str],
    told: Callable[[dict[str, Any]], None],
    own: OwnLook | None,
    uuid: str | None,
) -> Sweep:
    found = Sweep(alone=None if own is None else True)

    def take(said: dict[str, Any]) -> None:
        _take(found, said)
        told(said)

    def watch() -> None:
        if own is not None and uuid is not None:
            _still_alone(own.look(TICK_S), uuid)

    end = run_probe(_probe(ask, environ), take, watch)
    if end.ending is not Ending.DONE:
        raise ScalingError(f"the step was not timed: {_why(end)}")
    if own is None and found.device.get("device") == "cuda":
        found.alone = None
    return found


def _probe(ask: SweepAsk, environ: Mapping[str, str]) -> ProbeAsk:
    widths = ",".join(str(width) for width in ask.widths)
    return ProbeAsk(
        python=ask.python,
        probe="scaling",
        arguments=(
            ask.target,
            *("--widths", widths, "--batch", str(ask.batch)),
            *("--repeats", str(ask.repeats), "--warm", str(ask.warm), "--device", ask.device),
        ),
        environ=environ,
        deadline_s=ask.deadline_s,
        silent_s=ask.silent_s,
    )


def _take(found: Sweep, said: Mapping[str, Any]) -> None:
    event = said["event"]
    try:
        if event == "timing":
            found.timings.append(Timing(width=int(said["width"]), seconds=float(said["seconds"])))
        elif event == "memory":
            found.peak_bytes[int(said["width"])] = int(said["peak_bytes"])
    except (KeyError, TypeError, ValueError) as error:
        raise ScalingError(f"the probe said what cannot be: {error}") from error
    if event == "ready":
        found.device = {k: said.get(k) for k in ("device", "name", "torch")}
    elif event == "sweep_ended":
        found.stopped = {k: said.get(k) for k in ("width", "reason", "detail")}


def _still_alone(view: GpusView, uuid: str) -> None:
    """Look whether another process has come; ours is the only one of any size.

    Raises:
        SharedGpuError: if one has.
    """
    card = next((gpu for gpu in view.gpus if gpu.facts.uuid == uuid), None)
    holders = () if card is None or card.holders is None else card.holders
    large = [h for h in holders if (h.memory_bytes or 0) >= BYSTANDER_BYTES]
    if len(large) > 1:
        pids = ", ".join(str(h.pid) for h in large)
        raise SharedGpuError(f"somebody came onto the GPU while it was measured (pids {pids})")


def _why(end: ProbeEnd) -> str:
    if end.ending is Ending.REFUSED:
        return REFUSALS.get(end.reason) or end.why.removeprefix(f"{end.reason}: ")
    return end.why or end.ending.value
