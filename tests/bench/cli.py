"""How long a person waits for `pfid --help`, beside a bare interpreter and pip."""

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from limits import Limits

ROUNDS = 15
HELP_MS = 150.0
WHAT = (
    ("pfid --help", ""),
    ("pfid --version", ""),
    ("pfid status --help", ""),
    ("pfid status", "with nobody to ask"),
    ("python -c pass", "the interpreter alone"),
    ("pip --version", "peer"),
)


def main() -> int:
    """Print the table; rounds are interleaved, so that a busy moment hits all alike."""
    seconds: dict[str, list[float]] = {command: [] for command, _ in WHAT}
    for _ in range(ROUNDS):
        for command, _ in WHAT:
            seconds[command].append(_timed(command.split()))
    print(f"start-up, milliseconds, {ROUNDS} rounds")
    print(f"{'':28}{'min':>8}{'median':>8}{'max':>8}")
    for command, said in WHAT:
        ms = [s * 1000 for s in seconds[command]]
        print(f"{command:28}{min(ms):8.0f}{statistics.median(ms):8.0f}{max(ms):8.0f}  {said}")
    return held_against({command: statistics.median(s) * 1000 for command, s in seconds.items()})


def held_against(median_ms: dict[str, float]) -> int:
    """Hold what is promised; the exit status."""
    limits = Limits()
    limits.at_most("pfid --help, median", median_ms["pfid --help"], HELP_MS, "ms")
    return limits.status()


def _timed(command: list[str]) -> float:
    name = "python3" if command[0] == "python" else command[0]
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name) or name
    began_s = time.perf_counter()
    done = subprocess.run(
        [program, *command[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        env={"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": "/nonexistent"},
    )
    took_s = time.perf_counter() - began_s
    if "--help" in command and done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: no figure")
    return took_s


if __name__ == "__main__":
    sys.exit(main())
