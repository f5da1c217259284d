"""Facts of one log in few bytes: a run of many ranks has a step file of each.

As objects they take five times as much, and they are only looked at together.
"""

from dataclasses import fields
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from pfid.domain.inside import Inside
from pfid.domain.log_facts import LogFacts, LossSeen, Marker, MarkerSeen

_FACTS: Final = tuple(field.name for field in fields(LogFacts))
_INSIDE: Final = tuple(field.name for field in fields(Inside))
_encoder: Final = msgspec.msgpack.Encoder()


class _Inside(msgspec.Struct, array_like=True, frozen=True):
    asked: bool
    attached: int
    reported: int
    explicit: bool
    optimizers: tuple[str, ...]
    given_up: bool
    lost: int
    accounting: str
    peak_flops_per_s: float | None
    dynamo: dict[str, int]


class _Facts(msgspec.Struct, array_like=True, frozen=True):
    bytes_before_run: int
    bytes_read: int
    nul_prefix_bytes: int
    truncations: int
    moved: bool
    writers: int
    rewinds: int
    resumes: int
    markers: dict[Marker, MarkerSeen]
    losses: tuple[LossSeen, ...]
    dialects: tuple[str, ...]
    unread: bool
    inside: _Inside | None


_decoder: Final = msgspec.msgpack.Decoder(_Facts)


def pack_facts(facts: LogFacts) -> bytes:
    """Write them, without a name beside each."""
    said: list[Any] = [getattr(facts, name) for name in _FACTS]
    if facts.inside is not None:
        said[-1] = [getattr(facts.inside, name) for name in _INSIDE]
    return _encoder.encode(said)


def unpack_facts(packed: bytes) -> LogFacts:
    """Read what :func:`pack_facts` wrote in this process."""
    read = _decoder.decode(packed)
    said = dict(zip(_FACTS, astuple(read), strict=True))
    if read.inside is not None:
        said["inside"] = Inside(**dict(zip(_INSIDE, astuple(read.inside), strict=True)))
    return LogFacts(**said)
