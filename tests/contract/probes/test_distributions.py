"""What is installed is told as the standard library tells it, without loading that."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pfid.probes import distributions

ASKED = """
import sys
given, file = sys.argv[1], sys.argv[2]
ready = set(sys.modules)
found = {"__name__": "pfid_question"}
exec(compile(open(file).read(), file, "exec"), found)
sys.path[:0] = given.split(":")
said = found["answer"]({})
loaded = sorted(set(sys.modules) - ready)
import json
print(json.dumps([said, loaded]))
"""
LIBRARY = """
import json, sys
from importlib import metadata
sys.path[:0] = sys.argv[1].split(":")
found, unreadable = {}, 0
for each in metadata.distributions():
    try:
        name, version = each.metadata["Name"], each.metadata["Version"]
    except Exception:
        name = None
    if name: found.setdefault(name, version)
    else: unreadable += 1
print(json.dumps([found, unreadable]))
"""


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-I", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def asked(*path):
    return run(ASKED, ":".join(map(str, path)), distributions.__file__)


class Site:
    """A folder on the path."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)

    def put(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def site(tmp_path):
    """Every shape that an installation is found in, whole and broken."""
    site = Site(tmp_path / "first")
    site.put(
        "torch-2.13.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n",
    )
    site.put("a.b_c-1.dist-info/METADATA", "name: A.b-C\nVERSION:   1.0\n\nVersion: 9\n")
    site.put("late-2.dist-info/METADATA", "Summary: x\n" * 2000 + "Name: late\nVersion: 2\n")
    site.put("crlf-1.dist-info/METADATA", "Name: crlf\r\nVersion: 1\r\n\r\nName: body\r\n")
    site.put("old-3.egg-info", "Metadata-Version: 1.0\nName: old\nVersion: 3\n")
    site.put("editable.egg-info/PKG-INFO", "Name: editable\nVersion: 0.1.dev0\n")
    site.put("versionless-0.dist-info/METADATA", "Name: versionless\n")
    site.put("UPPER-1.DIST-INFO/METADATA", "Name: upper\nVersion: 1\n")
    site.put("empty-1.dist-info/RECORD", "")
    site.put("nameless-1.dist-info/METADATA", "Version: 1\n\nName: in the text\n")
    site.put("egg-info/PKG-INFO", "Name: not-found\nVersion: 1\n")
    site.put("not_one.py", "Name: module\n")
    return site


def test_every_shape_is_told_as_the_standard_library_tells_it(site, tmp_path):
    second = Site(tmp_path / "second.egg")
    second.put("EGG-INFO/PKG-INFO", "Name: egg\nVersion: 7\n")
    second.put("torch-1.0.dist-info/METADATA", "Name: torch\nVersion: 1.0\n")
    path = (site.folder, second.folder, tmp_path / "not there", tmp_path / "a.file")
    (tmp_path / "a.file").write_text("no archive")
    said, _ = asked(*path)
    found, unreadable = run(LIBRARY, ":".join(map(str, path)))
    assert said["distributions"] == found
    assert said["unreadable"] == unreadable >= 2
    assert found["torch"] == "2.13.0+cpu"
    assert {"A.b-C", "late", "crlf", "old", "editable", "upper", "egg"} <= set(found)
    assert found["versionless"] is None
    assert not {"not-found", "body", "in the text"} & set(found)


def test_this_very_environment_is_told_as_the_standard_library_tells_it():
    path = [entry for entry in sys.path if entry]
    said, _ = asked(*path)
    assert said["distributions"] == run(LIBRARY, ":".join(path))[0]
    assert len(said["distributions"]) > 10


def test_nothing_is_loaded_for_it_that_a_launch_would_wait_for(site):
    _, loaded = asked(site.folder)
    assert loaded == ["__future__"]


def test_an_archive_on_the_path_is_left_to_the_library(site, tmp_path):
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("zipped-4.dist-info/METADATA", "Name: zipped\nVersion: 4\n")
    said, _ = asked(site.folder, packed)
    assert said["distributions"]["zipped"] == "4"
    assert said["distributions"]["torch"] == "2.13.0+cpu"


HOOK = """
import sys
class Hook:
    def find_distributions(self, context=None):
        from importlib.metadata import PathDistribution
        from pathlib import Path
        return [PathDistribution(Path(sys.argv[1], "late-2.dist-info"))]
    def find_spec(self, *_):
        return None
sys.meta_path = [*sys.meta_path, Hook()]
"""


def test_an_import_hook_that_knows_of_distributions_is_asked(site, tmp_path):
    code = HOOK + ASKED.replace('given.split(":")', "['/nowhere']")
    said, _ = run(code, site.folder, distributions.__file__)
    assert said["distributions"]["late"] == "2"


def test_a_header_without_an_end_ends(site):
    endless = site.folder / "endless-1.dist-info"
    endless.mkdir()
    (endless / "METADATA").symlink_to("/dev/zero")
    said, _ = asked(site.folder)
    assert said["distributions"]["late"] == "2"
    assert "endless" not in said["distributions"]


def test_what_is_no_text_is_told_as_far_as_it_is_one(site):
    site.put("bytes-1.dist-info/METADATA", b"Name: bytes\nVersion: 1\xff\n")
    said, _ = asked(site.folder)
    assert said["distributions"]["bytes"] == "1\ufffd"


def test_the_interpreter_itself_is_named_as_the_library_names_it(site):
    import platform

    said, _ = asked(site.folder)
    assert said["implementation"] == platform.python_implementation()
    assert Path(said["base_prefix"]).is_dir()
