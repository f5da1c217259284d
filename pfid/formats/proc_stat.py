"""One line of ``/proc/PID/stat`` (proc_pid_stat(5)).

The command name may hold spaces, brackets and newlines: fields are counted from the last ``)``.
"""

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


def parse_proc_stat(line: bytes) -> ProcStat:
    """Read one line.

    Raises:
        ValueError: if it is not one.
    """
    head, bracket, tail = line.rpartition(b")")
    pid, opening, comm = head.partition(b"(")
    fields = tail.split()
    if not bracket or not opening or len(fields) < 20:
        raise ValueError(f"not a line of /proc/PID/stat: {line[:80]!r}")
    return ProcStat(
        pid=int(pid),
        comm=comm.decode(errors="replace"),
        state=fields[0].decode(),
        parent_pid=int(fields[1]),
        process_group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )
