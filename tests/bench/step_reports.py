"""What a reported step costs: by torch's hooks, by a call, and what the hooks add to a start.

A step of an optimizer that does nothing, 9,000 of them a round, rounds alternating; and a bare
interpreter with and without the folder in its path. Limits: 20 us a step for a call; the trial
that the hooks come from added 8 us a step and 0.1 ms a start.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pfid.trainer

SITE = Path(pfid.trainer.__file__).parent / "site"
STEPS, ROUNDS, STARTS = 9_000, 5, 60
LOOP = """
import json, statistics, sys, time
import torch
class Nothing(torch.optim.Optimizer):
    def __init__(self): super().__init__([torch.nn.Parameter(torch.zeros(1))], {})
    def step(self): pass
if sys.argv[1] == "call":
    from pfid.trainer import Accounting, StepReporter
    reporter = StepReporter(accounting=Accounting(1e9))
times = []
optimizer = Nothing()
step, now = optimizer.step, time.perf_counter
for _ in range(int(sys.argv[2])):
    began = now()
    step()
    if sys.argv[1] == "call":
        reporter.report(tokens=4096, real_tokens=3000, width=512, loss=2.5)
    times.append(now() - began)
times.sort()
print(json.dumps([statistics.median(times), times[int(len(times) * 0.99)]]))
"""


def steps(how: str) -> list[float]:
    """Median and 99th percentile of a step, seconds."""
    with tempfile.TemporaryDirectory() as run:
        (Path(run) / "steps").mkdir()
        environ = {**os.environ, "PFID_RUN_DIR": run}
        if how == "hooks":
            environ["PYTHONPATH"] = str(SITE)
        elif how == "none":
            del environ["PFID_RUN_DIR"]
        command = [sys.executable, "-c", LOOP, how, str(STEPS)]
        done = subprocess.run(command, env=environ, capture_output=True, check=True)
        return json.loads(done.stdout)


def start(**environ: str) -> float:
    """Seconds of one bare interpreter."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env={**os.environ, **environ}, check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the table."""
    figures: dict[str, list[list[float]]] = {"none": [], "hooks": [], "call": []}
    for _ in range(ROUNDS):
        for how, found in figures.items():
            found.append(steps(how))
    for how, found in figures.items():
        median = min(each[0] for each in found) * 1e6
        tail = min(each[1] for each in found) * 1e6
        print(f"{how:6} {median:6.1f} us at the median, {tail:6.1f} at the 99th percentile")
    bare, seen = [], []
    for _ in range(STARTS):
        bare.append(start())
        seen.append(start(PYTHONPATH=str(SITE), PFID_RUN_DIR="/nowhere"))
    added = (statistics.median(seen) - statistics.median(bare)) * 1e3
    least = (min(seen) - min(bare)) * 1e3
    print(f"start: {added:+.2f} ms at the median, {least:+.2f} at the least")


if __name__ == "__main__":
    main()
