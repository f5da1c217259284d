"""Results of a project's tests, kept per user: what ran, on which commit, when."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = "preflight"
FORMAT: Final = 2
"""1 said green of suites whose runner ended red: such a result is none."""


class KeptResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a suite.

    Attributes:
        commit: that was checked out; None if the tree was not clean.
        ended_at_s: wall time.
        passed, failed, skipped: counts.
        red: whether the runner ended red although no test failed.
        complete: whether the runner came to its end.
        hung: whether it was ended for its time.
        said: the end of its output.
    """

    commit: str | None
    ended_at_s: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    red: bool = False
    complete: bool = True
    hung: bool = False
    said: str = ""
    format: int = FORMAT


def result_file(state: Path, *meaning: str) -> Path:
    """Where the result of one suite is kept; ``meaning`` is all that makes it another suite."""
    digest = sha256("\0".join(meaning).encode()).hexdigest()[:32]
    return state / FOLDER / f"tests-{digest}.json"


def recall_result(file: Path) -> KeptResult | None:
    """Read a result; a file that cannot be read is no result, nor is one of another format."""
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=KeptResult)
    except (OSError, msgspec.DecodeError):
        return None
    return kept if kept.format == FORMAT else None


def keep_result(file: Path, result: KeptResult) -> None:
    """Replace the result that was kept.

    Raises:
        OSError: if it cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".tests-")
    try:
        with os.fdopen(descriptor, "wb") as body:
            body.write(msgspec.json.encode(result))
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
