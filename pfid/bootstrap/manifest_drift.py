"""What a manifest has on record and is another thing now, by its digest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.content_digest import Declared, digest_all
from pfid.adapters.manifest_files import NOTE, ManifestRead
from pfid.domain.provenance import FileRole, Manifest
from pfid.formats.provenance_note import digests_in

INPUTS: Final = frozenset({FileRole.CONFIG, FileRole.DATASET, FileRole.AUXILIARY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A file that is not what its recorded digest says.

    Attributes:
        path: which.
        role: what it is to the run; "manifest" for the manifest itself, "annotated" for what a
            note beside it is about.
        recorded: the digest on record.
        found: the digest now; None where there is none to be had.
        takes_away: whether what the run wrote is no longer what it wrote. An input that was
            edited after the launch takes nothing from a manifest, which says what it was.
    """

    path: str
    role: str
    recorded: str
    found: str | None
    takes_away: bool = True


def drifted(read: ManifestRead, say: Callable[[str], None], *, inputs: bool) -> tuple[Drift, ...]:
    """Everything recorded that is another thing now.

    Args:
        read: the manifest.
        say: told how far reading is.
        inputs: whether declared inputs are read again too, which may take as long as at launch.
    """
    roles = {FileRole.ARTEFACT, *(INPUTS if inputs else ())}
    return (
        *_manifest(read),
        *_files(read.manifest, roles, say),
        *annotated(read.file.with_name(NOTE)),
    )


def _manifest(read: ManifestRead) -> Iterator[Drift]:
    if read.changed:
        yield Drift(
            path=str(read.file), role="manifest", recorded=read.sealed[-1], found=read.sha256
        )


def _files(manifest: Manifest, roles: set[FileRole], say: Callable[[str], None]) -> Iterator[Drift]:
    then = [file for file in manifest.files if file.sha256 is not None and file.role in roles]
    now = digest_all([Declared(role=file.role, path=file.path) for file in then], say)
    for before, after in zip(then, now, strict=True):
        if before.sha256 is not None and after.sha256 != before.sha256:
            yield Drift(
                path=before.path,
                role=before.role.value,
                recorded=before.sha256,
                found=after.sha256,
                takes_away=before.role not in INPUTS,
            )


def drift_of(read: ManifestRead, about: Path, digest: str) -> tuple[Drift, ...]:
    """What is on record of one artefact and differs from its digest now."""
    found = [drift for drift in _manifest(read) if Path(drift.path) == about]
    for file in read.manifest.files:
        if Path(file.path) == about and file.sha256 not in {None, digest}:
            recorded = file.sha256 or ""
            found.append(
                Drift(path=file.path, role=file.role.value, recorded=recorded, found=digest)
            )
    return (*found, *(d for d in annotated(about.with_name(NOTE)) if Path(d.path) == about))


def annotated(note: Path) -> Iterator[Drift]:
    """What was changed after the note beside it was written."""
    try:
        text = note.read_text(errors="replace")
    except OSError:
        return
    for name, recorded in digests_in(text).items():
        file = note.parent / Path(name).name
        found = sha256_of(file)
        if found != recorded:
            yield Drift(path=str(file), role="annotated", recorded=recorded, found=found)


def sha256_of(file: Path) -> str | None:
    """Digest of a file or folder, as a manifest records it; None where there is none to be had."""
    role = FileRole.ARTEFACT
    (found,) = digest_all([Declared(role=role, path=str(file.absolute()))], lambda _: None)
    return found.sha256
