"""Messages between the daemon and its log reader, a disposable worker.

The daemon owns state: the reader tells at every batch where it stands (offset and a small parser
state), and a reader that is started afresh goes on from there. A frame may carry descriptors.
msgpack, not JSON: a loss may be NaN, which JSON turns into null.
"""

from typing import Any, Final

import msgspec

from pfid.domain.errors import WireError


class _Order(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    pass


class Follow(_Order, tag="follow", frozen=True, kw_only=True):
    """Follow the descriptor that comes with this frame.

    Attributes:
        stream: id chosen by the daemon, unique for the reader's life.
        kind: ``log`` or ``steps`` (JSON lines written by pfid.trainer).
        begins_at: where the run's text begins; bytes before it are counted, never parsed.
        resume_at: offset to go on from after a restart; None for a new stream.
        parser_state: what the reader last reported for this stream, None for a new one.
    """

    stream: int
    kind: str = "log"
    begins_at: int = 0
    size_at_start: int = 0
    resume_at: int | None = None
    parser_state: Any = None


class Unfollow(_Order, tag="unfollow", frozen=True, kw_only=True):
    """Read to the end once more, report, and close the descriptor."""

    stream: int


class Configure(_Order, tag="configure", frozen=True, kw_only=True):
    """Dialects from configuration and the poll interval."""

    poll_s: float = 0.25
    regex_dialects: dict[str, str] = {}
    jsonl_keys: dict[str, dict[str, str]] = {}


Order = Follow | Unfollow | Configure


class _Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Batch(_Report, tag="batch", frozen=True, kw_only=True):
    """What one stream brought since the last batch.

    ``events`` are StepEvents, ``facts`` a LogFacts, both as
    plain data.
    """

    stream: int
    offset: int
    events: Any
    facts: Any
    phase: str | None = None
    activity: bool = False
    parser_state: Any = None


class Closed(_Report, tag="closed", frozen=True, kw_only=True):
    """The stream is finished and its descriptor closed."""

    stream: int
    why: str = ""


class Beat(_Report, tag="beat", frozen=True, kw_only=True):
    """The reader is alive and went round its streams; sent at least every poll interval x 4."""

    streams: int
    busy_s: float = 0.0


Report = Batch | Closed | Beat

_order_decoder: Final = msgspec.msgpack.Decoder(Order)
_report_decoder: Final = msgspec.msgpack.Decoder(Report)
_encoder: Final = msgspec.msgpack.Encoder()


def encode(message: Order | Report) -> bytes:
    """Return the msgpack of a message, without a frame."""
    return _encoder.encode(message)


def decode_order(body: bytes) -> Order:
    """Read an order.

    Raises:
        WireError: naming the place that is malformed.
    """
    try:
        return _order_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise WireError(f"order is malformed: {error}") from error


def decode_report(body: bytes) -> Report:
    """Read a report.

    Raises:
        WireError: naming the place that is malformed.
    """
    try:
        return _report_decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise WireError(f"report is malformed: {error}") from error
