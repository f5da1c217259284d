"""``provenance.json`` and what lies beside it: its seal, and notes that annotate it.

The seal holds the digests that the manifest may have, in the form of ``sha256sum -c``: whoever
edits the manifest leaves it behind. It is written before the manifest with the digest to come
beside the one that stands, so that no crash in between looks like an edit.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from pfid.domain.errors import StateError
from pfid.domain.provenance import Manifest
from pfid.wire.provenance import MAX_BYTES, decode_manifest, encode_manifest

MANIFEST: Final = "provenance.json"
SEAL: Final = "provenance.json.sha256"
NOTE: Final = "PROVENANCE-NOTE.md"


class ManifestRead(Struct, frozen=True, kw_only=True):
    """A manifest as it lies on disk.

    Attributes:
        manifest: what it says.
        file: where it lies.
        body: its bytes.
        sha256: of them.
        sealed: what the seal names; () where there is no seal.
    """

    manifest: Manifest
    file: Path
    body: bytes
    sha256: str
    sealed: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether it is another than pfid wrote."""
        return bool(self.sealed) and self.sha256 not in self.sealed


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it whole or not at all.

    Raises:
        StateError: if it cannot be written.
    """
    body = encode_manifest(manifest)
    digest = hashlib.sha256(body).hexdigest()
    standing = read_seal(folder / SEAL)
    if standing:
        _replace(folder / SEAL, _seal((*standing, digest)))
    else:
        _replace(folder / SEAL, _seal((digest,)))
    _replace(folder / MANIFEST, body)
    if standing:
        _replace(folder / SEAL, _seal((digest,)))


def read_manifest(file: Path) -> ManifestRead:
    """Read a manifest and its seal.

    Raises:
        StateError: if there is none, or it is none.
    """
    try:
        with file.open("rb") as opened:
            body = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise StateError(f"cannot read {file}: {error.strerror}") from error
    if len(body) > MAX_BYTES:
        raise StateError(f"{file} has over {MAX_BYTES} bytes; that is no manifest of a run")
    return ManifestRead(
        manifest=decode_manifest(body, str(file)),
        file=file,
        body=body,
        sha256=hashlib.sha256(body).hexdigest(),
        sealed=read_seal(file.with_name(f"{file.name}.sha256")),
    )


def read_seal(file: Path) -> tuple[str, ...]:
    """Digests that a seal names; () where there is none."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(line.split(" ", 1)[0] for line in lines if line)


def _seal(digests: tuple[str, ...]) -> bytes:
    return "".join(f"{digest}  {MANIFEST}\n" for digest in digests).encode()


def _replace(file: Path, body: bytes) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(body)
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StateError(f"cannot write {file}: {error.strerror}") from error
