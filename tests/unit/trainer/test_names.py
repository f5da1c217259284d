"""Can everything a training script needs be imported by its name, and nothing more be loaded?"""

import subprocess
import sys

import pytest

import pfid.trainer


@pytest.mark.parametrize("name", sorted(pfid.trainer._FILE_OF))
def test_every_name_is_there(name):
    assert getattr(pfid.trainer, name).__name__ == name
    assert name in dir(pfid.trainer)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="cache_kye"):
        _ = pfid.trainer.cache_kye


def test_importing_one_name_loads_one_file():
    code = (
        "import sys; from pfid.trainer import cache_key\n"
        "print(sorted(m for m in sys.modules if m.startswith('pfid')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    observing = ["json_text", "line_file", "observe", "run_folder"]
    files = sorted(["content_key", *observing])  # the function is called like its file
    assert out.stdout.strip() == str(
        ["pfid", "pfid.trainer", *(f"pfid.trainer.{f}" for f in files)]
    )
