"""The manifest somebody means: a run's, by id, beginning of an id or name, or a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pfid.adapters.manifest_files import MANIFEST, ManifestRead, read_manifest
from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.launch import user_records
from pfid.domain.errors import NoSuchError, PfidError

_NEAR_MAX: Final = 5


class NoManifestError(PfidError):
    """There is no manifest where one was asked for."""


class NoRunError(NoManifestError, NoSuchError):
    """No run, or more than one, is what was asked for."""


def find_manifest(wanted: str, environ: Mapping[str, str]) -> Path:
    """Find the file.

    Args:
        wanted: what somebody typed: a path where it holds a slash or names what exists here.
        environ: of the asker, whose records are looked in.

    Raises:
        NoManifestError: saying what there is instead.
    """
    path = Path(wanted)
    if "/" in wanted or path.suffix == ".json":
        file = path / MANIFEST if path.is_dir() else path
        if not file.exists():
            raise NoManifestError(f"there is no {file}")
        return file
    records = user_records(environ)
    file = records.run_dir(run_id_of(wanted, records)) / MANIFEST
    if not file.exists():
        raise NoManifestError(
            f"{file.parent.name} has no manifest: it was attached, or launched by an older pfid; "
            "`pfid provenance reconstruct` gathers what can still be told"
        )
    return file


def run_id_of(wanted: str, records: RunRecords) -> str:
    """Find a run by id, name or beginning of an id.

    Raises:
        NoRunError: if none or several are meant.
    """
    ids = records.run_ids()
    if wanted in ids:
        return wanted
    named, _ = records.latest(wanted)
    if named:
        return max(named, key=lambda record: (record.started_at_s, record.run_id)).run_id
    begins = sorted(run_id for run_id in ids if run_id.startswith(wanted))
    if len(begins) == 1:
        return begins[0]
    if begins:
        several = ", ".join(begins[:_NEAR_MAX])
        raise NoRunError(f"{wanted!r} begins {len(begins)} runs: {several}; say more of the id")
    raise NoRunError(f"you have no run {wanted!r} on this machine; `pfid status --all` lists runs")


def load(wanted: str, environ: Mapping[str, str]) -> ManifestRead:
    """Find and read.

    Raises:
        NoManifestError: if there is none.
        StateError: if it cannot be read, naming the place.
    """
    return read_manifest(find_manifest(wanted, environ))
