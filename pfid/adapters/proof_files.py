"""Proofs of serving paths where the user's state lies: one file a trial, and its log beside."""

import hashlib
import os
from pathlib import Path
from typing import Final

from pfid.domain.errors import StateError
from pfid.wire.serving import MAX_BYTES, ServingProof, decode_proof, encode_proof

FOLDER: Final = "serving"
_BLOCK_BYTES: Final = 1 << 20


class ProofFiles:
    """Below one user's state folder."""

    def __init__(self, state: Path) -> None:
        """Nothing is made until something is kept."""
        self.folder = state / FOLDER

    def log_for(self, stem: str) -> Path:
        """Where the log of a trial lies; its folder is made.

        Raises:
            StateError: if that cannot be done.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"cannot make {self.folder}: {error.strerror}") from error
        return self.folder / f"{stem}.log"

    def keep(self, stem: str, proof: ServingProof) -> Path:
        """Write a proof whole or not at all.

        Raises:
            StateError: if it cannot be written.
        """
        file = self.folder / f"{stem}.json"
        draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        try:
            draft.write_bytes(encode_proof(proof))
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StateError(f"cannot write {file}: {error.strerror}") from error
        return file

    def all(self) -> tuple[list[ServingProof], int]:
        """Every proof, newest first, and how many files are none."""
        found, bad = [], 0
        try:
            files = sorted(self.folder.glob("*.json"))
        except OSError:
            return [], 0
        for file in files:
            try:
                with file.open("rb") as opened:
                    found.append(decode_proof(opened.read(MAX_BYTES), str(file)))
            except (OSError, StateError):
                bad += 1
        return sorted(found, key=lambda proof: proof.at_s, reverse=True), bad


def file_sha256(path: str) -> str:
    """Digest of a regular file; "" where it cannot be read."""
    digest = hashlib.sha256()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def tail_of(path: str, size_bytes: int) -> bytes:
    """The end of a log; empty where it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain string
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size_bytes))
            return file.read(size_bytes)
    except OSError:
        return b""
