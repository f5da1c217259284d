"""A real training-like loop that torch compiles, and that can fall off its compiled path.

One step runs about 25 element-wise operations over a few million floats. Compiled for a fixed
size they are one fused kernel; when the size keeps changing, dynamo reaches its recompile limit,
says so once, and runs every later step uncompiled: no error, the same numbers, many times slower.

    compiled_chain.py --steps 90 --change every --from-step 60 --dialect iter

``--change every`` is the fault; ``once`` is its twin, which recompiles a single time and goes on
fused; ``never`` never changes.
"""

import argparse
import sys
import time

import torch
import torch._dynamo
from tqdm import tqdm

OPERATIONS = 25
RECOMPILE_LIMIT = 2


def chain(values: torch.Tensor) -> torch.Tensor:
    """Apply element-wise operations that inductor fuses into one loop."""
    for k in range(OPERATIONS):
        values = values * 1.0001 + 0.001 * k
    return values


def width(step: int, options: argparse.Namespace) -> int:
    """Return how many floats this step works on."""
    if options.change == "never" or step < options.from_step:
        return options.elements
    behind = 1 if options.change == "once" else step - options.from_step + 1
    return options.elements - 1000 * behind


def options_of(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--elements", type=int, default=8_000_000)
    parser.add_argument("--change", choices=("every", "once", "never"), default="every")
    parser.add_argument("--from-step", type=int, default=60)
    parser.add_argument("--dialect", choices=("iter", "tqdm"), default="iter")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    """Train, and print each step in the dialect asked for."""
    options = options_of(argv)
    torch._dynamo.config.recompile_limit = RECOMPILE_LIMIT
    torch.set_num_threads(1)  # threads that wait for each other on a busy box blur the steps
    compiled = torch.compile(chain, dynamic=False)
    data = torch.randn(options.elements)
    steps = range(options.steps)
    with torch.no_grad():
        for step in tqdm(steps) if options.dialect == "tqdm" else steps:
            began = time.perf_counter()
            loss = float(compiled(data[: width(step, options)]).mean())
            took_ms = (time.perf_counter() - began) * 1000
            if options.dialect == "iter":
                sys.stdout.write(f"iter {step}: loss {loss:.4f}, time {took_ms:.2f}ms\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
