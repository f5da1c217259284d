"""``provenance.json``: a manifest as text, and back."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.provenance import SCHEMA, Manifest
from pfid.policy.launch_environ import ALWAYS
from pfid.policy.provenance_fields import always_there
from pfid.wire.text_only import text_only

MAX_BYTES: Final = 64 * 1024 * 1024


def encode_manifest(manifest: Manifest) -> bytes:
    """Return JSON for people and programs, every key in it.

    Bytes that are no text (a file name of another time) stand there as their escapes.
    """
    try:
        body = msgspec.json.encode(manifest)
    except UnicodeEncodeError:
        body = msgspec.json.encode(text_only(msgspec.to_builtins(manifest)))
    return msgspec.json.format(body, indent=2) + b"\n"


def decode_manifest(body: bytes, place: str) -> Manifest:
    """Read a manifest.

    Raises:
        StateError: naming the file and the place in it.
    """
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise StateError(f"{place} is no manifest of a run: {error}") from error
    if manifest.schema != SCHEMA:
        raise StateError(f"{place} has schema {manifest.schema}; this pfid reads {SCHEMA}")
    return manifest


def absent_keys(body: bytes, manifest: Manifest) -> tuple[str, ...]:
    """Keys, dotted, that a manifest should have and its text does not: absent is an accident.

    Of its tables with free names too: every field and every variable that is always written.
    """
    return (
        *_absent(msgspec.to_builtins(manifest), msgspec.json.decode(body), ""),
        *(f"fields.{n}" for n in always_there(manifest.expected) if n not in manifest.fields),
        *(f"command.environ.{n}" for n in ALWAYS if n not in manifest.command.environ),
    )


def _absent(whole: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(whole, Mapping) and isinstance(found, Mapping):
        for key, value in whole.items():
            if key in found:
                yield from _absent(value, found[key], f"{path}{key}.")
            else:
                yield f"{path}{key}"
    elif isinstance(whole, list | tuple) and isinstance(found, list):
        for place, (value, there) in enumerate(zip(whole, found, strict=False)):
            yield from _absent(value, there, f"{path}{place}.")
