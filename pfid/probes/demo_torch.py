"""A real torch training that really falls off its compiled path when the fault is planted.

A chain of element-wise operations, compiled for a fixed size into one fused kernel. From the
planted step on every batch has another size: dynamo recompiles until its recompile limit, says so
once, and runs every later step uncompiled. No error, the same loss, many times slower.

    python -m pfid.probes.demo_torch PLANT
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch._dynamo import config

from pfid.probes.demo_loop import train

ELEMENTS = 8_000_000
OPERATIONS = 25
RECOMPILE_LIMIT = 2


def chain(values: Any) -> Any:
    """Apply operations that inductor fuses into one loop over the data."""
    for k in range(OPERATIONS):
        values = values * 1.0001 + 0.001 * k
    return values


class Chain:
    """Run the compiled chain over random data, of a fixed size until the fault is planted."""

    def __init__(self) -> None:
        config.recompile_limit = RECOMPILE_LIMIT
        torch.set_num_threads(1)  # threads that wait for each other on a busy box blur the steps
        self.compiled = torch.compile(chain, dynamic=False)
        self.data = torch.randn(ELEMENTS)

    def step(self, planted: int) -> float:
        """Run one step; the mean stands for a loss."""
        with torch.no_grad():
            return float(self.compiled(self.data[: ELEMENTS - 1000 * planted]).mean())


if __name__ == "__main__":
    train(Chain().step, Path(sys.argv[1]))
