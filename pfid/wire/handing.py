"""Open files on their way to a watcher, with what the message says about each."""

from collections.abc import Sequence
from dataclasses import dataclass

from pfid.wire.control import HandedLog, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """A file of a run, open for reading; whoever receives it closes ``descriptor``."""

    descriptor: int
    role: Role
    handed: HandedLog


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNews:
    """What changed at a run's paths since the last look.

    Attributes:
        added: files that were not there.
        logs_replaced: logs whose path holds another file than it did.
        all_logs_replaced: whether those are all logs of the run.
    """

    added: Sequence[OpenFile] = ()
    logs_replaced: Sequence[OpenFile] = ()
    all_logs_replaced: bool = False
