"""A manifest on disk: whole or not there, and an edit of it is seen."""

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from pfid.adapters import manifest_files
from pfid.adapters.manifest_files import MANIFEST, SEAL, read_manifest, write_manifest
from pfid.domain.errors import StateError
from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    HostIdentity,
    InterpreterIdentity,
    Manifest,
)

LAUNCHED = Manifest(
    run_id="r",
    name="n",
    attempt=1,
    sampled_at_s=1.5,
    command=CommandIdentity(),
    host=HostIdentity(),
    code=CodeIdentity(commit="c"),
    interpreter=InterpreterIdentity(),
    fields={},
)
DONE = replace(LAUNCHED, complete=True)


def test_what_pfid_wrote_is_unchanged_and_its_seal_is_for_everybody(tmp_path):
    write_manifest(tmp_path, LAUNCHED)
    write_manifest(tmp_path, DONE)
    read = read_manifest(tmp_path / MANIFEST)
    assert read.manifest == DONE
    assert not read.changed
    assert read.sealed == (read.sha256,)
    done = subprocess.run(["sha256sum", "-c", SEAL], cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [MANIFEST, SEAL]


def test_an_edit_is_seen(tmp_path):
    write_manifest(tmp_path, DONE)
    file = tmp_path / MANIFEST
    file.write_text(file.read_text().replace('"c"', '"d"'))
    read = read_manifest(file)
    assert read.changed
    assert read.manifest.code.commit == "d"


def test_without_a_seal_nothing_is_called_changed(tmp_path):
    write_manifest(tmp_path, DONE)
    (tmp_path / SEAL).unlink()
    read = read_manifest(tmp_path / MANIFEST)
    assert (read.changed, read.sealed) == (False, ())


@pytest.mark.parametrize("renames", range(4))
def test_no_crash_between_two_renames_looks_like_an_edit(tmp_path, monkeypatch, renames):
    """The second writing is cut off after so many of its renames."""
    write_manifest(tmp_path, LAUNCHED)
    real, done = Path.replace, []

    def dying(self, target):
        if len(done) == renames:
            raise KeyboardInterrupt
        done.append(target)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", dying)
    if renames < 3:
        with pytest.raises(KeyboardInterrupt):
            write_manifest(tmp_path, DONE)
    else:
        write_manifest(tmp_path, DONE)
    assert len(done) == renames
    read = read_manifest(tmp_path / MANIFEST)
    assert not read.changed
    assert read.manifest.complete is (renames > 1)


def test_a_disk_that_takes_nothing_leaves_what_was_there(tmp_path):
    write_manifest(tmp_path, LAUNCHED)
    (tmp_path / "gone").mkdir()
    with pytest.raises(StateError, match="cannot write"):
        write_manifest(tmp_path / "gone" / "deeper", DONE)
    assert read_manifest(tmp_path / MANIFEST).manifest == LAUNCHED


def test_what_is_not_there_or_is_no_manifest_is_named(tmp_path, monkeypatch):
    with pytest.raises(StateError, match="No such file"):
        read_manifest(tmp_path / MANIFEST)
    with pytest.raises(StateError, match="directory"):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text("x" * 100)
    with pytest.raises(StateError, match="is no manifest"):
        read_manifest(tmp_path / MANIFEST)
    monkeypatch.setattr(manifest_files, "MAX_BYTES", 10)
    with pytest.raises(StateError, match="over 10 bytes"):
        read_manifest(tmp_path / MANIFEST)


def test_a_seal_that_is_no_seal_names_nothing(tmp_path):
    write_manifest(tmp_path, DONE)
    (tmp_path / SEAL).write_bytes(b"\xff\xfe")
    assert read_manifest(tmp_path / MANIFEST).sealed == ()
