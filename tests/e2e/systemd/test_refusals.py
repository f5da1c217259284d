"""What the sandbox refuses by an error alone, also to whoever swallows it: one whole life, traced.

The daemon and every helper are traced from outside the unit, from before the first of their
instructions, so that the sandbox is the unit's own. That a refusal would have been seen is tried
in the same life, by a plugin that does what is forbidden and says nothing of it.
"""

import re
import sys

import pytest
from nvml_shim import H200, Shim

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn", "strace", "gcc"),
]
UNIT = "pfid.service"
PYTHON = "/opt/pfid/bin/python"
CONFIG, PLUGINS, TELL = "/etc/pfid/pfid.toml", "/etc/pfid/plugins", "/usr/local/bin/tell-life"
TOLD = "/var/lib/pfid/told-life.json"
CALLS = "/var/log/pfid-tests.calls"
DROP_IN = f"/run/systemd/system/{UNIT}.d/traced.conf"
WAITS = "/usr/local/bin/wait-for-a-tracer"
WAIT = """\
#!/bin/sh
until grep -q '^TracerPid:.*[1-9]' "/proc/$$/status"; do sleep 0.05; done
exec "$@"
"""
REFUSED = re.compile(r"(\d+) +(\w+)\((.*)\) += -1 (EPERM|EACCES|EROFS|EAFNOSUPPORT) ")
SWALLOWS = '''\
"""Do what the sandbox forbids, and say nothing. Blind spot: everything."""
import contextlib, ctypes, mmap, socket
libc = ctypes.CDLL(None)
with contextlib.suppress(OSError):
    open("/home/alice/train.py")
with contextlib.suppress(OSError):
    open("/srv/everybody/mark", "w")
with contextlib.suppress(OSError):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
with contextlib.suppress(OSError):
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
libc.unshare(0x10000000)
'''
PLANTED = {
    "a home": r"openat\(.*/home/alice/train\.py.* EACCES",
    "a folder that everybody may write": r"openat\(.*/srv/everybody/mark.* EROFS",
    "a kind of network": r"socket\(AF_NETLINK.* EAFNOSUPPORT",
    "memory that is written and run": r"mmap\(.*PROT_WRITE\|PROT_EXEC.* EPERM",
    "a namespace": r"unshare\(CLONE_NEWUSER.* EPERM",
}

ORDINARY = (
    rf'"{re.escape(sys.base_prefix)}/lib',  # built for another place, where it looks first
    r'"/proc/\d+/io"',  # other users' needs the drop-in; without it the figure is absent
    r'/__pycache__(/[^/]*)?",',  # Python would keep what it has compiled; an installation did so
)
"""Not the sandbox's doing: Python's own, for where these tests have it from, or the owner's."""


def configured(box):
    """A life with everything in it that has a process of its own."""
    box.write(WAITS, WAIT)
    box.write(TELL, f"#!/bin/sh\ncat >>{TOLD} && echo >>{TOLD}\n")
    box.root("chmod", "755", WAITS, TELL)
    box.root("install", "--directory", "--mode=1777", "/srv/everybody")
    box.write(f"{PLUGINS}/swallows.py", SWALLOWS)
    box.write(CONFIG, f'plugins.directories = ["{PLUGINS}"]\nnotify.command = ["{TELL}"]\n')
    box.root("chmod", "644", CONFIG, f"{PLUGINS}/swallows.py")
    unit = box.read(f"/etc/systemd/system/{UNIT}")
    (starts,) = re.findall(r"(?m)^ExecStart=(.*)$", unit)
    sees = "Environment=LD_LIBRARY_PATH=/opt/shim\nReadWritePaths=/opt/shim\n"
    box.write(DROP_IN, f"[Service]\nExecStart=\nExecStart={WAITS} {starts}\n{sees}")
    box.root("systemctl", "daemon-reload")


def waiting(box):
    """The process that is to become the daemon, as the container counts."""
    pid = box.main_pid()
    return pid and WAITS in box.root("cat", f"/proc/{pid}/cmdline", check=False).stdout and pid


def lived(box):
    """What a daemon does: a run with a log, readers, a new configuration, a death that is told."""
    log = "/home/alice/life.log"
    box.unit("alice", "life", PYTHON, "train.py", "life", "0", output=log)
    pid = box.show("life.service", "MainPID")
    box.json("alice", "attach", pid, "--name", "life", "--log", "life.log")
    box.until("steps", lambda: (box.run_named("alice", "life").get("steps") or 0) > 5, 60)
    for path in ("", "metrics"):
        ask = (
            f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:19866/{path}').read())"
        )
        assert "pfid" in box.user("bob", PYTHON, "-c", ask).stdout
    box.root("systemctl", "reload", UNIT)
    box.root("kill", "-KILL", pid)
    told = lambda: box.root("cat", TOLD, check=False).stdout  # noqa: E731
    box.until("the death is told", lambda: '"run_gone"' in told(), 60)


@pytest.fixture
def calls(box):
    """Every call of one life that failed, a line each."""
    shim = Shim(box.shim)
    shim.play(H200)
    box.shim.chmod(0o777)
    configured(box)
    box.root("systemctl", "restart", "--no-block", UNIT)
    pid = box.until("a process to trace", lambda: waiting(box), 60)
    trace = ("strace", "-f", "-Z", "-qq", "-s", "300", "-o", CALLS, "-p", str(pid))
    box.root("systemd-run", "--quiet", "--unit=tracer", *trace)
    try:
        box.until("READY", lambda: box.show(UNIT, "ActiveState") == "active", 90)
        lived(box)
        box.root("systemctl", "stop", UNIT)
        over = lambda: box.show("tracer.service", "ActiveState") in {"inactive", "failed"}  # noqa: E731
        box.until("the end of the trace", over, 60)
        yield box.read(CALLS)
    finally:
        box.root("systemctl", "stop", "tracer.service", check=False)
        box.root("rm", "-f", CONFIG, DROP_IN, f"{PLUGINS}/swallows.py")
        box.root("systemctl", "daemon-reload")
        box.root("systemctl", "restart", UNIT)


def test_nothing_is_refused_but_what_a_plugin_does_on_purpose(calls):
    refused = [line for line in calls.splitlines() if REFUSED.match(line)]
    for what, shown in PLANTED.items():
        assert [line for line in refused if re.search(shown, line)], f"{what} was not seen"
    known = (*PLANTED.values(), *ORDINARY)
    surprising = [line for line in refused if not any(re.search(k, line) for k in known)]
    assert surprising == []
    assert "SIGSYS" not in calls
