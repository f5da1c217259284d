"""One process as ``/proc/PID/stat`` shows it (proc_pid_stat(5))."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcStat:
    """What pfid needs of the line.

    Attributes:
        pid: in the namespace of the procfs that was read.
        comm: the kernel's short name; untrusted.
        state: one letter; Z and X are dead, T is stopped, D waits for a device.
        parent_pid: 0 if the parent is outside the namespace.
        process_group: its id.
        session: its id.
        start_ticks: clock ticks since boot.
        cpu_ticks: user and system time of the process itself.
    """

    pid: int
    comm: str
    state: str
    parent_pid: int
    process_group: int
    session: int
    start_ticks: int
    cpu_ticks: int

    @property
    def dead(self) -> bool:
        """A zombie has ended; only its status is left."""
        return self.state in {"Z", "X", "x"}
