"""A real trainer under a real daemon, and what a user would type."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from gpu_day import Day
from scratch_daemon import ScratchDaemon, children, cpu_s

from pfid.bootstrap.gemm import SCRIPT, SIZE
from pfid.domain.snapshot import Snapshot
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of

DAEMON: Final = "[checks.gpu_work_kind.limits]\nwindow_s = 10.0\n"


def watched(day: Day) -> None:
    """A real daemon, a real trainer: whose it is, what it does, what watching costs."""
    with ScratchDaemon(DAEMON) as daemon:
        command = [day.python, str(SCRIPT), "--seconds", "600", "--size", str(SIZE)]
        environ = {**os.environ, "CUDA_VISIBLE_DEVICES": day.uuid}
        with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as trainer:
            try:
                daemon.register(trainer.pid, "gpu-day")
                held = _until(daemon, lambda v: _holder(v, "gpu-day"), 90.0)
                day.believe(
                    "the driver names the trainer by the number we know", held is not None, held
                )
                work = _until(daemon, lambda v: _work(v, "gpu-day"), 60.0)
                day.believe("the daemon says what the trainer does", work == "matmul_bound", work)
                pids = [daemon.process.pid, *children(daemon.process.pid)]
                before = sum(map(cpu_s, pids))
                time.sleep(day.load_s)
                share = (sum(map(cpu_s, pids)) - before) / day.load_s * 100
                day.figures["watching_percent_of_a_core"] = round(share, 2)
            finally:
                trainer.terminate()
        ended_s = time.monotonic()
        free = _until(daemon, lambda v: None if _holder(v, "gpu-day") else True, 60.0)
        seen = round(time.monotonic() - ended_s, 1)
        day.believe("memory is given back when the trainer is gone", bool(free), seen)


def _until(daemon: ScratchDaemon, wanted: Callable[[Snapshot], Any], within_s: float) -> Any:
    """The first answer that is one."""
    ends_s = time.monotonic() + within_s
    while time.monotonic() < ends_s:
        found = wanted(snapshot_of(daemon.client.ask(GetSnapshot(), SnapshotReply)))
        if found is not None:
            return found
        time.sleep(0.5)
    return None


def _holder(shown: Snapshot, run: str) -> dict[str, Any] | None:
    cards = () if shown.gpus is None else shown.gpus.gpus
    holders = [h for g in cards for h in g.holders or () if h.run_id == run]
    return {"pid": holders[0].pid, "memory_bytes": holders[0].memory_bytes} if holders else None


def _work(shown: Snapshot, run: str) -> str | None:
    """The reason of the verdict on the run's work, once there are readings enough."""
    said = [v for v in shown.verdicts if (v.check, v.entity.id) == ("gpu_work_kind", run)]
    early = {"window_too_short", "holders_unknown", "no_gpu", "no_clear_fault"}
    early.add("tensor_idle_power_unclear")
    return said[0].reason if said and said[0].reason not in early else None


def commands(day: Day) -> None:
    """What a user would type."""
    _typed(day, "probe_gemm", "probe", "gemm", "--python", day.python, "--json")
    _typed(day, "gpus", "gpus", "--json")


def burn(day: Day) -> None:
    """The gate, proven on this very card; null where it does not measure tensor activity."""
    words = ("selftest", "--check", "gpu_work_kind", "--burn", day.python, "--json")
    told = _typed(day, "burn", *words, well=(0, 3)) or {"drills": []}
    for drill in told["drills"]:
        day.believe("the card's sensors tell a GEMM from a spin", drill["ok"], drill["why"])


def _typed(day: Day, name: str, *words: str, well: tuple[int, ...] = (0,)) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pfid", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    day.figures[name] = json.loads(done.stdout) if done.stdout else None
    day.believe(f"pfid {words[0]} ends well", done.returncode in well, done.stderr[-300:])
    return day.figures[name]
