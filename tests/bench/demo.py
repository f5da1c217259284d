"""How long `pfid demo` takes from its start to its last line, with either training."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

from limits import Limits

DEMO_S = 60.0
TRAININGS = ("torch", "numpy")


def main() -> int:
    """Print a line a training."""
    seconds = {name: _timed(name) for name in TRAININGS if name == "numpy" or find_spec("torch")}
    for name, took_s in seconds.items():
        print(f"pfid demo --training {name}: {took_s:.1f} s")
    return held_against(seconds)


def held_against(seconds: dict[str, float]) -> int:
    """Hold what is promised; the exit status."""
    limits = Limits()
    for name, took_s in seconds.items():
        limits.at_most(f"pfid demo, {name}", took_s, DEMO_S, "s")
    limits.true("a demo was timed", bool(seconds))
    return limits.status()


def _timed(training: str) -> float:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        began_s = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pfid", "demo", "--training", training],
            env=dict(os.environ) | {"TMPDIR": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        took_s = time.perf_counter() - began_s
    if done.returncode:
        raise SystemExit(f"the demo ended with {done.returncode}: no figure\n{done.stdout[-2000:]}")
    return took_s


if __name__ == "__main__":
    sys.exit(main())
