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
        logs_replaced: every log that exists now, if a path holds another file than it did.
    """

    added: Sequence[OpenFile] = ()
    logs_replaced: Sequence[OpenFile] = ()
