"""What both demo trainings share: one line a step, a fault planted by a file, and an end."""

import sys
import time
from pathlib import Path
from typing import Callable

LIFETIME_S = 150.0
"""A demo training ends by itself, whoever forgets it."""


def train(step: Callable[[int], float], plant: Path) -> None:
    """Call ``step(planted)`` over and over and print a line in nanoGPT's format for each.

    Args:
        step: one optimizer step; returns its loss. It is told how many steps ago the fault was
            planted, 0 while it has not been.
        plant: file whose existence plants the fault.
    """
    ends_at = time.monotonic() + LIFETIME_S
    index = planted = 0
    while time.monotonic() < ends_at:
        planted += planted > 0 or plant.exists()
        began = time.perf_counter()
        loss = step(planted)
        took_ms = (time.perf_counter() - began) * 1000
        sys.stdout.write(f"iter {index}: loss {loss:.4f}, time {took_ms:.2f}ms\n")
        sys.stdout.flush()
        index += 1
