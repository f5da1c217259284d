"""Ranks of one job on several boxes: the slow one and the missing one are named."""

import os
import signal
import sys
import urllib.request

import pytest
from nvml_shim import H200_IDLE

from pfid.bootstrap.monitoring import monitored, specimen
from pfid.config.model import Config
from pfid.formats.exposition import samples
from pfid.monitoring.emitted import emitted, unknown_selectors
from pfid.monitoring.rule import alerts, recorded
from pfid.monitoring.rule_file import EVERY, rule_groups

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "prometheus-alertmanager", "gcc"),
]
RANK = """
import json, sys, time
for step in range(1, 100000):
    time.sleep(float(sys.argv[1]))
    print(json.dumps({"step": step, "seconds": float(sys.argv[1]), "loss": 1.0 / step}), flush=True)
"""
NOT_HERE = ("nobody emits pfid_notifications_failed_total",)
"""Nobody is to be told anything."""
RATIO = "rank:pfid_step_duration_seconds:ratio_median"


def test_the_slow_rank_and_the_missing_one_are_named_over_boxes(nvml, fleet):
    nvml.play(H200_IDLE)  # before the daemons start: each box has it
    boxes = fleet(3)
    servers = boxes.monitoring
    for rank, box in enumerate(boxes.boxes):
        box.environ |= {"SLURM_JOB_ID": "812", "RANK": str(rank), "WORLD_SIZE": "3"}
        seconds = "0.3" if rank == 1 else "0.1"
        log = str(box.folder / "rank.log")
        box.start("run", "--name", "rank", "--log", log, "--", sys.executable, "-c", RANK, seconds)
    first = boxes.boxes[0]

    first.until("three ranks", lambda: servers.value("job_id:pfid_ranks:count") == 3, 90)
    assert servers.value("job_id:pfid_run_world_size:max") == 3
    (alert,) = first.until("the slow rank", lambda: servers.alerts("PfidRankSlow"), 90)
    assert (alert["labels"]["rank"], alert["labels"]["job_id"]) == ("1", "812")
    assert alert["labels"]["instance"] == f"127.0.0.1:{boxes.ports[1]}"
    assert servers.value(f'{RATIO}{{rank="0"}}') < 1.5
    assert servers.alerts("PfidRankMissing") == []

    gone = boxes.boxes[2]
    (run_id,) = gone.run_ids()
    os.kill(int(gone.json("show", run_id)["run"]["pid"]), signal.SIGKILL)
    (alert,) = first.until("the missing rank", lambda: servers.alerts("PfidRankMissing"), 60)
    assert alert["labels"]["job_id"] == "812"
    assert "2 ranks that live" in alert["annotations"]["description"]
    (dead,) = first.until("the death", lambda: servers.alerts("PfidRunGone"), 20)
    assert dead["labels"]["instance"] == f"127.0.0.1:{boxes.ports[2]}"
    rules_ask_for_what_real_daemons_emit(boxes)


def rules_ask_for_what_real_daemons_emit(boxes):
    """Every selector of every rule against the pages of real daemons with a job on them."""
    pages = [urllib.request.urlopen(f"http://127.0.0.1:{p}/metrics").read() for p in boxes.ports]
    real = emitted(s for page in pages for s in samples(page.decode()))
    groups = rule_groups(monitored(Config()), choice=EVERY)
    names = frozenset(r.name for r in recorded(groups))
    rules = [*alerts(groups), *recorded(groups)]
    strangers = {p for r in rules for p in unknown_selectors(r.expr, real, names)}
    assert strangers == set(NOT_HERE)
    for name, labels in real.labels.items():
        assert labels <= specimen().labels[name], f"the specimen page lacks labels of {name}"
