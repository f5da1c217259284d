"""What `pfid run -- true` adds to `true`, beside other programs that start a program.

Each round runs every command once, so that a busy moment hits all alike. pfid starts an engine
in the background for every run; it is waited for between rounds, or it would be timed too.
"""

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

ROUNDS = 15
LIMIT_MS = 250.0
OURS = "pfid run -- true"
BIN = Path(sys.executable).parent
IN_PYTHON = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def main() -> int:
    """Print the table."""
    commands = {
        "true": ["true"],
        OURS: [BIN / "pfid", "run", "--name", "bench", "--", "true"],
        "setsid --wait true": ["setsid", "--wait", "true"],
        "timeout 60 true": ["timeout", "60", "true"],
        "python: subprocess.call": [sys.executable, "-c", IN_PYTHON, "true"],
    }
    if (BIN / "torchrun").exists():
        commands["torchrun --no-python true"] = [BIN / "torchrun", "--no-python", "true"]
    commands = {name: words for name, words in commands.items() if shutil.which(words[0])}
    with tempfile.TemporaryDirectory() as place:
        wall, cpu = _measure(commands, Path(place))
    bare = statistics.median(wall["true"])
    print(f"added to `true`, milliseconds, {ROUNDS} rounds (torchrun: 3)")
    print(f"{'':28}{'min':>8}{'median':>8}{'max':>8}{'cpu':>8}")
    for name, seconds in wall.items():
        added = [(s - bare) * 1000 for s in seconds]
        print(
            f"{name:28}{min(added):8.0f}{statistics.median(added):8.0f}{max(added):8.0f}"
            f"{statistics.median(cpu[name]) * 1000:8.0f}"
        )
    return held_against((statistics.median(wall[OURS]) - bare) * 1000)


def held_against(added_ms: float) -> int:
    """Hold what is promised; the exit status."""
    limits = Limits()
    limits.at_most(f"`{OURS}` adds, median", added_ms, LIMIT_MS, "ms")
    return limits.status()


def _measure(
    commands: dict[str, list[str | Path]], place: Path
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    environ = os.environ | {
        "XDG_STATE_HOME": str(place / "state"),
        "PFID_SOCKET": str(place / "no.sock"),
    }
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(ROUNDS):
        for name, words in commands.items():
            if name.startswith("torchrun") and number >= 3:
                continue
            before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(
                words,
                cwd=place,
                env=environ,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            wall[name].append(time.perf_counter() - began_s)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            if name.startswith("pfid"):
                _wait_for_engines(place)
    return wall, cpu


def _wait_for_engines(place: Path) -> None:
    """Until every run's engine has been told of its end, at most 20 s: it starts beside the run."""
    deadline_s = time.monotonic() + 20
    while time.monotonic() < deadline_s:
        if not any(_is_engine_at_work(entry, place) for entry in Path("/proc").iterdir()):
            return
        time.sleep(0.2)


def _is_engine_at_work(entry: Path, place: Path) -> bool:
    """An engine that comes up has not bound its socket yet."""
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    folders = [word for word in words if word.startswith(os.fsencode(place))]
    if not folders or not {b"--embedded", b"embedded"} & set(words):
        return False
    return not (Path(os.fsdecode(folders[0])) / "engine" / "metrics_url").exists()


if __name__ == "__main__":
    sys.exit(main())
