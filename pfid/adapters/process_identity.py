"""Which process, for all time: procfs, boot id, machine id, pidfd.

``kill(pid, 0)`` succeeds on zombies, on reused pids and on pids of another namespace, so it is
not asked here. A process that vanishes between two reads gives ENOENT or ESRCH; both mean gone.
"""

import fcntl
import os
import select
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.domain.errors import ProcessGoneError, StateError
from pfid.domain.exit_status import ExitStatus
from pfid.domain.identity import ProcessIdentity
from pfid.domain.names import slug
from pfid.domain.process_stat import ProcStat
from pfid.formats.proc_stat import parse_proc_stat

_PIDFD_GET_INFO: Final = 0xC040FF0B
_INFO_EXIT: Final = 1 << 3
_INFO_BYTES: Final = 64
_MASK_AT: Final = 0
_EXIT_CODE_AT: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A process caught in the act. Whoever holds this owns ``pidfd`` and closes it."""

    identity: ProcessIdentity
    pidfd: int
    stat: ProcStat


def machine_id() -> str:
    """From ``/etc/machine-id``; a container without one is known by its host name."""
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = _first_line(place)
        if text and text.isalnum():
            return text
    return f"host-{slug(os.uname().nodename)}"


def boot_id() -> str:
    """Random for each boot of the kernel.

    Raises:
        StateError: if procfs does not tell.
    """
    text = _first_line("/proc/sys/kernel/random/boot_id")
    if not text:
        raise StateError("/proc/sys/kernel/random/boot_id is not readable; is /proc mounted?")
    return text


def _first_line(place: str) -> str:
    try:
        return Path(place).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def pid_namespace(pid: int | str = "self") -> int | None:
    """Inode of a process's pid namespace, None if it is not ours to read."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return None


def read_stat(pid: int) -> ProcStat:
    """Read ``/proc/PID/stat``, which neither hangs nor needs rights.

    Raises:
        ProcessGoneError: if there is no such process.
    """
    try:
        return parse_proc_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessGoneError(f"no process {pid}") from error


def open_pidfd(pid: int) -> int:
    """Open a descriptor (close-on-exec) that means this process for ever.

    Raises:
        ProcessGoneError: if there is no such process.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError as error:
        raise ProcessGoneError(f"no process {pid}") from error
    except OSError as error:  # a thread's id, or a pid of 0
        raise ProcessGoneError(f"{pid} is not a process: {error.strerror}") from error


def capture(pid: int) -> Captured:
    """Take hold of a process and read who it is.

    The pidfd is opened first; a process that still lives after its stat was read is the one the
    stat speaks of.

    Raises:
        ProcessGoneError: if it does not exist or has ended.
    """
    pidfd = open_pidfd(pid)
    try:
        stat = _stat_of_living(pid, pidfd)
    except BaseException:
        os.close(pidfd)
        raise
    identity = ProcessIdentity(
        machine_id=machine_id(),
        boot_id=boot_id(),
        pid=pid,
        start_ticks=stat.start_ticks,
        pid_namespace=pid_namespace(),
        pidfd_inode=os.fstat(pidfd).st_ino,
    )
    return Captured(identity=identity, pidfd=pidfd, stat=stat)


def _stat_of_living(pid: int, pidfd: int) -> ProcStat:
    stat = read_stat(pid)
    if stat.dead or has_ended(pidfd):
        raise ProcessGoneError(f"process {pid} has ended")
    return stat


def has_ended(pidfd: int) -> bool:
    """Whether the process is over, be it reaped or not."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(0))


def wait_ended(pidfd: int, timeout_s: float) -> bool:
    """Wait for the end; False if it did not come in time."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(max(0, round(timeout_s * 1000))))


def exit_status(pidfd: int) -> ExitStatus | None:
    """How a process that need not be our child ended (Linux >= 6.15).

    None while it is not reaped yet, and for ever on older kernels (ENOTTY): unknown is unknown.
    """
    info = bytearray(_INFO_BYTES)
    struct.pack_into("<Q", info, _MASK_AT, _INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info, True)
    except OSError:
        return None
    (mask,) = struct.unpack_from("<Q", info, _MASK_AT)
    if not mask & _INFO_EXIT:
        return None
    (wait_status,) = struct.unpack_from("<i", info, _EXIT_CODE_AT)
    return from_wait_status(wait_status)


def from_wait_status(wait_status: int) -> ExitStatus:
    """Split the status word of wait(2)."""
    code = os.waitstatus_to_exitcode(wait_status)
    return ExitStatus(exit_code=code) if code >= 0 else ExitStatus(signal=-code)


def started_at_s(start_ticks: int) -> float:
    """Wall time, Unix seconds, of a start given in ticks since boot."""
    booted_at_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted_at_s + start_ticks / os.sysconf("SC_CLK_TCK")
