"""A real Prometheus takes the page of 500 real runs and 8 GPUs by the printed scrape job."""

import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from nvml_shim import H200

from pfid.adapters.control_client import ControlClient
from pfid.wire.control import Register, Registered, Role

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "gcc"),
]
RUNS, GPUS = 500, 8
CONFIG = f"""
[page]
listen = ["{{address}}"]
exported_runs_max = {RUNS}
[quotas]
runs_per_user = {RUNS}
"""
WITHIN_S = 90.0


@pytest.fixture
def sleepers():
    """As many processes as there are runs; they do nothing."""
    found = [subprocess.Popen(("sleep", "1000")) for _ in range(RUNS)]
    yield found
    for process in found:
        process.kill()
    for process in found:
        process.wait()


def register(client, pid, run_id):
    fd = os.pidfd_open(pid)
    try:
        reply = client.call(
            Register(
                name=run_id,
                run_id=run_id,
                pid=pid,
                start_ticks=None,
                started_at_s=time.time(),
                source="captured",
                roles=[Role.PIDFD],
                logs=[],
            ),
            (fd,),
        )
    finally:
        os.close(fd)
    assert isinstance(reply, Registered), reply


def rules_of(prometheus):
    """Every rule with its health."""
    return [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]


def page(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def test_a_page_of_as_many_runs_as_it_may_have_is_taken_and_by_the_default_refused(
    nvml, place, sleepers, port, prometheus
):
    nvml.play(*[H200] * GPUS)
    address = f"127.0.0.1:{port}"
    place.configure(CONFIG.format(address=address))
    place.environ["STATE_DIRECTORY"] = str(place.folder / "daemon")
    place.start("daemon", "--config", str(place.folder / "pfid.toml"))
    place.until("the daemon answers", lambda: page(f"http://{address}/-/ready"), WITHIN_S)
    with ControlClient(Path(place.environ["PFID_SOCKET"]), timeout_s=60.0) as client:
        for number, process in enumerate(sleepers):
            register(client, process.pid, f"train-{number:04d}")
    every = f'pfid_runs{{state="running"}} {RUNS}'
    place.until("all are watched", lambda: every in page(f"http://{address}/metrics"), WITHIN_S)

    printed = lambda *more: place.pfid("monitoring", *more).stdout  # noqa: E731
    usual = printed("scrape-config", address, "--job", "usual", "--runs", "64")
    jobs = printed("scrape-config", address) + usual.removeprefix("scrape_configs:\n")
    server = prometheus(jobs, printed("rules"))
    found = place.until("both jobs are tried", server.scraped, WITHIN_S)
    assert found["pfid"] == ("up", "")
    health, why = found["usual"]
    assert health == "down"
    assert "sample limit exceeded" in why

    for family, count in (("pfid_run_info", RUNS), ("pfid_gpu_up", GPUS)):
        there = f'count({family}{{job="pfid"}})'
        place.until(there, lambda q=there, n=count: server.value(q) == n, WITHIN_S)
    place.until(
        "every rule is evaluated",
        lambda: "unknown" not in {rule["health"] for rule in rules_of(server)},
        WITHIN_S,
    )
    assert {r["name"]: r.get("lastError") for r in rules_of(server) if r["health"] != "ok"} == {}
