"""The unit under a real systemd: start, reload, watchdog, stop; and nothing the sandbox refuses."""

import contextlib
import json
import os

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
CONFIG = "/etc/pfid/pfid.toml"
SLOW_CHECK = """\
'''Take long to prove. Blind spot: everything.'''
import time
time.sleep(6)
raise RuntimeError("too late to be of use")
"""
PLUGINS = "/etc/pfid/plugins"
PYTHON = "/opt/pfid/bin/python"
PAGE = (
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/metrics').read().decode())"
)
WAIT_ALL = 0x40000000
TIMEOUT = "Watchdog timeout"


def said_since_start(box):
    """The journal of the unit's present life, systemd's own lines about it among them."""
    box.root("journalctl", "--sync")
    life = box.show(UNIT, "InvocationID")
    which = (f"_SYSTEMD_INVOCATION_ID={life}", "+", f"INVOCATION_ID={life}")
    return box.root("journalctl", "--no-pager", "--output=cat", *which).stdout.splitlines()


def line_of(lines, *words):
    """Where the one line with all these words stands."""
    (place,) = (i for i, line in enumerate(lines) if all(word in line for word in words))
    return place


def configure(box, text):
    box.write(CONFIG, text)
    box.root("chmod", "644", CONFIG)


def gates(box):
    return box.json("alice", "status")["gates"]


def test_systemd_hears_ready_only_after_the_self_test(box):
    configure(box, f'plugins.directories = ["{PLUGINS}"]\n')
    box.write(f"{PLUGINS}/slow.py", SLOW_CHECK)
    box.root("chmod", "644", f"{PLUGINS}/slow.py")
    try:
        box.root("systemctl", "restart", "--no-block", UNIT)
        box.until("a self-test under way", lambda: box.show(UNIT, "SubState") == "start", 20)
        box.until("READY", lambda: box.show(UNIT, "ActiveState") == "active", 60)
        said = said_since_start(box)
        judged = line_of(said, '"gate unproven"', '"slow"', "hung while it was loaded")
        assert line_of(said, "Starting", UNIT) < judged < line_of(said, "Started", UNIT)
        assert gates(box)["proven"] > 0
        assert gates(box)["unproven"] >= 1
    finally:
        box.root("rm", "-f", CONFIG, f"{PLUGINS}/slow.py")
        box.root("systemctl", "restart", UNIT)
    told = gates(box)
    assert told["proven"] > 0


def test_it_runs_as_its_own_user_without_any_capability(box):
    status = box.read(f"/proc/{box.main_pid()}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    (uid,) = set(fields["Uid"].split())
    assert uid == box.root("id", "-u", "pfid").stdout.strip() != "0"
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[kind], 16) == 0, kind
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_nothing_listens_beyond_loopback_by_default(box):
    """In a network namespace of its own, so every listening socket there is counts."""
    listening = [
        fields[1]
        for table in ("tcp", "tcp6")
        for line in box.read(f"/proc/net/{table}").splitlines()[1:]
        if (fields := line.split())[3] == "0A"
    ]
    assert listening == [f"0100007F:{19866:04X}"]


def test_installing_again_changes_nothing(box):
    done = box.root("/opt/pfid/bin/python", "-P", "-m", "pfid", "service", "install", "--json")
    told = json.loads(done.stdout)
    assert (told["steps"], told["problems"]) == ([], [])
    status = box.root("/opt/pfid/bin/python", "-P", "-m", "pfid", "service", "status")
    assert "current  /etc/systemd/system/pfid.service" in status.stdout


def test_a_reload_takes_a_good_configuration_and_refuses_a_bad_one_whole(box):
    pid = box.main_pid()
    assert gates(box)["disabled"] == 0
    try:
        configure(box, "checks.run_stalled.enabled = false\n")
        box.root("systemctl", "reload", UNIT)
        box.until("the new one", lambda: gates(box)["disabled"] == 1, 30)
        configure(box, "checks.run_stalled.enabled = true\nnonsense = 1\n")
        box.root("systemctl", "reload", UNIT)
        refused = "configuration refused, the old one stays"
        box.until("the refusal", lambda: refused in box.journal("-u", UNIT), 30)
        assert gates(box)["disabled"] == 1
    finally:
        box.root("rm", "-f", CONFIG)
        box.root("systemctl", "reload", UNIT)
    box.until("the defaults", lambda: gates(box)["disabled"] == 0, 30)
    assert box.main_pid() == pid
    assert box.show(UNIT, "ActiveState") == "active"


