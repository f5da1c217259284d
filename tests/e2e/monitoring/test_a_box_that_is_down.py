"""A real daemon stands still: what its silence means on real servers, and what people are told.

Two boxes, each with a run of one job whose loss is NaN; on the first also a run that was killed.
"""

import os
import signal
import sys

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "prometheus-alertmanager"),
]
NAN = """
import time
for step in range(1, 100000):
    print(f"iter {step}: loss nan, time 50.00ms", flush=True)
    time.sleep(0.05)
"""
LOSS, GONE, DOWN = "PfidLossNotFinite", "PfidRunGone", "PfidDown"
STALLED, IDLE = "PfidLoopStalled", "PfidGpuHeldIdle"
MISSING, UNKNOWN = "PfidRankMissing", "PfidRankMissingUnknown"


def launch(box, name, **job):
    box.environ |= job
    log = str(box.folder / f"{name}.log")
    box.start("run", "--name", name, "--log", log, "--", sys.executable, "-c", NAN)
    runs = lambda: box.json("status")["runs"]  # noqa: E731
    return box.until("the run", lambda: next((r for r in runs() if r["name"] == name), None), 60)


def about(alerts, instance):
    return [a for a in alerts if a["labels"]["instance"] == instance]


def all_are_seen(servers, told):
    """Whether nobody is missing: what was told of missing ones so far, behind a 1."""
    over = told.of(MISSING)[-1:] in ([], ["resolved"])
    both = servers.value("job_id:pfid_ranks:count") == 2
    return over and both and not servers.alerts(MISSING) and [1, *told.of(MISSING)]


def held_idle(servers, instance):
    """An alert of a GPU on a box, as Prometheus would raise it where there is one."""
    servers.raise_alert({"alertname": IDLE, "job": "pfid", "instance": instance, "uuid": "g"})


def test_silence_is_told_once_and_neither_recovery_nor_a_missing_rank(fleet, standing_still):
    boxes = fleet(2)
    servers, told = boxes.monitoring, boxes.monitoring.receiver
    here, there = (f"127.0.0.1:{port}" for port in boxes.ports)
    first = boxes.boxes[0]
    dead = launch(first, "dead")
    for rank, box in enumerate(boxes.boxes):
        launch(box, f"rank-{rank}", SLURM_JOB_ID="7", RANK=str(rank), WORLD_SIZE="2")
    os.kill(dead["pid"], signal.SIGKILL)
    first.until("the death is told", lambda: told.of(GONE, here), 60)
    first.until("NaN is told, of both", lambda: told.of(LOSS, here) and told.of(LOSS, there), 60)
    # One rank may have stood alone for longer than the patience that is left of the rules here.
    early = first.until("both ranks are seen", lambda: all_are_seen(servers, told), 60)

    boxes.daemons[0].send_signal(signal.SIGSTOP)
    try:
        first.until("PfidDown arrives", lambda: told.of(DOWN, here), 60)
        hushed = lambda name: servers.alerts(name, inhibited=True)  # noqa: E731
        first.until("what runs there is hushed", lambda: about(hushed(LOSS), here), 30)
        first.until("who can tell of its rank", lambda: hushed(UNKNOWN), 60)
        assert about(servers.alerts(LOSS), here) == []
        assert len(about(servers.alerts(LOSS), there)) == 1, "another box is not silenced"
        (gone,) = servers.alerts(GONE)
        assert gone["labels"]["run"] == dead["run_id"]
        assert servers.alerts(MISSING) == hushed(MISSING) == []
        assert [told.of(MISSING), told.of(UNKNOWN)] == [early[1:], []]
        for name in (GONE, LOSS):
            assert set(told.of(name)) == {"firing"}, "nobody knows of a recovery"
    finally:
        boxes.daemons[0].send_signal(signal.SIGCONT)
    first.until("it is back", lambda: told.of(DOWN, here)[-1] == "resolved", 60)
    first.until("NaN is heard again", lambda: about(servers.alerts(LOSS), here), 30)
    assert len(servers.alerts(GONE)) == 1
    assert set(told.of(GONE)) == set(told.of(LOSS)) == {"firing"}

    with standing_still(boxes.daemons[0].pid):  # its loop alone: the page is served on, old news
        first.until("PfidLoopStalled arrives", lambda: told.of(STALLED, here), 90)
        for instance in (here, there):
            held_idle(servers, instance)
        first.until("what runs there is hushed", lambda: about(hushed(LOSS), here), 30)
        first.until("so are its GPUs", lambda: about(hushed(IDLE), here), 30)
        for name in (LOSS, IDLE):
            assert about(servers.alerts(name), here) == []
            assert len(about(servers.alerts(name), there)) == 1, "another box is not silenced"
        assert len(servers.alerts(GONE)) == 1, "what is known of a dead run stays true"
    first.until("the loop goes round", lambda: told.of(STALLED, here)[-1] == "resolved", 60)
    first.until("NaN is heard once more", lambda: about(servers.alerts(LOSS), here), 30)
