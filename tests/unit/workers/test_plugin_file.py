"""A plugin file is loaded as it is written now, whatever lies beside it."""

import os
import sys

import pytest

from pfid.domain.errors import PluginError
from pfid.workers.plugin_collect import load_file


def test_a_file_edited_within_the_second_is_loaded_as_it_is_now(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "mine.py"
    for said in ("1", "2"):
        file.write_text(f"SAID = {said}\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        assert str(load_file(file).SAID) == said
    assert [place.name for place in tmp_path.iterdir()] == ["mine.py"], "nothing written beside it"


def test_a_file_that_is_no_python_is_named(tmp_path):
    (tmp_path / "mine.txt").write_text("SAID = 1\n")
    with pytest.raises(PluginError, match=r"mine\.txt is no Python file"):
        load_file(tmp_path / "mine.txt")
