"""The drop-in with two capabilities: I/O figures of other users' runs, and homes still closed."""

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/pfid-io.conf"
SERVICE = ("/opt/pfid/bin/python", "-P", "-m", "pfid", "service")
CAPABILITIES = 1 << 2 | 1 << 19
"""CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE."""


def watched(box, name):
    """A training of alice's, watched; what it is known to use."""
    log = f"/home/alice/{name}.log"
    box.unit("alice", name, "/opt/pfid/bin/python", "train.py", name, "0", output=log)
    pid = box.show(f"{name}.service", "MainPID")
    box.json("alice", "attach", pid, "--name", name, "--log", f"{name}.log")

    def used():
        found = box.run_named("alice", name).get("resources") or {}
        return found if found.get("cpu_seconds") else None

    try:
        return box.until("its figures", used, 40)
    finally:
        box.user("alice", "touch", f"{name}.end")


def test_io_of_other_users_is_read_with_it_and_absent_without(box):
    without = watched(box, "without")
    assert without["written_bytes"] is None
    box.root(*SERVICE, "install", "--io", "--apply", "--now")
    try:
        status = box.read(f"/proc/{box.main_pid()}/status")
        effective = next(x for x in status.splitlines() if x.startswith("CapEff:"))
        assert int(effective.split()[1], 16) == CAPABILITIES
        assert watched(box, "with")["written_bytes"] is not None
        inside = ("nsenter", f"--target={box.main_pid()}", "--mount", "ls", "-A", "/home")
        assert box.root(*inside).stdout == "", "the daemon sees homes"
    finally:
        box.root("rm", "-f", DROP_IN)
        box.root("systemctl", "daemon-reload")
        box.root("systemctl", "restart", UNIT)
