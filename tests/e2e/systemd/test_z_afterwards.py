"""Runs last: nothing of all that was refused by the sandbox, and uninstalling leaves it clean.

The file's name puts it behind the others, whose daemon it looks back at.
"""

import re

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
    pytest.mark.timeout(120),
]

UNIT = "pfid.service"
KILLED = "status=31/SYS"
EPERM = "1"
REFUSED = re.compile(r"Operation not permitted|Permission denied|Read-only file system")


def test_a_refused_system_call_would_have_been_seen(box):
    """The unit's own filter, over a program that makes a call outside it."""
    unit = box.read("/etc/systemd/system/pfid.service")
    filters = [
        f"--property={line}" for line in unit.splitlines() if line.startswith("SystemCallFilter=")
    ]
    call = "import ctypes; ctypes.CDLL(None).swapoff(b'/nowhere')"
    command = ("systemd-run", "--quiet", "--wait", "--unit=refused", *filters)
    done = box.root(*command, "/opt/pfid/bin/python", "-c", call, check=False)
    assert done.returncode != 0
    assert KILLED in box.journal("-u", "refused.service")


def test_no_system_call_was_refused(box):
    assert box.show(UNIT, "SystemCallErrorNumber") != EPERM, "a refused call would not kill"
    assert box.show(UNIT, "ActiveState") == "active"
    said = box.journal("-u", UNIT)
    assert "ready" in said
    assert KILLED not in said
    assert not [line for line in said.splitlines() if "SYS" in line and "signal" in line.lower()]


def test_no_file_was_refused(box):
    assert not [line for line in box.journal("-u", UNIT).splitlines() if REFUSED.search(line)]


def test_uninstalling_stops_it_and_keeps_state_and_configuration(box):
    pfid = ("/opt/pfid/bin/python", "-P", "-m", "pfid", "service")
    pid = box.main_pid()
    box.root(*pfid, "uninstall", "--apply")
    assert box.root("test", "-e", f"/proc/{pid}", check=False).returncode != 0
    assert box.root("test", "-e", "/etc/systemd/system/pfid.service", check=False).returncode != 0
    assert box.root("test", "-e", "/run/pfid/control.sock", check=False).returncode != 0
    box.root("test", "-e", "/var/lib/pfid/pfid.sqlite")
    box.root("test", "-d", "/etc/pfid")
    box.root("id", "pfid")
    assert box.root(*pfid, "status", check=False).returncode == 1
    assert "nothing to do" in box.root(*pfid, "uninstall", "--apply").stdout
    box.root(*pfid, "install", "--apply", "--now")
    box.until("READY again", lambda: box.show(UNIT, "ActiveState") == "active", 60)
