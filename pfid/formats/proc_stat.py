"""One line of ``/proc/PID/stat`` (proc_pid_stat(5)).

The command name may hold spaces, brackets and newlines: fields are counted from the last ``)``.
"""

from pfid.domain.process_stat import ProcStat


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
