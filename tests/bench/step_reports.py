"""What a reported step costs: by torch's hooks, by a call, and what the hooks add to a start.

A step of an optimizer that does nothing, 9,000 of them a round, and one of a compiled Adam, rounds
alternating; and a bare interpreter without the folder in its path, with it, and with the trial that
it comes from, in turn: differences are taken within a turn, so that a busy moment hits all alike.
Limits, of the round least disturbed, at the median: 20 us a step for a call and for the hooks, 50
for the hooks of a step that torch compiles, and what the trial adds to a start, to a tenth of a
millisecond. Each step must have its line: what reports nothing costs nothing.
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

from limits import Limits

import pfid.trainer

SITE = Path(pfid.trainer.__file__).parent / "site"
STEPS, COMPILED_STEPS, ROUNDS, STARTS = 9_000, 3_000, 5, 400
STEP_MAX_US, COMPILED_MAX_US, START_MAX_MS = 20.0, 50.0, 0.1
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
now = time.perf_counter
if sys.argv[3] == "compiled":
    weight = torch.nn.Parameter(torch.zeros(8))
    weight.grad = torch.ones(8)
    optimizer = torch.optim.Adam([weight])
    step = torch.compile(optimizer.step, backend="eager")
    for _ in range(10): step()
else:
    optimizer = Nothing()
    step = optimizer.step
for _ in range(int(sys.argv[2])):
    began = now()
    step()
    if sys.argv[1] == "call":
        reporter.report(tokens=4096, real_tokens=3000, width=512, loss=2.5)
    times.append(now() - began)
times.sort()
print(json.dumps([statistics.median(times), times[int(len(times) * 0.99)]]))
"""


def steps(how: str, kind: str = "eager") -> tuple[float, float, float]:
    """Median and 99th percentile of a step, seconds, and lines written for each."""
    count = COMPILED_STEPS if kind == "compiled" else STEPS
    with tempfile.TemporaryDirectory() as run:
        folder = Path(run) / "steps"
        folder.mkdir()
        environ = {**os.environ, "PFID_RUN_DIR": run}
        if how == "hooks":
            environ["PYTHONPATH"] = str(SITE)
        elif how == "none":
            del environ["PFID_RUN_DIR"]
        command = [sys.executable, "-c", LOOP, how, str(count), kind]
        done = subprocess.run(command, env=environ, capture_output=True, check=True)
        lines = sum(file.read_text().count('"step":') for file in folder.iterdir())
        median, tail = json.loads(done.stdout)
        return median, tail, lines / count


def start(folder: Path | None) -> tuple[float, float]:
    """Wall and processor seconds of one interpreter that finds this folder, or none."""
    given = {} if folder is None else {"PYTHONPATH": str(folder), "PFID_RUN_DIR": "/nowhere"}
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | given
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], environ), 0)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts() -> dict[str, float]:
    """What each folder adds to a start, ms of wall, byte code cached as an installation has it."""
    added: dict[str, float] = {}
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
        added[name.rpartition(" ")[2]] = wall * 1e3
    return added


ARMS = (
    ("none", "eager"),
    ("hooks", "eager"),
    ("call", "eager"),
    ("none", "compiled"),
    ("hooks", "compiled"),
)


def main() -> int:
    """Print the table and hold it against the limits."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {arm: [] for arm in ARMS}
    for _ in range(ROUNDS):
        for arm, rounds in found.items():
            rounds.append(steps(*arm))
    median = {arm: min(each[0] for each in rounds) * 1e6 for arm, rounds in found.items()}
    for (how, kind), rounds in found.items():
        tail = min(each[1] for each in rounds) * 1e6
        shown = f"{median[how, kind]:6.1f} us at the median, {tail:6.1f} at the 99th percentile"
        print(f"{how:6} {kind:8} {shown}")
    limits = Limits()
    for (how, kind), rounds in found.items():
        if how != "none":
            most = COMPILED_MAX_US if kind == "compiled" else STEP_MAX_US
            added = median[how, kind] - median["none", kind]
            limits.at_most(f"{how}, {kind}: added to a step", added, most, "us")
            limits.at_least(f"{how}, {kind}: lines a step", min(each[2] for each in rounds), 1)
    start_ms = starts()
    more = start_ms["folder"] - start_ms["trial"]
    limits.at_most("start with the folder beyond the trial's", more, START_MAX_MS, "ms")
    return limits.status()


if __name__ == "__main__":
    sys.exit(main())
