"""Every panel of the dashboard shows something where there is something to show.

Two ranks of a job that report everything, on GPUs of the stand-in for NVML, one held back and with
an error; a planted fault; somebody to notify who does not listen; and then a death.
"""

import os
import signal
import sys

import pytest
from nvml_shim import GIB, H200

from pfid.monitoring.dashboard import expressions

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "prometheus-alertmanager", "gcc"),
]
HW_SLOWDOWN = 0x8
LOOP = """
import time
from pfid.trainer import Accounting, StepReporter
accounting = Accounting(1e9, checkpointed=True, peak_flops_per_s=1e15)
reporter = StepReporter(accounting=accounting)
while True:
    with reporter.step(tokens=1000, width=100) as step:
        time.sleep(0.05)
        step.real_tokens = 750
"""


def empty(servers):
    """Queries that find nothing, by panel."""
    return {(title, expr) for title, expr in expressions() if not servers.query(expr)}


def titles(servers):
    return {title for title, _ in empty(servers)}


def launch(box, rank):
    box.environ |= {"SLURM_JOB_ID": "7", "RANK": str(rank), "WORLD_SIZE": "2"}
    name = f"rank-{rank}"
    expected = ("--expect-step", "0.05")
    box.start("run", "--name", name, *expected, "--", sys.executable, "-c", LOOP)
    return box.until("the run", lambda: name_to_run(box, name), 60)


def name_to_run(box, name):
    return next((r for r in box.json("status")["runs"] if r["name"] == name), None)


def test_no_panel_is_empty_where_there_is_something_to_show(nvml, fleet):
    free = {**H200, "memory_used": 0}  # held by nobody, and so no reason to refuse a launch
    nvml.play({**free, "throttle": HW_SLOWDOWN}, free)
    boxes = fleet(1, more='[notify]\ncommand = ["/bin/false"]\n')
    box, servers = boxes.boxes[0], boxes.monitoring
    runs = [launch(box, rank) for rank in range(2)]
    for index, run in enumerate(runs):
        nvml.run_on(index, run["pid"], 100 * GIB)
        nvml.change(index, memory_used=H200["memory_used"])
    drill = box.pfid("selftest", "--live", "--check", "run_gone", timeout_s=120)
    assert drill.returncode == 0, drill.stderr
    nvml.xid(1, 13)
    box.until(
        "all but what waits for a death",
        lambda: titles(servers) <= {"Alerts that fire"},
        120,
    )
    os.kill(runs[0]["pid"], signal.SIGKILL)
    box.until("every panel", lambda: not titles(servers), 60)

    states = next(e for title, e in expressions() if title == "State of each run")
    wanted = {runs[0]["run_id"]: "7", runs[1]["run_id"]: "2"}
    told = lambda: {s["metric"]["run"]: s["value"][1] for s in servers.query(states)}  # noqa: E731
    box.until("killed, and running", lambda: told() == wanted, 30)
