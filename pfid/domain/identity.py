"""Which process: one process for all time, never a bare pid and never a name pattern."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One process for all time, as seen by the watcher.

    Two identities are the same process only if machine, boot, pid and start are all known and
    equal. An unknown start is its own answer, never "reused" (psutil#2895).

    Attributes:
        machine_id: from ``/etc/machine-id``; homes are shared over NFS, records travel.
        boot_id: from ``/proc/sys/kernel/random/boot_id``.
        pid: in the watcher's pid namespace; ``pid_namespace`` says which that is.
        start_ticks: field 22 of ``/proc/PID/stat``, clock ticks since boot; None if not readable.
        pid_namespace: inode of ``/proc/self/ns/pid`` of the watcher; None if not readable.
        pidfd_inode: inode of the pidfd while one is held (unique per process on Linux >= 6.9).
    """

    machine_id: str
    boot_id: str
    pid: int
    start_ticks: int | None
    pid_namespace: int | None = None
    pidfd_inode: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Who is behind a pidfd.

    Attributes:
        identity: None once the process is reaped; nothing can be read of it then.
        uid: real user id, None likewise.
        started_at_s: wall time of its start, Unix seconds, None likewise.
        ended: whether it is over, reaped or not.
        comm: its short name; untrusted.
    """

    identity: ProcessIdentity | None
    uid: int | None
    started_at_s: float | None
    ended: bool
    comm: str = ""
