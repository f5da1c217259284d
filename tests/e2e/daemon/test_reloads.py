"""A reload proves beside the loop: deaths, clients and signals are served meanwhile."""

import signal
import threading

import pytest

from pfid.wire.control import Done, GetSnapshot, Refused, Registered, Reload

PAGE = '[page]\nlisten = ["127.0.0.1:0"]\n'
SLOW_PLUGIN = """
import os, time
began = os.path.join(os.path.dirname(__file__), "began")
go = os.path.join(os.path.dirname(__file__), "go")
open(began, "w").close()
ends = time.monotonic() + 4.0
while not os.path.exists(go) and time.monotonic() < ends:
    time.sleep(0.01)
raise RuntimeError("no check of mine")
"""


class Asking(threading.Thread):
    """Somebody who waits for a reload."""

    def __init__(self, box):
        super().__init__()
        self.box, self.reply = box, None
        self.start()

    def run(self):
        self.reply = self.box.ask(Reload(), timeout_s=60)


@pytest.fixture
def slow(box, tmp_path):
    """A configuration with a plugin that takes until it is let go."""
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    (folder / "slow.py").write_text(SLOW_PLUGIN)
    (folder / "slow.py").chmod(0o644)
    box.config.write_text(PAGE + f'[plugins]\ndirectories = ["{folder}"]\n')
    return box, folder


def gates(box):
    return {g["check"]: g["state"] for g in box.ask(GetSnapshot()).snapshot["gates"]}


def test_deaths_and_clients_are_served_while_a_reload_proves(slow):
    box, folder = slow
    child = box.child()
    assert isinstance(box.register(child.pid, "meanwhile"), Registered)
    asking = Asking(box)
    box.until("the plugin is being loaded", (folder / "began").exists)
    child.kill()
    child.wait(20)
    box.until("its death is told", lambda: "killed_by_signal" in box.reasons("meanwhile"))
    assert "slow" not in gates(box), "the old checks are in force"
    assert asking.is_alive(), "all this came before the reload was over"
    (folder / "go").touch()
    asking.join(60)
    assert asking.reply == Done()
    assert gates(box)["slow"] == "unproven"


@pytest.mark.full
def test_two_reloads_and_a_bad_file_between_are_each_answered(slow):
    box, folder = slow
    first = Asking(box)
    box.until("the plugin is being loaded", (folder / "began").exists)
    box.config.write_text("[page]\nlissten = 1\n")
    bad = Asking(box)
    box.until("it waits", lambda: bad.is_alive() and box.ask(GetSnapshot()))
    (folder / "go").touch()
    first.join(60)
    bad.join(60)
    assert first.reply == Done()
    assert isinstance(bad.reply, Refused)
    assert "page.lissten" in bad.reply.message
    assert gates(box)["slow"] == "unproven", "the first one stays in force"
    assert box.ask(GetSnapshot()).snapshot["health"]["config_ok"] is False
    box.config.write_text(PAGE)
    assert box.ask(Reload(), timeout_s=60) == Done()
    assert "slow" not in gates(box)
    assert box.ask(GetSnapshot()).snapshot["health"]["config_ok"] is True


@pytest.mark.full
def test_a_shutdown_in_the_middle_of_a_reload_is_clean(slow):
    box, folder = slow
    box.daemon.send_signal(signal.SIGHUP)
    box.until("the plugin is being loaded", (folder / "began").exists)
    box.daemon.send_signal(signal.SIGTERM)
    (folder / "go").touch()
    assert box.daemon.wait(30) == 0
    assert "Traceback" not in box.log()
    assert not box.socket.exists()
