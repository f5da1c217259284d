"""A machine with a real systemd: a container over this machine's own root, booted once a session.

Nothing in it is faked: pfid is installed by `pfid service install`, started by systemd, and used
by two users whose homes are closed. What the container cannot have is a limit on devices, memory
and tasks where this machine has cgroup v1, because those hierarchies are not delegated.
"""

import contextlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pfid

HERE = Path(__file__).parent
PYTHON = "/opt/pfid/bin/python"
SHIM = "/opt/shim"
PFID = (PYTHON, "-P", "-m", "pfid")
USERS = ("alice", "bob")
BOOT_S = 60.0
HALT_S = 20.0
COMMAND_S = 60.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

ACCOUNTS = "/var/log/pfid-tests.acct"
KEEP_ACCOUNTS = f"""
import ctypes, os, sys
open({ACCOUNTS!r}, "wb").close()
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(ctypes.get_errno() if libc.acct({ACCOUNTS!r}.encode()) else 0)
"""
RECORD = struct.Struct("<BBHIIIII24x16s")
"""One process that has ended, as the kernel keeps it (``struct acct_v3``): version, status, user,
process and name are looked at here."""

TRAIN = """\
import json, pathlib, sys, time
name, status = sys.argv[1], int(sys.argv[2])
for step in range(1_000_000):
    print(json.dumps({"step": step, "seconds": 0.05, "loss": 1.0}), flush=True)
    time.sleep(0.05)
    if pathlib.Path(name + ".end").exists():
        sys.exit(status)
"""
"""Trains until NAME.end is there, then exits with a status."""

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A process that has ended; signal 0 if nothing killed it."""

    pid: int
    name: str
    signal: int


class Box:
    """The container, and what is done in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cgroup = f"pfid-tests-{os.getpid()}"
        self._said = folder.parent / "nspawn.log"
        self.shim = folder.parent / "shim"
        self._nspawn: subprocess.Popen[bytes] | None = None
        self.leader = 0

    def boot(self) -> None:
        """Start it, and wait until systemd has reached its target."""
        python = Path(sys.executable).resolve().name
        binds = [
            f"--bind-ro={sys.base_prefix}:/opt/python",
            f"--bind-ro={sys.prefix}/lib:/opt/pfid/lib",
        ]
        source = Path(pfid.__file__).parents[1]
        if not source.is_relative_to(sys.prefix):
            binds.append(f"--bind-ro={source}")
        self.shim.mkdir()
        binds.append(f"--bind={self.shim}:{SHIM}")
        script = (HERE / "boot.sh", self._folder, self._cgroup, self._folder.parent.name, *binds)
        # Should this process be killed, the container is halted: nspawn does that when told to end.
        bound = ("setpriv", "--pdeathsig=TERM")
        apart = ("unshare", "--mount", "--propagation=private")
        command = (*bound, *apart, "bash", *map(str, script))
        with self._said.open("wb") as said:
            self._nspawn = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
            )
        self.until("a leader", self._find_leader, BOOT_S)
        self.until("the boot", self._booted, BOOT_S)
        self.root("ln", "-s", f"/opt/python/bin/{python}", PYTHON)
        self.write("/opt/pfid/pyvenv.cfg", "home = /opt/python/bin\n")
        # A Python that was built for another place looks for its library by absolute path first.
        self.write("/etc/ld.so.conf.d/python.conf", "/opt/python/lib\n")
        self.root("ldconfig")
        for user in USERS:
            self.root("useradd", "--create-home", user, check=False)
            self.root("chmod", "700", f"/home/{user}")
            self.write(f"/home/{user}/train.py", TRAIN)
            self.root("chown", user, f"/home/{user}/train.py")

    def keep_accounts(self) -> None:
        """Have the kernel write down how every process in here ends, whoever started it.

        What is asked for is the container's own, since its processes have numbers of their own.
        """
        self.root(PYTHON, "-c", KEEP_ACCOUNTS)

    def ended(self, user: str) -> list[Ended]:
        """The processes of a user that have ended since."""
        uid = int(self.root("id", "-u", user).stdout)
        place = Path(f"/proc/{self.leader}/root{ACCOUNTS}")
        whole = place.read_bytes()
        records = RECORD.iter_unpack(whole[: len(whole) // RECORD.size * RECORD.size])
        return [
            Ended(pid=pid, name=name.rstrip(b"\0").decode(), signal=status & 0x7F)
            for _, version, _, status, of_uid, _, pid, _, name in records
            if of_uid == uid and version & 0xF == 3
        ]

    def _find_leader(self) -> bool:
        assert self._nspawn is not None
        assert self._nspawn.poll() is None, self._said.read_text(errors="replace")
        pid = self._nspawn.pid
        with contextlib.suppress(OSError, ValueError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    self.leader = int(child)
        return self.leader != 0

    def _booted(self) -> bool:
        done = self.root("systemctl", "is-active", "basic.target", check=False)
        return done.stdout.strip() == "active"

    def halt(self) -> None:
        """Power off; what does not go in time is killed. Ends only what was started here."""
        if self._nspawn is None:
            return
        if self.leader and self._nspawn.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.root("systemctl", "poweroff", "--force", "--force", check=False)
        try:
            self._nspawn.wait(HALT_S)
        except subprocess.TimeoutExpired:
            self._nspawn.kill()
            self._nspawn.wait(HALT_S)
        for tree in ("", "systemd", "unified"):
            top = Path("/sys/fs/cgroup", tree, self._cgroup)
            if top.is_dir():
                for place in sorted(top.rglob("*/"), reverse=True):
                    with contextlib.suppress(OSError):
                        place.rmdir()
                with contextlib.suppress(OSError):
                    top.rmdir()

    def root(self, *command: str, check: bool = True, text: str | None = None) -> Done:
        """Run a command inside, as root."""
        inside = ("nsenter", f"--target={self.leader}", "--all", "env", "-i", f"PATH={PATH}")
        done = subprocess.run(
            (*inside, "HOME=/root", "LANG=C.UTF-8", *command),
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert not check or done.returncode == 0, (command, done.stdout, done.stderr)
        return done

    def user(self, user: str, *command: str, check: bool = True) -> Done:
        """Run a command inside, as a user, from their home."""
        become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups")
        home = f"/home/{user}"
        return self.root(*become, "env", f"--chdir={home}", f"HOME={home}", *command, check=check)

    def pfid(self, user: str, *arguments: str, check: bool = True) -> Done:
        """Run pfid as a user."""
        return self.user(user, *PFID, *arguments, check=check)

    def json(self, user: str, *arguments: str) -> Any:
        """What pfid prints as JSON, {} for nothing."""
        done = self.pfid(user, *arguments, "--json", check=False)
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def write(self, path: str, text: str) -> None:
        """Write a file inside."""
        self.root("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1"', "sh", path, text=text)

    def read(self, path: str) -> str:
        """Read a file inside."""
        return self.root("cat", path).stdout

    def unit(self, user: str, name: str, *command: str, output: str = "") -> None:
        """Start a command as a user in a unit of its own, which stays to be asked about."""
        home = f"/home/{user}"
        kept = (f"--property=StandardOutput=append:{output}",) if output else ()
        if output:
            self.root("install", f"--owner={user}", "--mode=600", "/dev/null", output)
        self.root(
            "systemd-run", "--quiet", f"--unit={name}", f"--uid={user}", f"--gid={user}",
            f"--working-directory={home}", f"--setenv=HOME={home}", "--remain-after-exit",
            *kept, *command,
        )  # fmt: skip

    def show(self, unit: str, key: str) -> str:
        """One property of a unit."""
        return self.root("systemctl", "show", unit, f"--property={key}", "--value").stdout.strip()

    def main_pid(self) -> int:
        """The daemon's process, as the container counts; 0 if there is none."""
        return int(self.show("pfid.service", "MainPID"))

    def from_outside(self, pid: int) -> int:
        """The number that a process of the container has on this machine."""
        here = Path(f"/proc/{self.leader}/ns/pid").readlink()
        for status in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                if status.with_name("ns").joinpath("pid").readlink() == here:
                    (line,) = (s for s in status.read_text().splitlines() if s[:6] == "NSpid:")
                    _, outside, *_, inside = line.split()
                    if int(inside) == pid:
                        return int(outside)
        pytest.fail(f"process {pid} of the container is nowhere on this machine")

    def journal(self, *arguments: str) -> str:
        """What the unit and systemd said."""
        command = ("journalctl", "--no-pager", "--output=short-monotonic", "-b", *arguments)
        return self.root(*command).stdout

    def run_named(self, user: str, name: str) -> dict[str, Any]:
        """The newest run of a name, as a user sees it; {} if there is none."""
        runs = self.json(user, "status").get("runs", [])
        return next((run for run in reversed(runs) if run["name"] == name), {})

    def until(self, what: str, look: Callable[[], Any], within_s: float) -> Any:
        """Wait for something to be true."""
        limit_s = time.monotonic() + within_s
        while True:
            if found := look():
                return found
            if time.monotonic() > limit_s:
                log = (
                    self.journal("-u", "pfid.service", "-n", "60")
                    if self.leader
                    else self._said.read_text()
                )
                pytest.fail(f"waited {within_s} s in vain for {what}\n{log}")
            time.sleep(0.1)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A container that has booted, with two users and no pfid yet."""
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("needs root and systemd-nspawn")
    box = Box(tmp_path_factory.mktemp("box") / "tree")
    try:
        box.boot()
        yield box
    finally:
        box.halt()


@pytest.fixture(scope="session")
def box(machine: Box) -> Box:
    """Likewise, with pfid installed and running; a refused system call kills there.

    The unit makes a refused call fail instead, so that a watchdog lives on; here it must be seen.
    """
    drop_in = "[Service]\nSystemCallErrorNumber=\nTimeoutStartSec=60\n"
    machine.write("/etc/systemd/system/pfid.service.d/test.conf", drop_in)
    machine.keep_accounts()
    done = machine.root(*PFID, "service", "install", "--apply", "--now", check=False)
    assert done.returncode == 0, f"{done.stderr}\n{machine.journal('-u', 'pfid.service')}"
    return machine
