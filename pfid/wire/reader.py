"""Messages between the daemon and its log reader, a disposable worker.

The daemon owns state: the reader tells at every batch where it stands (offset and a small parser
state), and a reader that is started afresh goes on from there. A frame may carry descriptors.
msgpack, not JSON: a loss may be NaN, which JSON turns into null.
"""

from enum import Enum
from typing import Any, Final

import msgspec

from pfid.domain.log_facts import LogFacts
from pfid.domain.step import Phase, StepEvent
from pfid.wire.worker_codec import WorkerCodec


class StreamKind(Enum):
    """What stands in a followed file."""

    LOG = "log"
    STEPS = "steps"
    """JSON lines written by pfid.trainer."""


class CloseReason(Enum):
    """Why the reader follows a stream no longer, or never did."""

    UNFOLLOWED = "unfollowed"
    """Asked for; everything up to the size at that moment was read."""
    NO_DESCRIPTOR = "no_descriptor"
    """The descriptor got lost on its way: the reader is out of descriptors."""
    NOT_READABLE = "not_readable"
    """Opened for writing only, or as a bare path."""
    NOT_REGULAR = "not_regular"
    """A pipe, socket, device or directory."""
    FILESYSTEM_REFUSED = "filesystem_refused"
    """On a file system where a read may block for ever or is no file at all."""
    READ_FAILED = "read_failed"
    """The file system answered with an error, again and again."""
    BAD_STATE = "bad_state"
    """The parser state that came with the order cannot be restored."""
    PARSER_FAILED = "parser_failed"
    """The parser raised: a fault of pfid's own, and this text is not followed on."""
    REPLACED = "replaced"
    """Another Follow came for the same stream."""


class _Order(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    pass


class Follow(_Order, tag="follow", frozen=True, kw_only=True):
    """Follow the descriptor that comes with this frame.

    Attributes:
        stream: id chosen by the daemon, unique for the reader's life.
        kind: a log or a step file.
        begins_at: where the run's text begins; bytes before it are counted, never parsed.
        size_at_start: so many bytes are known to be older than the run.
        resume_at: offset to go on from after a restart; None for a new stream.
        parser_state: what the reader last reported for this stream, None for a new one; plain data
            where an earlier version reported it.
        facts: likewise; of a step file they are part of its state, which is kept once. Without a
            state they are all that is known: the reader goes on with the next line.
        uid: whose run it is; ``Configure.bytes_per_s`` counts by it.
        other_file: ``resume_at`` and ``parser_state`` are of the file whose place this one took: it
            is read from its start, unless it begins as that one did up to there.
    """

    stream: int
    kind: StreamKind = StreamKind.LOG
    begins_at: int = 0
    size_at_start: int = 0
    resume_at: int | None = None
    parser_state: Any = None
    facts: LogFacts | None = None
    uid: int = 0
    other_file: bool = False


class Unfollow(_Order, tag="unfollow", frozen=True, kw_only=True):
    """Read to the present end once more, within reason, report, and close the descriptor."""

    stream: int


class Took(_Order, tag="took", frozen=True, kw_only=True):
    """So many batches were dealt with since the last Took; see ``Configure.batches_max``."""

    batches: int = 1


class Configure(_Order, tag="configure", frozen=True, kw_only=True):
    """Dialects from configuration and the pace; holds for streams followed after it.

    Attributes:
        poll_s: how often a file that grows is looked at.
        quiet_poll_s: how often one that has been quiet for long is.
        regex_dialects: name to pattern.
        jsonl_keys: name to keys of a JSON-lines dialect.
        allow_fuse: follow files on FUSE as well. Right where the reader serves one user alone
            (the embedded engine): there a file that blocks harms its owner only.
        bytes_per_s: how much of one user's files is read a second, 0 for no limit; root's are not
            counted.
        batches_max: how many batches may be under way before the reader waits for a Took; a daemon
            that takes longer over a batch than the reader does is not flooded. 0 for no limit.
    """

    bytes_per_s: int = 0
    poll_s: float = 0.25
    quiet_poll_s: float = 2.0
    regex_dialects: dict[str, str] = {}
    jsonl_keys: dict[str, dict[str, str]] = {}
    allow_fuse: bool = False
    batches_max: int = 0


Order = Follow | Unfollow | Took | Configure


class _Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Batch(_Report, tag="batch", frozen=True, kw_only=True):
    """What one stream brought since the last batch.

    Attributes:
        stream: as in Follow.
        offset: everything before it is in this or earlier batches; pass it back as ``resume_at``.
        events: new steps, in the order of the file.
        facts: everything the log has said so far, not only since the last batch.
        phase: what the run is doing, as far as the text says.
        activity: whether the file grew.
        parser_state: pass it back with ``offset``; opaque, and packed, since it is only kept.
    """

    stream: int
    offset: int
    events: tuple[StepEvent, ...]
    facts: LogFacts
    phase: Phase | None = None
    activity: bool = False
    parser_state: bytes | None = None


class Closed(_Report, tag="closed", frozen=True, kw_only=True):
    """The stream is finished and its descriptor closed.

    Attributes:
        stream: as in Follow.
        why: the reason.
        detail: file system type or error name; never a path.
    """

    stream: int
    why: CloseReason
    detail: str = ""


class Beat(_Report, tag="beat", frozen=True, kw_only=True):
    """The reader is alive and went round its streams; sent at least every poll interval x 4.

    Attributes:
        streams: how many are followed.
        busy_s: processor seconds used since the reader's start.
        backlog_bytes: bytes that stand in the files and were not read yet.
    """

    streams: int
    busy_s: float = 0.0
    backlog_bytes: int = 0


Report = Batch | Closed | Beat

_codec: Final = WorkerCodec[Order, Report](Order, Report)
encode: Final = _codec.encode
decode_order: Final = _codec.decode_order
decode_report: Final = _codec.decode_report
