"""Does a log that an attached process writes to still hold an earlier run's text?

What was written before the attach may be the process's own; nobody saw it begin. It is an earlier
run's for certain where three things agree: it is the very file that run was recorded with, its
beginning still reads as it did then, and the process opened it for appending.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pfid.wire.record import RecordedLog, RecordedProcess, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLog:
    """A log as it stands at the attach.

    Attributes:
        file_id: which file it is, "" if that cannot be told.
        size_bytes: its size.
        appended: whether the process has it open for appending.
        head: digest of its first so many bytes, "" if it has fewer.
    """

    file_id: str
    size_bytes: int
    appended: bool
    head: Callable[[int], str]


def older_bytes(log: FoundLog, process: RecordedProcess, earlier: Iterable[RunRecord]) -> int:
    """Bytes up to which the log holds what an earlier run wrote, 0 if that is not known."""
    if not log.file_id or not log.appended:
        return 0
    others = (run for run in earlier if run.process != process)
    told = (said for run in others for said in run.logs)
    return log.size_bytes if any(_still_holds(log, said) for said in told) else 0


def _still_holds(log: FoundLog, said: RecordedLog) -> bool:
    if said.file_id != log.file_id or not said.head_bytes or not said.head:
        return False
    return log.head(said.head_bytes) == said.head
