"""What a launcher writes down about a run: who it is, where its logs are, how it ended.

It is the sidecar of log files that the trainer writes itself, and what the guard, ``pfid stop``
and the embedded engine read. It belongs to the run's user alone (folder mode 0700).
"""

from typing import Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.identity import ProcessIdentity
from pfid.domain.step_fit import StepFit
from pfid.wire.text_only import text_only

RECORD_SCHEMA: Final = 1


class RecordedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A ProcessIdentity on disk."""

    machine_id: str
    boot_id: str
    pid: int
    start_ticks: int | None
    pid_namespace: int | None = None

    def identity(self) -> ProcessIdentity:
        """As the domain's word."""
        return ProcessIdentity(
            machine_id=self.machine_id,
            boot_id=self.boot_id,
            pid=self.pid,
            start_ticks=self.start_ticks,
            pid_namespace=self.pid_namespace,
        )


def recorded(identity: ProcessIdentity) -> RecordedProcess:
    """Put an identity on paper; the pidfd's inode means nothing to others."""
    return RecordedProcess(
        machine_id=identity.machine_id,
        boot_id=identity.boot_id,
        pid=identity.pid,
        start_ticks=identity.start_ticks,
        pid_namespace=identity.pid_namespace,
    )


class RecordedLog(msgspec.Struct, frozen=True, kw_only=True):
    """One log of a run.

    Attributes:
        path: absolute.
        ours: whether pfid created it and the child's output goes there.
        rotated_to: where the earlier run's text went, None if there was none.
        begins_at: offset from which on this run's text is read.
        older_bytes: so many bytes are known to hold an earlier run's text.
        file_id: which file stood there, "" where that cannot be told.
        head_bytes: so much of its beginning is known; 0 for a file that was empty or absent.
        head: digest of that.
    """

    path: str
    ours: bool = False
    rotated_to: str | None = None
    begins_at: int = 0
    older_bytes: int = 0
    file_id: str = ""
    head_bytes: int = 0
    head: str = ""


class RecordedEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the run ended, as its launcher saw it."""

    exit_code: int | None
    signal: int | None
    at_s: float


class RecordedStop(msgspec.Struct, frozen=True, kw_only=True):
    """Who said the run shall end, written before it is made to."""

    uid: int
    username: str
    why: str
    at_s: float


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        run_id: its id.
        name: what its owner calls it.
        process: the captured process.
        launcher: who started it and relaunches it; None for ``pfid attach``.
        started_at_s: wall time.
        source: value of RunSource.
        attempt: 1 for the first launch.
        restarts_left: how often the launcher will still relaunch.
        waiting: the run has ended and its launcher is about to relaunch it.
        argv: the command, secrets masked.
        cwd: its working directory.
        logs: the child's output first.
        expect_step_s: from ``--expect-step``.
        fit: kept for runs of this name by ``pfid probe scaling --keep``.
        fingerprint: digest of what makes two launches the same work.
        job_id: from the scheduler.
        rank: likewise.
        world_size: likewise.
        end: how it ended; None while it lives, and for ever if the launcher died first.
        schema: of this record.
    """

    run_id: str
    name: str
    process: RecordedProcess
    started_at_s: float
    launcher: RecordedProcess | None = None
    source: str = "wrapper"
    attempt: int = 1
    restarts_left: int = 0
    waiting: bool = False
    argv: list[str] = []
    cwd: str = ""
    logs: list[RecordedLog] = []
    expect_step_s: float | None = None
    fit: StepFit | None = None
    fingerprint: str = ""
    job_id: str | None = None
    rank: int | None = None
    world_size: int | None = None
    end: RecordedEnd | None = None
    schema: int = RECORD_SCHEMA


_record_decoder: Final = msgspec.json.Decoder(RunRecord)
_stop_decoder: Final = msgspec.json.Decoder(RecordedStop)
_encoder: Final = msgspec.json.Encoder()


def encode_record(record: RunRecord | RecordedStop) -> bytes:
    """Return JSON, one line."""
    try:
        return _encoder.encode(record) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(text_only(msgspec.to_builtins(record))) + b"\n"


def decode_record(body: bytes, place: str) -> RunRecord:
    """Read a run's record.

    Raises:
        StateError: naming the file and the place in it.
    """
    try:
        record = _record_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise StateError(f"{place} is not a run's record: {error}") from error
    if record.schema != RECORD_SCHEMA:
        raise StateError(f"{place} has schema {record.schema}; this pfid reads {RECORD_SCHEMA}")
    return record


def decode_stop(body: bytes, place: str) -> RecordedStop:
    """Read who stopped a run.

    Raises:
        StateError: naming the file and the place in it.
    """
    try:
        return _stop_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise StateError(f"{place} does not say who stopped a run: {error}") from error
