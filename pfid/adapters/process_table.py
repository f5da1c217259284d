"""Processes as procfs shows them, through descriptors that are kept.

A kept descriptor of ``/proc/PID/stat`` gives ESRCH after death and never another process's data;
reading it costs 5 microseconds against psutil's 50. psutil is asked for one-off facts. Neither
``cmdline`` nor ``environ`` (they can hang on a suspect) nor ``smaps`` (70 ms on a large process)
is ever read.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from pfid.adapters.process_identity import (
    boot_id,
    exit_status,
    from_wait_status,
    has_ended,
    machine_id,
    open_pidfd,
    pid_namespace,
    read_stat,
    started_at_s,
)
from pfid.domain.errors import ProcessGoneError
from pfid.domain.identity import Identified, ProcessIdentity
from pfid.domain.process_stat import ProcStat

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_LINE_BYTES: Final = 1024
_NOBODY: Final = Identified(identity=None, uid=None, started_at_s=None, ended=True)
_STATE, _UTIME, _STIME, _RSS, _START_CODE, _EXIT_CODE = 0, 11, 12, 21, 23, 49


class Reading(NamedTuple):
    """What one process uses, at one moment.

    ``wait_status`` is None unless it is a zombie whose status we may read.
    """

    state: str
    cpu_s: float
    resident_bytes: int
    wait_status: int | None


class IoReading(NamedTuple):
    """Bytes a process has read and written through its file system calls."""

    read_bytes: int
    written_bytes: int


class HeldProcess:
    """One process, held by descriptors; they mean it and no other for ever."""

    __slots__ = (
        "_io_fd",
        "_last",
        "_last_line",
        "_may_see_status",
        "_reaped",
        "_stat_fd",
        "pid",
        "pidfd",
    )

    def __init__(self, pid: int, pidfd: int, stat_fd: int) -> None:
        """Take both descriptors over."""
        self.pid = pid
        self.pidfd = pidfd
        self._stat_fd = stat_fd
        self._io_fd = _open_io(pid) if stat_fd >= 0 else None
        self._may_see_status = False
        self._reaped = False
        self._last_line = b""
        self._last: Reading | None = None

    def read(self) -> Reading | None:
        """Read it; None once it is gone (reaped)."""
        if self._stat_fd < 0 or self._reaped:
            return None
        try:
            line = os.pread(self._stat_fd, _LINE_BYTES, 0)
        except OSError:
            return None
        if line != self._last_line:
            self._last = self._parse(line)
            self._last_line = line
        return self._last

    def read_io(self) -> IoReading | None:
        """Bytes read and written; None without the right to know, never 0."""
        if self._io_fd is None:
            return None
        try:
            lines = os.pread(self._io_fd, _LINE_BYTES, 0).split()
        except OSError:
            return None
        return IoReading(int(lines[1]), int(lines[3])) if len(lines) > 3 else None

    def status(self) -> tuple[int | None, int | None] | None:
        """How it ended as (exit code, signal); None while that cannot be told.

        The pidfd tells once the process is reaped (Linux >= 6.15); before that, the zombie's own
        line does, to those who may trace it.
        """
        if (known := exit_status(self.pidfd)) is not None:
            self._reaped = True
            return known.exit_code, known.signal
        reading = self.read()
        if reading is None or reading.wait_status is None:
            return None
        status = from_wait_status(reading.wait_status)
        return status.exit_code, status.signal

    def close(self) -> None:
        """Let go of it; twice is harmless."""
        for fd in (self.pidfd, self._stat_fd, self._io_fd):
            if fd is not None and fd >= 0:
                os.close(fd)
        self.pidfd, self._stat_fd, self._io_fd = -1, -1, None

    def _parse(self, line: bytes) -> Reading:
        fields = line[line.rindex(b")") + 2 :].split()
        state = fields[_STATE].decode()
        # 1 stands there instead of an address for those who may not trace it; a zombie shows 0,
        # and so does a process in the middle of its exec.
        if int(fields[_START_CODE]) > 1:
            self._may_see_status = True
        # Those who may not see it are shown 0: anything else is the status itself.
        told = self._may_see_status or fields[_EXIT_CODE] != b"0"
        zombie = state == "Z" and told
        return Reading(
            state,
            (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS_PER_S,
            int(fields[_RSS]) * _PAGE_BYTES,
            int(fields[_EXIT_CODE]) if zombie else None,
        )


class ProcessTable:
    """The box's processes."""

    def __init__(self) -> None:
        """Read which machine and which boot this is.

        Raises:
            StateError: if procfs does not tell.
        """
        self._machine_id = machine_id()
        self._boot_id = boot_id()

    @property
    def machine_id(self) -> str:
        """Of this machine."""
        return self._machine_id

    @property
    def boot_id(self) -> str:
        """Of this boot."""
        return self._boot_id

    def identify(self, pidfd: int) -> Identified | None:
        """Say who is behind a pidfd; None if it is none. The pidfd decides, not a number."""
        pid = pid_of(pidfd)
        if pid is None:
            return None
        try:
            stat, uid = read_stat(pid), _real_uid(pid)
        except (ProcessGoneError, OSError, ValueError):
            return _NOBODY
        if pid_of(pidfd) != pid:
            return _NOBODY
        return Identified(
            identity=ProcessIdentity(
                machine_id=self._machine_id,
                boot_id=self._boot_id,
                pid=pid,
                start_ticks=stat.start_ticks,
                pid_namespace=pid_namespace(),
                pidfd_inode=os.fstat(pidfd).st_ino,
            ),
            uid=uid,
            started_at_s=started_at_s(stat.start_ticks),
            ended=stat.dead or has_ended(pidfd),
            comm=stat.comm,
        )

    def hold_ended(self, pid: int, pidfd: int) -> HeldProcess:
        """Hold a process that is over, for the status its pidfd may still give."""
        return HeldProcess(pid, pidfd, -1)

    def hold(self, pid: int, pidfd: int | None = None) -> HeldProcess | None:
        """Hold a process; None if there is none.

        Args:
            pid: which.
            pidfd: taken over if given; it decides which process is meant.
        """
        try:
            own = open_pidfd(pid) if pidfd is None else pidfd
        except ProcessGoneError:
            return None
        held = _held(pid, own)
        if held is None and pidfd is None:
            os.close(own)
        return held

    def pids(self) -> set[int]:
        """Every process there is."""
        return set(psutil.pids())

    def inspect(self, pid: int) -> ProcStat | None:
        """One line of a stranger; None if it is gone."""
        try:
            return read_stat(pid)
        except (ProcessGoneError, OSError, ValueError):
            return None

    def owner(self, pid: int) -> int | None:
        """A process's user; None if it is gone."""
        try:
            return Path(f"/proc/{pid}").stat().st_uid
        except OSError:
            return None

    def hidden(self, pid: int) -> bool:
        """Whether there is such a process; asked where procfs shows none (hidepid).

        A pidfd needs no right to see the process, and a number that is nobody's has none.
        """
        try:
            os.close(os.pidfd_open(pid))
        except OSError as error:
            return error.errno not in {errno.ESRCH, errno.EINVAL}
        return True

    def username(self, uid: int) -> str:
        """Name of a user, their number if they have none."""
        import pwd

        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)


def _held(pid: int, pidfd: int) -> HeldProcess | None:
    try:
        stat_fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    held = HeldProcess(pid, pidfd, stat_fd)
    if held.read() is None or not _same(pid, pidfd):
        os.close(stat_fd)
        return None
    return held


def _same(pid: int, pidfd: int) -> bool:
    """Whether the pidfd still has that number: then the line read before it was its own."""
    return pid_of(pidfd) == pid


def pid_of(pidfd: int) -> int | None:
    """Number of the process behind a pidfd; None if it is no pidfd, -1 once it is reaped."""
    with contextlib.suppress(OSError, ValueError):
        text = Path(f"/proc/self/fdinfo/{pidfd}").read_text(encoding="ascii")
        for line in text.splitlines():
            if line.startswith("Pid:"):
                return int(line[4:])
    return None


def _real_uid(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    raise ValueError(f"/proc/{pid}/status names no user")


def _open_io(pid: int) -> int | None:
    try:
        return os.open(f"/proc/{pid}/io", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
