"""A checkpoint's identity as a file beside what was made from it, and back."""

from typing import Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.weight_identity import IDENTITY_SCHEMA, WeightIdentity
from pfid.wire.text_only import text_only

BESIDE: Final = "pfid-base.json"
"""Its name beside an adapter."""
MAX_BYTES: Final = 256 << 20


def encode_identity(identity: WeightIdentity) -> bytes:
    """Return JSON, one line: a hundred thousand tensors stand in it."""
    try:
        return msgspec.json.encode(identity) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(text_only(msgspec.to_builtins(identity))) + b"\n"


def decode_identity(body: bytes, place: str) -> WeightIdentity:
    """Read an identity.

    Raises:
        StateError: naming the file and the place in it.
    """
    try:
        found = msgspec.json.decode(body, type=WeightIdentity)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise StateError(f"{place} is no record of a base: {error}") from error
    if found.schema != IDENTITY_SCHEMA:
        raise StateError(f"{place} has schema {found.schema}; this pfid reads {IDENTITY_SCHEMA}")
    return found
