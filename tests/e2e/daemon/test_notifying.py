"""A death is told to a command, with no Prometheus anywhere, and the next one after a restart too.

A notice whose delivery was cut off in the middle comes again under the same event id: told twice
is a nuisance, not told at all a fault.
"""

import json
import signal
import time

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


def test_nobody_is_told_by_default(box):
    assert not (box.state / "notified.json").exists()


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
