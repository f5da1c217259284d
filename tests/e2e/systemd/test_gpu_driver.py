"""A driver that hangs takes its helper with it, and neither the daemon nor the watchdog."""

import re
import time

import pytest
from nvml_shim import H200, HANG, Shim

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn", "gcc"),
]

UNIT = "pfid.service"
PFID = ("/opt/pfid/bin/python", "-P", "-m", "pfid")
WATCHDOG_S = 4
DROP_IN = f"/run/systemd/system/{UNIT}.d/shim.conf"
PAGE = (
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/metrics').read().decode())"
)


def value(box, name):
    """A figure of the page, None where it is not there."""
    page = box.user("bob", "/opt/pfid/bin/python", "-c", PAGE).stdout
    found = re.search(rf"(?m)^{re.escape(name)} (.*)$", page)
    return None if found is None else float(found[1])


def last_call(shim):
    """What the first helper asked last, beside its waiting for events."""
    calls = [(pid, name) for pid, name, _ in shim.calls() if "Event" not in name]
    return [name for pid, name in calls if pid == calls[0][0]][-1]


def test_a_hung_driver_call_does_not_restart_the_daemon(box):
    shim = Shim(box.shim)
    shim.play(H200)
    box.shim.chmod(0o777)
    library = "[Service]\nEnvironment=LD_LIBRARY_PATH=/opt/shim\nReadWritePaths=/opt/shim\n"
    box.write(DROP_IN, f"{library}WatchdogSec={WATCHDOG_S}\n")
    box.root("systemctl", "daemon-reload")
    box.root("systemctl", "restart", UNIT)
    try:
        box.until("a GPU", lambda: value(box, "pfid_nvml_up") == 1, 40)
        pid, restarts = box.main_pid(), box.show(UNIT, "NRestarts")
        shim.change(0, utilization=HANG)
        since_s = time.monotonic()
        box.until("the word of it", lambda: value(box, "pfid_nvml_up") != 1, 60)
        assert last_call(shim) == "nvmlDeviceGetUtilizationRates", "the fault was not delivered"
        box.until("two watchdogs", lambda: time.monotonic() - since_s > 2 * WATCHDOG_S, 60)
        assert (box.main_pid(), box.show(UNIT, "NRestarts")) == (pid, restarts)
        assert box.show(UNIT, "ActiveState") == "active"
        assert box.json("alice", "status")["gates"]["proven"] > 0
    finally:
        box.root("rm", "-f", DROP_IN)
        box.root("systemctl", "daemon-reload")
        box.root("systemctl", "restart", UNIT)
    assert box.show(UNIT, "Result") == "success"


def as_bob(box, *command):
    """As on a machine, where all see one boot; a container puts its own over it, but for units."""
    bare = 'umount /proc/sys/kernel/random/boot_id; exec "$@"'
    bob = ("setpriv", "--reuid=bob", "--regid=bob", "--init-groups", "env", "HOME=/home/bob")
    return box.root("unshare", "--mount", "sh", "-c", bare, "sh", *bob, *command, check=False)


def test_a_fatal_error_keeps_users_from_the_driver_also_while_the_daemon_is_stopped(box):
    shim = Shim(box.shim)
    shim.play(H200)
    box.shim.chmod(0o777)
    box.write(
        DROP_IN, "[Service]\nEnvironment=LD_LIBRARY_PATH=/opt/shim\nReadWritePaths=/opt/shim\n"
    )
    box.root("systemctl", "daemon-reload")
    box.root("systemctl", "restart", UNIT)
    try:
        box.until("a GPU", lambda: value(box, "pfid_nvml_up") == 1, 60)
        shim.xid(0, 79)
        box.until("that it stopped", lambda: value(box, "pfid_nvml_up") != 1, 60)
        box.root("systemctl", "stop", UNIT)
        box.root("test", "!", "-e", "/run/pfid")
        shim.forget_calls()
        asked = as_bob(box, "env", "LD_LIBRARY_PATH=/opt/shim", *PFID, "gpus")
        assert (asked.returncode, shim.calls()) == (3, []), asked.stderr
        assert "fatal" in asked.stderr
    finally:
        box.root("rm", "-f", DROP_IN)
        box.root("rm", "-f", "/var/cache/pfid/driver-stop-nvml.json", check=False)
        box.root("rm", "-f", "/var/lib/pfid/driver-stop-nvml.json", check=False)
        box.root("systemctl", "daemon-reload")
        box.root("systemctl", "restart", UNIT)
