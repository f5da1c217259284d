"""Load one GPU with a dense bf16 matrix multiplication, or with work that is none, and time it.

Run by the training interpreter, with one GPU visible; power is read by the caller meanwhile. Every
block is synchronised before its time is taken. The numbers are random: zeros draw less power.

    CUDA_VISIBLE_DEVICES=GPU-... python gemm.py --seconds 12 --size 8192 [--work spin]

Prints JSON lines: ``{"event": "ready", ...}``, ``{"event": "block", "count": 40, "seconds": 0.5}``
again and again, ``{"event": "done"}``; or ``{"event": "refused", "reason": CODE}`` and exit 3.
"""

import argparse
import json
import sys
import time
from typing import Any, Callable, List, Optional

WARM_S = 2.0
BLOCK_S = 0.5
AMPERE = (8, 0)
"""The first generation that multiplies bf16 in its tensor cores."""
SPIN_ELEMENTS = 1 << 22
"""Few enough to stay in the card's cache: the work is arithmetic, not memory."""


class Refused(Exception):  # noqa: N818 - an answer of this script, not a fault
    """Why nothing can be measured; a code the caller puts into words."""


def say(**facts: Any) -> None:
    """Print one line at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def gemm(torch: Any, size: int) -> Callable[[], None]:
    """Return one dense bf16 multiplication of two square matrices."""
    left = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    right = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    into = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
    return lambda: torch.mm(left, right, out=into)


def spin(torch: Any, size: int) -> Callable[[], None]:  # noqa: ARG001 - same shape as gemm
    """Return work that keeps every SM busy and no tensor core."""
    values = torch.rand(SPIN_ELEMENTS, device="cuda", dtype=torch.float32)
    spinning: Callable[[], None] = values.sin_
    return spinning


WORK = {"gemm": gemm, "spin": spin}


def timed(work: Callable[[], None], wait: Callable[[], None], count: int) -> float:
    """Return the seconds of ``count`` repetitions, from idle to idle."""
    wait()
    began = time.perf_counter()
    for _ in range(count):
        work()
    wait()
    return time.perf_counter() - began


def blocks(
    work: Callable[[], None], wait: Callable[[], None], seconds: float, told: Callable[..., None]
) -> None:
    """Warm up, find how many repetitions fill a block, and report block after block."""
    count, took = 1, timed(work, wait, 1)
    until = time.perf_counter() + WARM_S
    while time.perf_counter() < until:
        count = repetitions(count, took)
        took = timed(work, wait, count)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        told(event="block", count=count, seconds=timed(work, wait, count))


def repetitions(count: int, took: float) -> int:
    """How many repetitions take about BLOCK_S, if ``count`` of them took ``took`` seconds."""
    if took <= 0:
        return count * 2
    return max(1, min(int(count * BLOCK_S / took), count * 10))


def ready(torch: Any, size: int) -> None:
    """Say what will be measured.

    Raises:
        Refused: if there is no GPU here that multiplies bf16.
    """
    if not torch.cuda.is_available():
        raise Refused("no_cuda")
    if torch.cuda.device_count() != 1:
        raise Refused("not_one_gpu")
    card = torch.cuda.get_device_properties(0)
    if (card.major, card.minor) < AMPERE:
        raise Refused("no_bf16")
    if torch.cuda.mem_get_info(0)[0] < 8 * size * size:
        raise Refused("no_memory")
    uuid = str(getattr(card, "uuid", ""))
    say(event="ready", torch=torch.__version__, device=card.name, uuid=uuid, size=size)


def main(arguments: Optional[List[str]] = None) -> int:
    """Measure; 3 if that cannot be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--work", choices=sorted(WORK), default="gemm")
    chosen = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        say(event="refused", reason="no_torch")
        return 3
    try:
        ready(torch, chosen.size)
        work = WORK[chosen.work](torch, chosen.size)
        blocks(work, torch.cuda.synchronize, chosen.seconds, say)
    except Refused as refused:
        say(event="refused", reason=str(refused))
        return 3
    except RuntimeError as error:  # out of memory, a card that fails: CUDA's errors are this
        say(event="refused", reason="cuda_error", detail=str(error)[:300])
        return 3
    say(event="done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
