"""What installers wrote down is what importlib.metadata says of it, in every way it may lie."""

import importlib
import sys
import zipfile
from importlib import metadata
from types import SimpleNamespace

import pytest

from pfid.host.foreign import entry_points
from pfid.workers.installed import GROUP, may_have_entry_points, told

POINTS = f"[{GROUP}]\nacme = acme_checks\n"
META = "Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def install(folder):
    folder.mkdir(parents=True)
    for header in ("METADATA", "PKG-INFO"):
        (folder / header).write_text(META)
    (folder / "entry_points.txt").write_text(POINTS)
    importlib.invalidate_caches()


def found():
    return [(point.name, point.place, point.version) for point in entry_points()]


def test_groups_of_what_is_installed_here_are_all_known():
    groups = metadata.entry_points().groups
    assert groups, "pytest alone brings some"
    assert all(may_have_entry_points(group) for group in groups)
    assert not may_have_entry_points("nobody.has.this")


@pytest.mark.parametrize("name", ["acme-1.2.dist-info", "acme-1.2.egg-info", "Acme-1.2.DIST-INFO"])
def test_a_plugin_in_a_plain_folder_is_found(site, name):
    assert ("acme", "acme_checks", "1.2") not in found()
    install(site / name)
    assert ("acme", "acme_checks", "1.2") in found()


def test_a_plugin_in_an_egg_is_found(tmp_path, monkeypatch):
    install(tmp_path / "acme-1.2-py3.11.egg" / "EGG-INFO")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "acme-1.2-py3.11.egg"), *sys.path])
    assert ("acme", "acme_checks", "1.2") in found()


def test_a_plugin_in_an_archive_is_found(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("acme-1.2.dist-info/METADATA", META)
        packed.writestr("acme-1.2.dist-info/entry_points.txt", POINTS)
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])
    assert ("acme", "acme_checks", "1.2") in found()


def test_a_plugin_that_only_an_import_hook_knows_is_found(tmp_path, monkeypatch):
    install(tmp_path / "acme-1.2.dist-info")
    one = metadata.PathDistribution(tmp_path / "acme-1.2.dist-info")
    hook = SimpleNamespace(
        find_distributions=lambda *_: [one], find_spec=lambda *_: None, __module__="theirs"
    )
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, hook])
    assert ("acme", "acme_checks", "1.2") in found()


def test_the_text_of_a_distribution_is_that_of_the_one_which_is_imported(site, tmp_path_factory):
    install(site / "acme_extra-1.2.dist-info")
    (site / "acme_extra-1.2.dist-info" / "direct_url.json").write_bytes(b"\xff")
    assert told("acme_extra", "direct_url.json") is None, "what is no text tells nothing"
    assert told("acme", "direct_url.json") is None
    later = tmp_path_factory.mktemp("later")
    install(later / "acme-1.1.dist-info")
    (later / "acme-1.1.dist-info" / "direct_url.json").write_text("{}")
    sys.path.insert(1, str(later))
    assert told("acme", "direct_url.json") == "{}"
    install(site / "acme-1.2.dist-info")
    assert told("acme", "direct_url.json") is None, "the first has none, and hides the other"
