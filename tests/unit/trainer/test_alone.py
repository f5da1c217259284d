"""What a training process imports stands alone: no third party, no pfid, under any name."""

import shutil
import subprocess
import sys
from pathlib import Path

import pfid.trainer

IMPORT_ALL = """
import importlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
for file in sorted(root.glob("vendored/**/*.py")):
    if file.parent.name != "site":
        name = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        importlib.import_module(name)
print(sorted(n for n in sys.modules if n.split(".")[0] in ("pfid", "torch", "json")))
from vendored import StepReporter, observe
print(StepReporter.__module__, observe("key", 1))
"""


def test_every_file_is_imported_without_a_single_library_and_by_another_name(tmp_path):
    shutil.copytree(Path(pfid.trainer.__file__).parent, tmp_path / "vendored")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded, last = done.stdout.splitlines()
    assert "pfid" not in loaded.replace("json", "")
    assert last == "vendored.step_reporter False"
