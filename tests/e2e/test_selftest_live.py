"""Real faults through a real daemon, from the shell: verdict, event and metric, and good again."""

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.live import canary as canary_module
from pfid.bootstrap.live.drills import DRILLS
from pfid.bootstrap.live.project_drills import PROJECT_DRILLS, UNDRILLED
from pfid.bootstrap.live.scratch import scratch_daemon
from pfid.bootstrap.live.session import page_url_of, run_drills
from pfid.domain.transition import Origin
from pfid.wire.control import (
    Done,
    EventsReply,
    GetEvents,
    GetSnapshot,
    RunSelftest,
    SnapshotReply,
)
from pfid.wire.snapshots import events_of, snapshot_of


def pfid(*arguments, env=None, timeout_s=1500):
    return subprocess.run(
        [sys.executable, "-P", "-m", "pfid", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, **(env or {})},
        check=False,
    )


def drills_of(*names):
    return [d for d in DRILLS if d.name in names]


def page(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def test_a_killed_canary_is_seen_through_to_the_metric_and_stays_synthetic():
    with scratch_daemon() as socket:
        url = page_url_of(socket)
        (result,) = run_drills(socket, url, scratch=True, drills=drills_of("killed"))
        assert (result.ok, result.why) == (True, "")
        with ControlClient(socket) as client:
            real = events_of(client.ask(GetEvents(), EventsReply))
            drilled = events_of(client.ask(GetEvents(synthetic=True), EventsReply))
        assert not any(e.transition.entity.id.startswith("selftest-") for e in real)
        ours = [e.transition for e in drilled if e.transition.entity.id.startswith("selftest-")]
        assert {t.verdict.reason for t in ours if t.check == "run_gone"} >= {
            "running",
            "killed_by_signal",
        }
        assert {t.origin for t in ours} == {Origin.SELFTEST}
        assert "selftest-" not in page(url)
        assert 'reason="killed_by_signal",run="selftest-' in page(
            f"{url.rpartition('/')[0]}/-/selftest"
        )


def test_a_fault_that_is_planted_and_not_seen_fails_the_drill(monkeypatch):
    """The canary's death is announced and never happens to the process the daemon watches."""
    monkeypatch.setattr(canary_module.Canary, "kill", lambda _: None)
    (drill,) = drills_of("killed")

    def impatient_of_the_fault(ground):
        waits = ground.bad

        def bad(*what):
            ground._drill = replace(drill, timeout_s=3)
            waits(*what)

        ground.bad = bad
        drill.walk(ground)

    quick = replace(drill, walk=impatient_of_the_fault)
    with scratch_daemon() as socket:
        (result,) = run_drills(socket, page_url_of(socket), scratch=True, drills=[quick])
    assert result.ok is False
    assert "no fail killed_by_signal within 3 s: the verdict is pass running" in result.why


@pytest.mark.full
@pytest.mark.timeout(1600)
def test_every_adapter_is_driven_good_bad_good_from_the_shell(tmp_path, nvml):
    result = pfid(
        "selftest",
        "--live",
        "--json",
        "--junit",
        str(tmp_path / "junit.xml"),
        env={
            "PFID_SOCKET": str(tmp_path / "nobody.sock"),
            "PFID_CONFIG": "",
            "PFID_NVML_SHIM": str(nvml.folder),
        },
    )
    data = json.loads(result.stdout)
    assert {d["drill"]: d["why"] for d in data["drills"] if d["ok"] is False} == {}
    wants_root = {"run_gone": "killed_for_memory"} if os.geteuid() else {}
    untried = {d["check"] for d in data["drills"] if d["ok"] is None}
    assert untried == UNDRILLED.keys() | wants_root.keys()
    assert {d["drill"] for d in data["drills"] if d["ok"]} == {
        d.name for d in (*DRILLS, *PROJECT_DRILLS)
    } - set(wants_root.values())
    watching = [g for g in data["gates"] if g["stage"] == "watch"]
    assert {g["check"] for g in watching if g["proven_to"]["live"] is not True} == set()
    assert result.returncode == 0, result.stderr
    assert 'name="live"' in (tmp_path / "junit.xml").read_text()


@pytest.mark.full
def test_where_no_fault_can_be_planted_on_gpus_their_live_leg_is_null(tmp_path, monkeypatch):
    """As on a box with real ones: not proven, not failed, and said."""
    monkeypatch.delenv("PFID_NVML_SHIM", raising=False)
    nobody = {"PFID_SOCKET": str(tmp_path / "nobody.sock"), "PFID_CONFIG": ""}
    result = pfid("selftest", "--live", "--check", "gpu_work_kind", "--json", env=nobody)
    data = json.loads(result.stdout)
    ((gate,), drills) = data["gates"], data["drills"]
    assert (gate["check"], gate["proven_to"]["live"]) == ("gpu_work_kind", None)
    assert (gate["proven_to"]["controls"], gate["proven_to"]["sabotage"]) == (True, True)
    assert {(drill["check"], drill["ok"]) for drill in drills} == {("gpu_work_kind", None)}
    assert all("PFID_NVML_SHIM" in drill["why"] for drill in drills)
    assert (result.returncode, "could be tried here" in result.stderr) == (3, True)


@pytest.mark.full
@pytest.mark.timeout(1600)
def test_a_daemon_that_is_in_use_is_drilled_under_its_own_limits(tmp_path):
    socket = tmp_path / "box.sock"
    config = tmp_path / "pfid.toml"
    config.write_text(
        f'[daemon]\nstate_directory = "{tmp_path / "state"}"\nsocket = "{socket}"\n'
        '[page]\nlisten = ["127.0.0.1:0"]\n'
    )
    with Path(tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-P", "-m", "pfid", "daemon", "--config", str(config)],
            stdout=log,
            stderr=log,
        )
    try:
        _until_it_listens(socket)
        arguments = ("selftest", "--live", "--check", "log_is_one_run", "--json")
        result = pfid(*arguments, env={"PFID_SOCKET": str(socket)})
        data = json.loads(result.stdout)
        assert [d["ok"] for d in data["drills"]] == [True, True]
        with ControlClient(socket) as client:
            seen = events_of(client.ask(GetEvents(synthetic=True), EventsReply))
            gates = snapshot_of(client.ask(GetSnapshot(), SnapshotReply)).gates
            client.ask(RunSelftest(), Done, timeout_s=30)
            again = snapshot_of(client.ask(GetSnapshot(), SnapshotReply)).gates
        for known in (gates, again):
            assert [g.check for g in known if g.proven_to.live] == ["log_is_one_run"]
        assert any(e.transition.verdict.reason == "older_bytes" for e in seen)
    finally:
        daemon.terminate()
        daemon.wait(60)


def _until_it_listens(socket):
    import time

    from pfid.bootstrap.live.session import answers

    until_s = time.monotonic() + 120
    while not answers(socket):
        assert time.monotonic() < until_s, "the daemon did not come up"
        time.sleep(0.05)
