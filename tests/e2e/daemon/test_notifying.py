"""A death is told to a command, with no Prometheus anywhere, and the next one after a restart too.

A notice whose delivery was cut off in the middle comes again under the same event id: told twice
is a nuisance, not told at all a fault.
"""

import contextlib
import json
import signal
import subprocess
import sys
import time

import msgspec

from pfid.bootstrap.place import STATE_FILE
from pfid.wire.notify import NotifyOrder

CONFIG = """
[page]
listen = ["127.0.0.1:0"]
[notify]
command = ["{command}"]
"""


def told(path):
    """Notices that the command was given."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_death_is_told_off_the_loop_and_the_next_one_after_a_restart(idle_box):
    out = idle_box.folder / "told"
    command = idle_box.folder / "tell"
    command.write_text(f"#!/bin/sh\ncat >> {out}; echo >> {out}\n")
    command.chmod(0o755)
    idle_box.config.write_text(CONFIG.format(command=command))
    idle_box.start()
    process = idle_box.child()
    idle_box.register(process.pid, "train-0001")
    cursors = idle_box.state / "notified.json"
    idle_box.until("the notifier follows", cursors.exists)
    process.kill()
    (notice,) = idle_box.until("the notice", lambda: told(out))
    assert (notice["check"], notice["reason"]) == ("run_gone", "killed_by_signal")
    assert (notice["kind"], notice["about"]) == ("run", "train-0001")

    idle_box.kill(signal.SIGTERM)
    idle_box.start()
    second = idle_box.child()
    idle_box.register(second.pid, "train-0002")
    second.kill()
    idle_box.until("the second notice", lambda: told(out)[-1]["about"] == "train-0002")
    time.sleep(0.5)
    by_id = {notice["event_id"]: notice["about"] for notice in told(out)}
    assert list(by_id.values()) == ["train-0001", "train-0002"]


def test_a_death_ends_for_people_once_its_run_is_started_again(idle_box):
    box, out = idle_box, idle_box.folder / "told"
    command = box.folder / "tell"
    command.write_text(f"#!/bin/sh\ncat >> {out}; echo >> {out}\n")
    command.chmod(0o755)
    box.config.write_text(CONFIG.format(command=command))
    box.start()
    first = box.child()
    box.register(first.pid, "train-0001", name="train")
    box.until("the notifier follows", (box.state / "notified.json").exists)
    first.kill()
    box.until("the death is told", lambda: told(out))
    second = box.child()
    box.register(second.pid, "train-0002", name="train")
    box.until("its end is told", lambda: len(told(out)) > 1)
    second.kill()
    box.until("the second death is told", lambda: told(out)[-1]["about"] == "train-0002")

    died, followed, again = told(out)
    assert [notice["reason"] for notice in (died, followed, again)] == [
        *("killed_by_signal", "followed", "killed_by_signal"),
    ]
    ended = {key: followed[key] for key in ("check", "kind", "about", "name", "user")}
    assert ended == {key: died[key] for key in ended}
    assert (followed["before"], followed["outcome"]) == ("fail", "not_applicable")
    assert followed["summary"].endswith("train-0002")
    assert died["event_id"] < followed["event_id"] < again["event_id"]


def is_told(box, run_id):
    """Kill a process that is watched; true once its death is an event."""
    process = box.child()
    box.register(process.pid, run_id)
    process.kill()
    return box.until("the death is an event", lambda: "killed_by_signal" in box.reasons(run_id))


def notifiers(box):
    """What this daemon has started that tells people."""
    command = ("ps", "--ppid", str(box.daemon.pid), "-o", "args=")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "notifier" in line]


@contextlib.contextmanager
def notifier_of_the_tests_own(box, *command):
    """One that tells what the daemon writes, as one of the daemon's would; its cursors."""
    cursors = box.folder / "own.json"
    state_file = box.state / STATE_FILE
    order = NotifyOrder(
        state_file=str(state_file), cursors=str(cursors), host="h", command=list(command)
    )
    own = [sys.executable, "-P", "-m", "pfid.workers.notifier"]
    with subprocess.Popen(own, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.flush()
        yield cursors
        process.stdin.close()


def test_nobody_is_told_by_default(idle_box):
    """One that is started later than any of the daemon's has told a death, and there is no other.

    It takes the same way, so that one of the daemon's would have its cursors by then.
    """
    box, out = idle_box, idle_box.folder / "told"
    command = box.folder / "tell"
    command.write_text(f"#!/bin/sh\ncat >> {out}; echo >> {out}\n")
    command.chmod(0o755)
    box.start()
    box.until("it is ready", lambda: '"ready"' in box.log())
    assert is_told(box, "train-0001")
    with notifier_of_the_tests_own(box, str(command)) as cursors:
        box.until("it follows", cursors.exists)
        assert is_told(box, "train-0002")
        box.until("the notice", lambda: told(out))
        assert [notice["about"] for notice in told(out)] == ["train-0002"]
        assert notifiers(box) == []
    assert list(box.state.glob("notified*")) == []


EATER = """
from pfid.spec import hookimpl

@hookimpl
def pfid_notify(notice):
    __builtins__["held"] = bytearray(b"x") * (300 << 20)
"""


def test_a_plugin_that_outgrows_its_limit_costs_no_notice_of_the_command(idle_box):
    out, folder = idle_box.folder / "told", idle_box.folder / "plugins"
    command = idle_box.folder / "tell"
    command.write_text(f"#!/bin/sh\ncat >> {out}; echo >> {out}\n")
    command.chmod(0o755)
    folder.mkdir(mode=0o755)
    (folder / "eats.py").write_text(EATER)
    (folder / "eats.py").chmod(0o644)
    more = f"""plugins = true
[plugins]
directories = ["{folder}"]
worker_memory_max_bytes = {150 << 20}
"""
    idle_box.config.write_text(CONFIG.format(command=command) + more)
    idle_box.start()
    cursors = [idle_box.state / f"notified{kind}.json" for kind in ("", "-plugins")]
    idle_box.until("both notifiers follow", lambda: all(c.exists() for c in cursors))
    process = idle_box.child()
    idle_box.register(process.pid, "train-0001")
    process.kill()
    idle_box.until("the plugin is ended", lambda: "holds more than" in idle_box.log())
    (notice,) = idle_box.until("the notice", lambda: told(out))
    assert notice["about"] == "train-0001"
