"""When real faults were last driven through a watcher of this user's, and what did not fire."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from pfid import __version__

FILE: Final = "live-drills.json"


class DrillRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One `pfid selftest --live`.

    Attributes:
        at_s: wall time of its end.
        through_daemon: whether the box's daemon was driven, or one of our own.
        results: by check; whether every drill of it that could be walked came out as it should.
        pfid: version that was driven; "" of a record from before this was kept.
    """

    at_s: float
    through_daemon: bool
    results: dict[str, bool]
    pfid: str = ""
    format: int = 1


def recall_drill(state: Path) -> DrillRecord | None:
    """Read the record; one that cannot be read, or is of another version of pfid, is none."""
    try:
        record = msgspec.json.decode((state / FILE).read_bytes(), type=DrillRecord)
    except (OSError, msgspec.DecodeError):
        return None
    return record if record.pfid == __version__ else None


def keep_drill(
    state: Path, *, at_s: float, through_daemon: bool, results: Mapping[str, bool]
) -> None:
    """Keep what a drill of every check came to.

    Raises:
        OSError: if it cannot be written.
    """
    record = DrillRecord(
        at_s=at_s, through_daemon=through_daemon, results=dict(results), pfid=__version__
    )
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=state, prefix=".drills-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(record))
        Path(name).replace(state / FILE)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
