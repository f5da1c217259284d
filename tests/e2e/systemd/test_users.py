"""Users of a box with a system-wide pfid: closed homes, no rights over each other's runs."""

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

PYTHON = "/opt/pfid/bin/python"
PFID = (PYTHON, "-P", "-m", "pfid")
SECRET = "geheimwort"
OWN_LOG = """\
import json, pathlib, time
for step in range(1_000_000):
    with open("own.log", "a") as log:
        print(json.dumps({"step": step, "seconds": 0.05}), file=log)
    time.sleep(0.05)
    if pathlib.Path("rotated.end").exists():
        break
"""
TELLING = f"""\
import pathlib, time
where = "W1129 19:52:11.828000 18560 /{SECRET}/torch/_dynamo/convert_frame.py:2008] [0/8]"
print(where, "torch._dynamo hit config.recompile_limit (8)", flush=True)
for i in range(1_000_000):
    print(f"iter {{i}}: loss nan, time 50.00ms {SECRET}", flush=True)
    time.sleep(0.05)
    if pathlib.Path("private.end").exists():
        break
"""
TOUCH = """\
import sys
from pathlib import Path
from pfid.adapters.control_client import ControlClient
from pfid.wire.control import Ended, StopIntent
for request in (
    Ended(run_id=sys.argv[1], exit_code=0, signal=None, at_s=0.0),
    StopIntent(run_id=sys.argv[1], why="mine now"),
):
    print(ControlClient(Path("/run/pfid/control.sock"), 10.0).call(request))
"""


PAGE = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/metrics').read())"


def page(box):
    return box.user("bob", PYTHON, "-c", PAGE).stdout


def launch(box, user, name, *command, log=()):
    box.unit(user, f"launch-{name}", *PFID, "run", "--name", name, *log, "--", *command)
    return box.until(f"{name} under watch", lambda: box.run_named(user, name), 30)


def steps(box, name):
    return box.run_named("alice", name).get("steps") or 0


def end(box, name):
    box.user("alice", "touch", f"{name}.end")
    box.until("its end", lambda: box.run_named("alice", name)["end"], 30)


def verdict(box, user, run_id, check):
    found = box.json(user, "show", run_id)["verdicts"]
    return next((v["reason"] for v in found if v["check"] == check), None)


def test_a_users_run_registers_is_watched_and_its_end_is_told(box):
    run = launch(box, "alice", "plain", PYTHON, "train.py", "plain", "0")
    assert (run["user"], run["source"], run["end"]) == ("alice", "wrapper", None)
    box.until("steps", lambda: steps(box, "plain") > 20, 30)
    assert box.run_named("alice", "plain")["state"] == "running"
    running = lambda: verdict(box, "alice", run["run_id"], "run_gone") == "running"  # noqa: E731
    box.until("a verdict", running, 30)
    box.user("alice", "touch", "plain.end")
    told = box.until("its end", lambda: box.run_named("alice", "plain")["end"], 30)
    assert told["exit_code"] == 0
    assert box.show("launch-plain.service", "ExecMainStatus") == "0"


def test_a_log_in_a_closed_home_is_followed_by_descriptor_through_rotation(box):
    box.write("/home/alice/own.py", OWN_LOG)
    box.root("chown", "alice", "/home/alice/own.py")
    assert box.root("stat", "-c", "%a %U", "/home/alice").stdout.strip() == "700 alice"
    daemon = str(box.main_pid())
    seen = box.root("nsenter", f"--target={daemon}", "--mount", "ls", "-A", "/home")
    assert seen.stdout == "", "the daemon sees homes"
    launch(
        box, "alice", "rotated", PYTHON, "own.py", log=("--log", "out.log", "--log", "own.log")
    )  # fmt: skip
    before = box.until("steps", lambda: (n := steps(box, "rotated")) > 20 and n, 30)
    box.user("alice", "mv", "own.log", "own.log.1")
    first_new = box.until("the new file", lambda: _first_step(box), 30)
    box.until("steps of the new file", lambda: steps(box, "rotated") > first_new + 20, 40)
    assert first_new > before - 20
    shown = box.json("alice", "show", "rotated")
    assert not [v for v in shown["verdicts"] if v["outcome"] == "fail"]
    end(box, "rotated")


def _first_step(box):
    text = box.user("alice", "head", "-n", "1", "own.log", check=False).stdout
    return int(text.partition('"step": ')[2].partition(",")[0]) if text else 0


def test_another_user_sees_figures_and_can_neither_read_nor_touch(box):
    box.write(f"/home/alice/{SECRET}.py", TELLING)
    box.root("chown", "alice", f"/home/alice/{SECRET}.py")
    run = launch(box, "alice", "private", PYTHON, f"{SECRET}.py", SECRET)
    run_id = run["run_id"]
    bad = lambda: verdict(box, "bob", run_id, "loss_not_finite") not in (None, "finite")  # noqa: E731
    box.until("the verdict, for bob too", bad, 40)

    box.until("the page", lambda: run_id in page(box), 30)
    own = lambda: SECRET in box.pfid("alice", "show", run_id, check=False).stdout  # noqa: E731
    box.until("the evidence, for its owner", own, 30)
    for said in (
        box.pfid("bob", "show", run_id, "--json", check=False).stdout,
        box.pfid("bob", "show", run_id, check=False).stdout,
        box.pfid("bob", "status", "--json", check=False).stdout,
        box.pfid("bob", "events", "--json", check=False).stdout,
        page(box),
    ):
        assert run_id in said
        assert SECRET not in said
    for path in ("/var/lib/pfid", "/home/alice/private.log", f"/proc/{box.main_pid()}/fd"):
        assert box.user("bob", "ls", path, check=False).returncode != 0, path

    stop = box.pfid("bob", "stop", run_id, "--why", "mine now", check=False)
    assert stop.returncode != 0
    taken = box.pfid("bob", "attach", str(run["pid"]), check=False)
    assert taken.returncode != 0
    touched = box.user("bob", PYTHON, "-c", TOUCH, run_id)
    assert touched.stdout.count("not_yours") == 2, touched.stdout
    assert box.run_named("alice", "private")["state"] == "running"
    assert box.json("alice", "show", run_id)["stop"] is None
    end(box, "private")
