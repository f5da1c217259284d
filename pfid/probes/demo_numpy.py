"""A real numpy training that really loses its vectorised path when the fault is planted.

Gradient descent on a cubic. From the planted step on, the batch comes from rows in which one value
is missing: numpy then keeps the column as Python objects, the gap is filled, every number is
right, and each operation runs as a Python loop. No error, the same loss, tens of times slower.

    python -m pfid.probes.demo_numpy PLANT
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from pfid.probes.demo_loop import train

ROWS = 150_000
RATE = 0.05
NOISE = 0.5


def with_a_gap_filled(values: Any) -> Any:
    """Return the same column after one row was missing: equal numbers, as Python objects."""
    rows = values.tolist()
    first, rows[0] = rows[0], None
    column = np.array(rows)  # the None decides: dtype is object from here on
    column[0] = first
    return column


class Cubic:
    """Fit a noisy cubic with four weights."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.weights = [0.0, 0.0, 0.0, 0.0]
        self.values: Any = random.standard_normal(ROWS)
        self.noise = NOISE * random.standard_normal(ROWS)
        self.slow: Any = None

    def step(self, planted: int) -> float:
        """Take one step of gradient descent; the loss."""
        if planted and self.slow is None:
            self.slow = with_a_gap_filled(self.values)
        x = self.slow if planted else self.values
        powers = [x * 0 + 1, x, x * x, x * x * x]
        error = self.noise - (0.5 + 2 * x - 0.7 * powers[2])
        for weight, power in zip(self.weights, powers):
            error = error + weight * power
        for k, power in enumerate(powers):
            self.weights[k] -= RATE * float((error * power).mean())
        return float((error * error).mean())


if __name__ == "__main__":
    train(Cubic().step, Path(sys.argv[1]))