def test_a_configuration_it_refuses_is_not_tried_again_and_again(box):
    box.root("systemctl", "stop", UNIT)
    configure(box, "nonsense = 1\n")
    try:
        assert box.root("systemctl", "start", UNIT, check=False).returncode != 0
        assert box.show(UNIT, "ActiveState") == "failed"
        assert box.show(UNIT, "ExecMainStatus") == "2"
    finally:
        box.root("rm", "-f", CONFIG)
        box.root("systemctl", "reset-failed", UNIT)
        box.root("systemctl", "start", UNIT)


@pytest.fixture
def watched_closely(box):
    """The box with a daemon that is to be heard every four seconds."""
    quick = f"/run/systemd/system/{UNIT}.d/quick.conf"
    box.write(quick, "[Service]\nWatchdogSec=4\nRestartSec=1\n")
    box.root("systemctl", "daemon-reload")
    box.root("systemctl", "restart", UNIT)
    yield box
    box.root("rm", "-f", quick)
    box.root("systemctl", "daemon-reload")
    box.root("systemctl", "restart", UNIT)


def restarted(box, before):
    """Whether the daemon has been started once more since, and is ready."""
    again = int(box.show(UNIT, "NRestarts")) > before
    return again and box.show(UNIT, "ActiveState") == "active"


def test_the_watchdog_restarts_a_daemon_that_stands_still(watched_closely):
    box = watched_closely
    pid, before = box.main_pid(), int(box.show(UNIT, "NRestarts"))
    box.root("kill", "-STOP", str(pid))
    state = lambda: box.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]  # noqa: E731
    box.until("the fault, delivered", lambda: state() == "T", 60)
    box.until("a restart", lambda: restarted(box, before), 60)
    assert box.main_pid() != pid
    said = box.journal("-u", UNIT)
    assert TIMEOUT in said
    assert "Current thread" in said or "Thread 0x" in said, "no stacks in the journal"


def test_what_goes_on_beside_a_loop_that_stands_still_does_not_speak_for_it(
    watched_closely, standing_still
):
    box = watched_closely
    pid, before = box.main_pid(), int(box.show(UNIT, "NRestarts"))
    timeouts = box.journal("-u", UNIT).count(TIMEOUT)
    loop = box.from_outside(pid)

    def another():
        with contextlib.suppress(ChildProcessError):
            os.waitpid(loop, WAIT_ALL | os.WNOHANG)  # its end is told to who holds it first
        return restarted(box, before)

    with standing_still(loop):
        assert "pfid_time_seconds" in box.root(PYTHON, "-c", PAGE).stdout, "other threads go on"
        box.until("a restart", another, 60)
    assert box.main_pid() != pid
    assert box.journal("-u", UNIT).count(TIMEOUT) > timeouts


def test_it_stops_within_its_time_while_clients_hang_on_it(box):
    hang = (
        "import socket, time; a = socket.create_connection(('127.0.0.1', 19866));"
        "b = socket.socket(socket.AF_UNIX); b.connect('/run/pfid/control.sock');"
        "a.send(b'GET /metr'); b.send(b'half'); print('hanging', flush=True); time.sleep(600)"
    )
    log = "/home/alice/hang.log"
    box.unit("alice", "hang", "/opt/pfid/bin/python", "-c", hang, output=log)
    box.until("clients that hang", lambda: "hanging" in box.read(log), 20)
    box.root("systemctl", "stop", UNIT)
    try:
        assert box.show(UNIT, "Result") == "success"
        assert box.show(UNIT, "ExecMainCode") == "1", "it was killed, it did not exit"
        assert box.show(UNIT, "ExecMainStatus") == "0"
        assert box.show(UNIT, "ControlGroup") == "", "something of it is left"
    finally:
        box.root("systemctl", "start", UNIT)
        box.root("systemctl", "stop", "hang.service")
