"""Kill a real training: event, metric, alert in Alertmanager, silence, and the end of it."""

import os
import signal
import sys
import time

import pytest

from pfid.monitoring.dashboard import expressions
from pfid.monitoring.dashboard_source import rows

pytestmark = [
    pytest.mark.full,
    pytest.mark.torch,
    pytest.mark.needs("prometheus", "prometheus-alertmanager"),
]
NOT_ON_A_QUIET_BOX = {
    "Alerts that fire",
    "Checks that fail",
    "Bytes read and written",
    "Ranks against the median of their job",
    "Living ranks and world size",
    "From a planted fault to its metric",
    "Notices that failed",
    "Tokens a second",
    "FLOP/s achieved",
    "FLOP/s spent on computing again",
    "Share of the stated peak",
    "Kind of GPU work of the runs",
    *(panel.title for title, panels in rows() if title == "GPUs" for panel in panels),
}
"""Panels that may have nothing to show: no scheduler, no GPU, no rights to read io counters, no
fault planted, nobody to notify, a program that reports no tokens."""


def launch(box, training):
    log = str(box.folder / "plain.log")
    command = training("plain_loop", "--seconds", "0.05")
    return box.start(
        "run", "--name", "plain", "--log", log, "--expect-step", "0.05", "--", *command
    )


def test_a_killed_training_reaches_alertmanager_and_leaves_it_when_relaunched(
    fleet, training, capsys
):
    boxes = fleet()
    box, servers = boxes.boxes[0], boxes.monitoring
    instance = f"127.0.0.1:{boxes.ports[0]}"
    launcher = launch(box, training)
    box.until("the watchdog's alert arrives", lambda: servers.alerts("Watchdog"), 60)
    steps = f'pfid_run_steps_total{{instance="{instance}"}} > 20'
    box.until("steps are scraped", lambda: servers.value(steps), 90)
    ratio = "run:pfid_step_duration_seconds:ratio_baseline"
    box.until("the recorded ratio", lambda: servers.value(ratio), 30)

    box.until("every panel has its series", lambda: not empty_panels(servers), 60)
    assert servers.alerts("PfidRunGone") == []

    (run_id,) = box.run_ids()
    pid = int(box.json("show", run_id)["run"]["pid"])
    died_at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    (alert,) = box.until("the alert", lambda: servers.alerts("PfidRunGone"), 30)
    took_s = time.monotonic() - died_at
    with capsys.disabled():
        sys.stdout.write(
            f"\ndeath to alert in Alertmanager: {took_s:.2f} s; scrape, evaluation 1 s\n"
        )
    launcher.wait(30)

    labels = alert["labels"]
    assert labels["run"] == run_id
    assert labels["instance"] == instance
    assert {k: labels[k] for k in ("job", "name", "check", "reason", "severity", "stage")} == {
        "job": "pfid",
        "name": "plain",
        "check": "run_gone",
        "reason": "killed_by_signal",
        "severity": "critical",
        "stage": "watch",
    }
    assert run_id in alert["annotations"]["description"]
    events = box.json("events")["events"]
    assert any(e["check"] == "run_gone" and e["reason"] == "killed_by_signal" for e in events)

    silenced_by_a_stall(box, servers)

    told = servers.receiver
    box.until("somebody is told", lambda: told.of("PfidRunGone"), 30)
    (still,) = servers.alerts("PfidRunGone")
    assert still["labels"] == labels, "the relaunch alone ends it"
    assert set(told.of("PfidRunGone")) == {"firing"}
    launch(box, training)
    box.until("it is resolved", lambda: not alive(servers), 60)
    box.until("that is told", lambda: told.of("PfidRunGone")[-1] == "resolved", 60)
    assert len(box.run_ids()) == 2


def alive(servers):
    return servers.alerts("PfidRunGone") or servers.alerts("PfidRunGone", inhibited=True)


def silenced_by_a_stall(box, servers):
    """A run that stands still does no matrix work either; another one's alert is heard."""
    run = {"job": "pfid", "instance": "other:1", "run": "r"}
    stalled = {**run, "alertname": "PfidRunStalled", "check": "run_stalled"}
    idle = {**run, "alertname": "PfidGpuWorkKind", "check": "gpu_work_kind"}
    for labels in (stalled, idle, {**idle, "run": "s"}):
        servers.raise_alert(labels)
    box.until("silence", lambda: servers.alerts("PfidGpuWorkKind", inhibited=True), 20)
    (heard,) = servers.alerts("PfidGpuWorkKind")
    assert heard["labels"]["run"] == "s"
    for labels in (stalled, idle, {**idle, "run": "s"}):
        servers.resolve(labels)


def empty_panels(servers):
    """Panels that find nothing where there can be something; every query must parse and run."""
    empty = {title for title, expr in expressions() if not servers.query(expr)}
    return empty - NOT_ON_A_QUIET_BOX
