"""A log as it stands when the process that writes to it is attached, really looked at."""

import os
import stat
from collections.abc import Sequence
from functools import partial
from typing import Final

from pfid.adapters import file_identity, process_facts
from pfid.launch.older_text import FoundLog, older_bytes
from pfid.wire.record import RecordedLog, RecordedProcess, RunRecord

_HEAD_BYTES: Final = 4096
_LOOK: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def attached_log(path: str, process: RecordedProcess, earlier: Sequence[RunRecord]) -> RecordedLog:
    """See what stands there; what was written before the attach is not this watch's to tell.

    Args:
        path: absolute.
        process: which writes there.
        earlier: runs that may have written there before.
    """
    try:
        descriptor = os.open(path, _LOOK)
    except OSError:
        return RecordedLog(path=path)
    try:
        return _seen_log(path, descriptor, process, earlier)
    finally:
        os.close(descriptor)


def _seen_log(
    path: str, descriptor: int, process: RecordedProcess, earlier: Sequence[RunRecord]
) -> RecordedLog:
    file = os.fstat(descriptor)
    if not stat.S_ISREG(file.st_mode):
        return RecordedLog(path=path)
    found = FoundLog(
        file_id=file_identity.file_id(descriptor),
        size_bytes=file.st_size,
        appended=process_facts.appends_to(process.pid, path),
        head=partial(file_identity.head_digest, descriptor),
    )
    head_bytes = min(found.size_bytes, _HEAD_BYTES)
    return RecordedLog(
        path=path,
        begins_at=found.size_bytes,
        older_bytes=older_bytes(found, process, earlier),
        file_id=found.file_id,
        head_bytes=head_bytes,
        head=found.head(head_bytes),
    )
