"""What a card does on its own dense GEMM: from timed blocks and power readings to a reference.

A reference convicts and acquits trainings, so a doubtful one is refused: too few or unsteady
blocks, a card that was held back, power that was not read, a card that did something else beside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import HELD_BACK
from pfid.analysis.gpu_work_reading import Work
from pfid.domain.errors import PfidError
from pfid.domain.gpu import GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpusView, GpuView
from pfid.spec.ports.gpus import SamplerProblem

BLOCKS_MIN: Final = 5
SPREAD_MAX: Final = 0.1
"""How far the middle half of the blocks may lie apart, as a share of the median."""
POWER_S: Final = 4.0
"""Seconds of power readings that are needed."""
BUSY: Final = 0.9
IDLE: Final = 0.05
BYSTANDER_BYTES: Final = 256 * 1024**2


class NotMeasuredError(PfidError):
    """There is no reference that could be believed, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some multiplications, timed together."""

    count: int
    seconds: float


def why_not_idle(gpu: GpuView) -> str:
    """Why a card may not be loaded for a measurement; "" if it may. Not knowing is no leave."""
    if not gpu.present or gpu.last is None:
        return "it does not answer"
    if gpu.facts.mig:
        return "it is divided by MIG"
    if gpu.holders is None:
        return "who is on it cannot be read"
    others = [h for h in gpu.holders if (h.memory_bytes or BYSTANDER_BYTES) >= BYSTANDER_BYTES]
    if others:
        return f"pid {', '.join(str(h.pid) for h in others)} is on it"
    if gpu.last.utilization is None:
        return "whether it idles cannot be read"
    return "" if gpu.last.utilization <= IDLE else f"it is {gpu.last.utilization:.0%} busy"


def why_to_stop(view: GpusView, uuid: str) -> str:
    """Why a measurement that is under way ends; "" while it may go on.

    Our own process is the only large one; whatever came beside it is somebody's work.
    """
    if view.problem == SamplerProblem.FATAL_XID.value:
        return "a GPU reported a fatal error: nothing may be asked of the driver"
    card = next((gpu for gpu in view.gpus if gpu.facts.uuid == uuid), None)
    holders = () if card is None or card.holders is None else card.holders
    large = [h for h in holders if (h.memory_bytes or 0) >= BYSTANDER_BYTES]
    if len(large) < 2:
        return ""
    pids = ", ".join(str(h.pid) for h in large)
    return f"somebody came onto the GPU while it was measured (pids {pids})"


def tflops(blocks: Sequence[Block], size: int) -> float:
    """Median TFLOP/s of square multiplications; two operations a multiply-add.

    Raises:
        NotMeasuredError: if there are too few blocks, or they are unsteady.
    """
    rates = sorted(2 * size**3 * b.count / b.seconds / 1e12 for b in blocks if b.seconds > 0)
    if len(rates) < BLOCKS_MIN:
        raise NotMeasuredError(f"only {len(rates)} blocks were timed")
    middle = median(rates)
    spread = (rates[3 * len(rates) // 4] - rates[len(rates) // 4]) / middle
    if spread > SPREAD_MAX:
        raise NotMeasuredError(
            f"the rate varies by {spread:.0%}: something else runs on it, or its clocks move"
        )
    return middle


def reference_of(
    blocks: Sequence[Block], size: int, samples: Sequence[GpuSample], driver: str
) -> GpuReference:
    """Make the reference of one card.

    Args:
        blocks: timed multiplications.
        size: rows of the square matrices.
        samples: readings of the card that lie wholly within those blocks, oldest first.
        driver: version; another one voids the reference.

    Raises:
        NotMeasuredError: if the result could not be believed.
    """
    if not driver:
        raise NotMeasuredError("the driver's version is not known, so nothing could void it")
    rate = tflops(blocks, size)
    window = newest_window(samples, samples[-1].at_s - samples[0].at_s + 60 if samples else 60)
    if window.power_w is None or window.seconds < POWER_S:
        raise NotMeasuredError("its power was not read while it worked")
    if (window.utilization or 0.0) < BUSY:
        raise NotMeasuredError("it was not busy: another card was loaded, or none")
    held = [reason for reason in HELD_BACK if reason in (window.throttle or ())]
    if held:
        raise NotMeasuredError(f"it is held back ({', '.join(held)}): let it cool and try again")
    return GpuReference(
        uuid=samples[-1].uuid,
        tflops=rate,
        power_w=window.power_w,
        power_limit_w=window.power_limit_w,
        at_s=samples[-1].at_s,
        driver=driver,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Burnt:
    """What a real card looked like under matrix work, under none, and under it again.

    Attributes:
        proven: whether the gate told them apart; None where this card does not show enough.
        why: what it said instead, "" if it told them apart.
    """

    proven: bool | None
    why: str = ""


_MATMUL: Final = Work.MATMUL.value
_UNKNOWN: Final = Work.TENSOR_UNKNOWN.value
_NO_MATMUL: Final = frozenset({Work.TENSOR_IDLE.value, Work.LOW_POWER.value})
_CANNOT_TELL: Final = frozenset({_UNKNOWN, Work.NO_CLEAR_FAULT.value})


def not_dense(reason: str) -> Burnt | None:
    """Judge matrix work alone: it lets the gate down if it came out as anything else."""
    if reason in {_MATMUL, _UNKNOWN}:
        return None
    return Burnt(proven=False, why=f"a dense GEMM came out as other work: {reason}")


def burn_of(shown: Callable[[str], str]) -> Burnt:
    """Ask for the reason code under each work in turn, and leave a card alone that failed already.

    Args:
        shown: loads the card with "gemm" or "spin", and says what the gate made of it.
    """
    before = shown("gemm")
    found = not_dense(before)
    if found is not None:
        return found
    return burnt(before, shown("spin"), shown("gemm"))


def burnt(before: str, spinning: str, after: str) -> Burnt:
    """Judge a burn by reason codes: matrix work, a kernel that does none, matrix work."""
    said = f"{before}, {spinning}, {after}"
    wrong = not_dense(before) or not_dense(after)
    if wrong is not None:
        return wrong
    if spinning in _NO_MATMUL:
        return Burnt(proven=True)
    if spinning == Work.POWER_UNCLEAR.value:
        why = f"a spinning kernel draws too much of a GEMM's power here to fail: {said}"
        return Burnt(proven=None, why=why)
    if spinning in _CANNOT_TELL and _UNKNOWN in {before, spinning, after}:
        return Burnt(proven=None, why=f"this card does not measure tensor activity: {said}")
    return Burnt(proven=False, why=f"a spinning kernel was not told from a GEMM: {said}")
