"""Whose run it is decides what one may do; the kernel says who asks."""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfid.wire.control import GetSnapshot, Refused, Registered

pytestmark = [pytest.mark.root, pytest.mark.full]
USER, OTHER = 61234, 61235
HIT = (
    "W0101 00:00:00.000000 12 torch/_dynamo/convert_frame.py:906] [0/8] "
    "torch._dynamo hit config.recompile_limit (8)\n"
)
PRIVATE = "convert_frame.py"
AS_USER = """
import json, os, subprocess, sys, time
from pfid.adapters.control_client import ControlClient
from pfid.wire.control import *
def ask(request, fds=()):
    with ControlClient(sys.argv[1]) as client:
        reply = client.call(request, fds)
    return {"kind": type(reply).__name__, **{n: getattr(reply, n) for n in reply.__struct_fields__}}
def register(pid, run_id, logs=()):
    fds = [os.pidfd_open(pid), *(os.open(log, os.O_RDONLY) for log in logs)]
    roles = [Role.PIDFD] + [Role.LOG] * len(logs)
    return ask(Register(name=run_id, run_id=run_id, pid=pid, start_ticks=None,
        started_at_s=time.time(), source="captured", roles=roles), fds)
said = []
exec(sys.stdin.read())
print(json.dumps(said))
"""


def _as(uid: int, box, code: str) -> list[dict]:
    """Run code as an unprivileged user and return what it said."""
    done = subprocess.run(
        [
            *("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
            *(sys.executable, "-P", "-c", AS_USER, str(box.socket)),
        ],
        input=code,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": f"/nonexistent-{uid}"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder that other users can enter; pytest closes its own against them at every start."""
    with tempfile.TemporaryDirectory(prefix="pfid-rights-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home nobody but its owner can enter, with a log in it."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    log = place / "train.log"
    log.write_text('{"step": 1, "seconds": 1.0, "loss": 1.0}\n{"step": 2, "seconds": 1.0}\n')
    for path in (place, log):
        os.chown(path, USER, USER)
    return place


def test_a_log_in_a_closed_home_is_read_through_its_descriptor(box, home):
    code = f"""
child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
said.append(register(child.pid, "of-user", ["{home}/train.log"]))
said.append(child.pid)
"""
    reply, pid = _as(USER, box, code)
    assert reply["kind"] == "Registered", reply
    box.until("its steps are read", lambda: box.run("of-user")["run"]["steps_total"] == 2)
    assert box.run("of-user")["run"]["run"]["uid"] == USER
    os.kill(pid, 9)


def test_nobody_registers_or_touches_what_is_another_users(box, home):
    child = box.child("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    mine = box.child("setpriv", f"--reuid={USER}", "--clear-groups", "sleep", "600")
    box.until("it is the user's", lambda: _uid(mine.pid) == USER)
    assert isinstance(box.register(mine.pid, "theirs"), Registered)
    code = f"""
said.append(register({mine.pid}, "stolen"))
said.append(ask(StopIntent(run_id="theirs", why="spite")))
said.append(ask(Ended(run_id="theirs", exit_code=0, signal=None, at_s=0.0)))
said.append(ask(HandOver(run_id="theirs", roles=[])))
said.append(register(os.getpid(), "theirs"))
said.append(ask(Reload()))
"""
    refused = _as(OTHER, box, code)
    assert [(r["kind"], r.get("code")) for r in refused] == [("Refused", "not_yours")] * 6
    assert box.end("theirs") is None
    assert box.run("theirs")["stop"] is None
    assert child.wait(20) is not None


def test_stopping_anothers_run_says_whose_it_is_and_what_to_do(box, home):
    mine = box.child("setpriv", f"--reuid={USER}", "--clear-groups", "sleep", "600")
    box.until("it is the user's", lambda: _uid(mine.pid) == USER)
    assert isinstance(box.register(mine.pid, "theirs"), Registered)
    done = subprocess.run(
        [
            *("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"),
            *(sys.executable, "-P", "-m", "pfid", "stop", "theirs", "--why", "spite"),
        ],
        env=box.environ | {"HOME": f"/nonexistent-{OTHER}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"theirs is a run of {USER}" in done.stderr
    assert "or as root: pfid stop theirs" in done.stderr
    assert "control.sock" not in done.stderr
    assert "nonexistent" not in done.stderr
    assert mine.poll() is None
    assert box.run("theirs")["stop"] is None


def test_others_see_verdicts_and_figures_but_no_evidence(box, home):
    mine = box.child("setpriv", f"--reuid={USER}", "--clear-groups", "sleep", "600")
    box.until("it is the user's", lambda: _uid(mine.pid) == USER)
    url = box.register(mine.pid, "seen", [home / "train.log"]).metrics_url
    with (home / "train.log").open("a") as log:
        log.write(HIT)
    box.until("the hit is seen", lambda: "recompile_limit" in box.run("seen")["evidence"])
    (theirs,) = _as(OTHER, box, 'said.append(ask(GetRun(run_id="seen")))')
    assert theirs["evidence"] is None
    assert {v["check"] for v in theirs["verdicts"]} >= {"run_gone", "recompile_limit"}
    assert PRIVATE not in json.dumps(theirs)
    (events,) = _as(OTHER, box, 'said.append(ask(GetEvents(run_id="seen")))')
    assert events["events"]
    assert PRIVATE not in json.dumps(events)
    (owners,) = _as(USER, box, 'said.append(ask(GetRun(run_id="seen")))')
    assert PRIVATE in json.dumps(owners["evidence"])
    for address in (url, url.removesuffix("metrics")):
        page = box.until("it is on the page", lambda a=address: _with_a_hit(a), 60)
        assert PRIVATE not in page
        assert str(home) not in page


def _with_a_hit(address: str) -> str:
    """The page once it speaks of the hit."""
    with urllib.request.urlopen(address, timeout=10) as answer:
        page: str = answer.read().decode()
    return page if re.search(r"recompile_limit\W.*hit_", page) else ""


def test_a_user_may_watch_only_so_many_runs(idle_box):
    box = idle_box
    box.config.write_text('[page]\nlisten = ["127.0.0.1:0"]\n[quotas]\nruns_per_user = 3\n')
    box.start()
    code = """
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
children = [subprocess.Popen(["sleep", "60"], **quiet) for _ in range(4)]
said += [register(c.pid, f"quota-{i}") for i, c in enumerate(children)]
for c in children:
    c.kill()
"""
    replies = _as(USER, box, code)
    assert [r["kind"] for r in replies] == ["Registered"] * 3 + ["Refused"]
    assert replies[-1]["code"] == "quota"


def test_a_refused_descriptor_is_named_and_costs_nothing(box, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = box.child()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    from pfid.wire.control import HandedLog, Register, Role

    request = Register(
        name="bad",
        run_id="bad",
        pid=child.pid,
        start_ticks=None,
        started_at_s=0.0,
        roles=[Role.PIDFD, Role.LOG],
        logs=[HandedLog()],
    )
    reply = box.ask(request, [os.pidfd_open(child.pid), reader])
    os.close(reader)
    assert isinstance(reply, Refused)
    assert reply.code == "bad_descriptor"
    no_pidfd = box.ask(
        Register(
            name="bad",
            run_id="bad",
            pid=child.pid,
            start_ticks=None,
            started_at_s=0.0,
            roles=[Role.PIDFD],
        ),
        [os.open("/dev/null", os.O_RDONLY)],
    )
    assert isinstance(no_pidfd, Refused)
    assert no_pidfd.code == "bad_descriptor"
    assert box.ask(GetSnapshot()).snapshot["runs"] == []


def _uid(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return -1
