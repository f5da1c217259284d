"""What a reported step costs: by torch's hooks, by a call, and what the hooks add to a start.

A step of an optimizer that does nothing, 9,000 of them a round, rounds alternating; and a bare
interpreter without the folder in its path, with it, and with the trial that it comes from, in turn:
differences are taken within a turn, so that a busy moment hits all alike. Limits: 20 us a step for
a call; the trial added 8 us a step and 0.1 ms a start where it was measured.
"""

import compileall
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pfid.trainer

SITE = Path(pfid.trainer.__file__).parent / "site"
STEPS, ROUNDS, STARTS = 9_000, 5, 400
TRIAL = """
import os, sys
class Awaiting:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.optim.optimizer":
            sys.meta_path.remove(self)
here = os.path.dirname(os.path.abspath(__file__))
sys.meta_path.insert(0, Awaiting())
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
own = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = own
"""
"""The least that waits for torch and makes way, as the trial did; it attaches nothing."""
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


def start(folder: Path | None) -> tuple[float, float]:
    """Wall and processor seconds of one interpreter that finds this folder, or none."""
    given = {} if folder is None else {"PYTHONPATH": str(folder), "PFID_RUN_DIR": "/nowhere"}
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | given
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], environ), 0)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts() -> None:
    """Print what each folder adds to a start, byte code cached as an installation has it."""
    with tempfile.TemporaryDirectory() as place:
        trial = Path(place, "trial")
        ours = Path(place, "site")
        trial.mkdir()
        (trial / "sitecustomize.py").write_text(TRIAL)
        shutil.copytree(SITE, ours, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(place, quiet=1)
        arms = [None, ours, trial]
        taken: list[list[tuple[float, float]]] = [[] for _ in arms]
        for turn in range(STARTS):
            for step in range(len(arms)):
                arm = (turn + step) % len(arms)
                taken[arm].append(start(arms[arm]))
    for name, arm in (("start with the folder", 1), ("start with the trial", 2)):
        pairs = list(zip(taken[0], taken[arm], strict=True))
        wall, cpu = (statistics.median(s[n] - bare[n] for bare, s in pairs) for n in (0, 1))
        print(f"{name}: {wall * 1e3:+.2f} ms wall, {cpu * 1e3:+.2f} processor, median of pairs")


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
    starts()


if __name__ == "__main__":
    main()
