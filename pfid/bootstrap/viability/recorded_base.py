"""The base of a run as its launch recorded it, and finding it by what the run wrote."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.adapters.manifest_files import MANIFEST, read_manifest
from pfid.adapters.weight_files import WeightsError
from pfid.adapters.weight_identities import identity_of, read_identity, write_identity
from pfid.bootstrap.launch import user_records
from pfid.bootstrap.manifest_lookup import find_manifest
from pfid.domain.errors import ConfigError, StateError
from pfid.domain.provenance import FileRole, Manifest, Source
from pfid.domain.weight_identity import WeightIdentity
from pfid.policy.provenance_fields import Said

AT_LAUNCH: Final = "base.json"
"""Its name beside the run's manifest."""
LOOKED_AT_MAX: Final = 500


def base_at_launch(run: str, adapter: Path, environ: Mapping[str, str]) -> WeightIdentity | None:
    """The base that a run's launch recorded.

    Args:
        run: its id, name or manifest; "" for the newest that declared the adapter as its artefact.
        adapter: folder of what it wrote.
        environ: of the asker.

    Raises:
        NoManifestError: if the run that is named is none.
        StateError: if the record cannot be read.
    """
    if run:
        return read_identity(find_manifest(run, environ).with_name(AT_LAUNCH))
    try:
        records = user_records(environ)
    except ConfigError:
        return None
    newest_first = sorted(records.run_ids(), reverse=True, key=lambda i: i.rpartition("-")[0][-16:])
    for run_id in newest_first[:LOOKED_AT_MAX]:
        file = records.run_dir(run_id) / AT_LAUNCH
        if file.exists():
            with suppress(StateError):
                if _wrote(read_manifest(file.with_name(MANIFEST)).manifest, adapter):
                    return read_identity(file)
    return None


def record_at_launch(base: Path, run_dir: Path) -> tuple[Said | None, str]:
    """Write what the base's tensors hold beside the run's manifest; what to say of it in that.

    Raises:
        StateError: if it cannot be written.
    """
    try:
        identity = identity_of((base,))
    except WeightsError as error:
        return None, str(error)
    write_identity(run_dir / AT_LAUNCH, identity)
    value = {
        "digest": identity.digest,
        "tensors": len(identity.tensors),
        "size_bytes": identity.size_bytes,
        "read_bytes": identity.read_bytes,
        "index_sha256": identity.index_sha256,
    }
    by = Source(kind="launcher", at_s=identity.at_s, detail=str(base))
    return Said(value=value, by=by), ""


def _wrote(manifest: Manifest, adapter: Path) -> bool:
    """Whether an artefact of the run is the adapter, lies in it, or has it in it."""
    ours = os.path.realpath(adapter)
    for file in manifest.files:
        if file.role is FileRole.ARTEFACT:
            its = os.path.realpath(file.path)
            if ours == its or its.startswith(f"{ours}/") or ours.startswith(f"{its}/"):
                return True
    return False
