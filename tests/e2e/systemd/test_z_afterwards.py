"""Runs last: nothing of all that was refused by the sandbox, and uninstalling leaves it clean.

The file's name puts it behind the others, whose daemon and helpers it looks back at. That it would
have seen something is tried afterwards, with a plugin that does what the sandbox forbids.
"""

import re
import signal

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
KILLED = "status=31/SYS"
EPERM = "1"
CONFIG, PLUGINS = "/etc/pfid/pfid.toml", "/etc/pfid/plugins"
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
    assert killed_by_the_filter(box) == [], "a helper made a call that is refused"


def test_no_file_was_refused(box):
    assert refusals(box) == []


def killed_by_the_filter(box):
    """Processes of pfid's user, helpers and their children among them."""
    return [end for end in box.ended("pfid") if end.signal == signal.SIGSYS]


def refusals(box):
    return [line for line in box.journal("-u", UNIT).splitlines() if REFUSED.search(line)]


def naming(word):
    return lambda box: [line for line in refusals(box) if word in line]


FORBIDDEN = {
    "call": ('import ctypes; ctypes.CDLL(None).swapoff(b"/nowhere")', killed_by_the_filter),
    "file": ('open("/etc/pfid/mark", "w")', naming("/etc/pfid/mark")),
    "home": ('open("/home/alice/train.py")', naming("/home/alice")),
}


def test_what_a_helper_is_refused_would_have_been_seen(box):
    """Plugins do it in their process, and the same looks back find it."""
    before = {what: len(seen(box)) for what, (_, seen) in FORBIDDEN.items()}
    for what, (does, _) in FORBIDDEN.items():
        box.write(f"{PLUGINS}/{what}.py", f"{does}\n")
    box.write(CONFIG, f'plugins.directories = ["{PLUGINS}"]\n')
    files = [f"{PLUGINS}/{what}.py" for what in FORBIDDEN]
    box.root("chmod", "644", CONFIG, *files)
    box.root("systemctl", "restart", UNIT)
    try:
        for what, (_, seen) in FORBIDDEN.items():
            box.until(what, lambda w=what, s=seen: len(s(box)) > before[w], 20)
        assert box.show(UNIT, "ActiveState") == "active", "a helper takes the daemon with it"
    finally:
        box.root("rm", "-f", CONFIG, *files)
        box.root("systemctl", "restart", UNIT)


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
