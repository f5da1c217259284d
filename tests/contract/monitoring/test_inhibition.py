"""What the printed configuration silences, and what it must not: alerts posted to Alertmanager."""

import contextlib
import json
import socket
import subprocess
import time
import urllib.request

import pytest
from click.testing import CliRunner

from pfid.bootstrap.monitoring import monitored
from pfid.cli.monitoring import command
from pfid.config.model import Config
from pfid.monitoring.rule import alerts
from pfid.monitoring.rule_file import EVERY, rule_groups

pytestmark = [pytest.mark.full, pytest.mark.needs("prometheus-alertmanager")]
NOWHERE = "http://127.0.0.1:9/"


def alert(name, **labels):
    return {"alertname": name, **labels}


def unproven(leg):
    return alert("PfidGateUnproven", check="run_stalled", leg=leg)


GONE = alert("PfidRunGone", check="run_gone", run="r")
STALLED = alert("PfidRunStalled", check="run_stalled", run="r")
BLIND = alert("PfidRunStalledUnknown", check="run_stalled", run="r")
NO_WORK = alert("PfidGpuWorkKind", check="gpu_work_kind", run="r")
XID = alert("PfidGpuXid", check="gpu_xid", run="r", reason="application_error")
NAN = alert("PfidLossNotFinite", check="loss_not_finite", run="r")
SLOW = alert("PfidStepTimeRegime", check="step_time_regime", run="r")
IDLE = alert("PfidGpuHeldIdle", uuid="g")
RANK = alert("PfidRankMissingUnknown", job_id="7")
DOWN = alert("PfidDown")
OLD_NEWS = alert("PfidLoopStalled")

HEARD = {
    "unproven_to_its_alerts": (unproven("alerts"), BLIND),
    "unproven_live": (unproven("live"), BLIND),
    "unproven_of_another_check": (unproven("controls"), {**BLIND, "check": "run_gone"}),
    "unproven_and_failing": (unproven("controls"), STALLED),
    "gone_and_its_gpu_had_an_error": (GONE, XID),
    "gone_and_its_loss_was_nan": (GONE, NAN),
    "gone_and_another_run_stalls": (GONE, {**STALLED, "run": "s"}),
    "stalled_and_gone": (STALLED, GONE),
    "stalled_and_its_gpu_had_an_error": (STALLED, XID),
    "stalled_and_another_does_no_work": (STALLED, {**NO_WORK, "run": "s"}),
    "down_and_dead": (DOWN, GONE),
    "old_news_and_a_rank_missing": (OLD_NEWS, RANK),
}
HUSHED = {
    "unproven_by_its_controls": (unproven("controls"), BLIND),
    "unproven_by_sabotage": (unproven("sabotage"), BLIND),
    "gone_and_stalled": (GONE, STALLED),
    "gone_and_nobody_can_tell_that_it_stalls": (GONE, BLIND),
    "gone_and_slow": (GONE, SLOW),
    "gone_and_no_work": (GONE, NO_WORK),
    "stalled_and_no_work": (STALLED, NO_WORK),
    "down_and_stalled": (DOWN, STALLED),
    "down_and_idle": (DOWN, IDLE),
    "down_and_a_rank_out_of_sight": (DOWN, RANK),
    "old_news_and_stalled": (OLD_NEWS, STALLED),
    "old_news_and_idle": (OLD_NEWS, IDLE),
}


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory):
    """An address of one that was started on what is printed."""
    folder = tmp_path_factory.mktemp("alertmanager")
    urls = ("--webhook", NOWHERE, "--dead-man", NOWHERE)
    printed = CliRunner().invoke(command, ("alertmanager", *urls)).stdout
    (folder / "alertmanager.yml").write_text(printed)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    command_line = [
        "prometheus-alertmanager",
        "--config.file=alertmanager.yml",
        "--storage.path=data",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command_line, cwd=folder, stdout=log, stderr=log)
    try:
        ends_at = time.monotonic() + 60
        while not _answers(f"http://{address}/-/ready"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < ends_at, (folder / "log").read_text()
            time.sleep(0.05)
        yield f"http://{address}/api/v2/alerts"
    finally:
        process.kill()
        process.wait()


def _answers(url):
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
        return True
    return False


@pytest.fixture(scope="module")
def silent(alertmanager):
    """Which cases' second alert is inhibited, each on a box of a Prometheus job of its own."""
    cases = HEARD | HUSHED  # in this order: once the last is hushed, all sources are known
    posted = [
        {"labels": {**labels, "job": case, "instance": "box", "severity": "x"}}
        for case, pair in cases.items()
        for labels in pair
    ]
    body, head = json.dumps(posted).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(alertmanager, data=body, headers=head)
    urllib.request.urlopen(request, timeout=60).close()
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        with urllib.request.urlopen(alertmanager, timeout=60) as answer:
            got = json.load(answer)
        assert len(got) == len(posted)
        targets = {case: pair[1] for case, pair in cases.items()}
        found = {
            a["labels"]["job"]
            for a in got
            if a["status"]["inhibitedBy"]
            and a["labels"].items() >= targets[a["labels"]["job"]].items()
        }
        if list(HUSHED)[-1] in found:
            return found
        time.sleep(0.05)
    pytest.fail(f"the last one is never hushed: {sorted(found)}")


@pytest.mark.parametrize("case", HEARD)
def test_what_is_no_duplicate_is_heard(case, silent):
    assert case not in silent


@pytest.mark.parametrize("case", HUSHED)
def test_what_another_alert_says_already_is_hushed(case, silent):
    assert case in silent


def test_every_alert_that_is_posted_here_is_one_that_pfid_has():
    has = {a.name for a in alerts(rule_groups(monitored(Config()), choice=EVERY))}
    posted = {labels["alertname"] for pair in (HEARD | HUSHED).values() for labels in pair}
    assert posted <= has
