"""Files are told apart by birth, beginnings by digest; a writer's way of opening by the kernel."""

import os
import subprocess

import pytest

from pfid.adapters.file_identity import file_id, head_digest, text_digest
from pfid.adapters.process_facts import appends_to


@pytest.fixture
def opened(tmp_path):
    """Open files of this test's for reading."""
    held = []

    def look(name, text=None):
        if text is not None:
            (tmp_path / name).write_text(text)
        held.append(os.open(tmp_path / name, os.O_RDONLY))
        return held[-1]

    yield look
    for descriptor in held:
        os.close(descriptor)


def test_a_file_keeps_its_id_over_a_rename_more_text_and_being_emptied(tmp_path, opened):
    first = file_id(opened("a.log", "text"))
    (tmp_path / "a.log").rename(tmp_path / "b.log")
    again = file_id(opened("b.log", ""))
    assert first == again != ""


def test_the_next_file_of_a_name_has_another_id_even_with_the_same_inode(tmp_path, opened):
    seen = set()
    for _ in range(5):
        seen.add(file_id(opened("a.log", "text")))
        (tmp_path / "a.log").unlink()
    assert len(seen) == 5


def test_a_beginning_is_known_again_and_a_shorter_file_has_none(opened):
    descriptor = opened("a.log", "Traceback, and more")
    assert head_digest(descriptor, 9) == text_digest(b"Traceback")
    assert head_digest(descriptor, 100) == ""
    assert head_digest(opened("b.log", "Tracebuck"), 9) != text_digest(b"Traceback")


@pytest.mark.parametrize(("mode", "appends"), [("a", True), ("w", False)])
def test_a_process_that_appends_is_told_from_one_that_writes_anew(tmp_path, mode, appends):
    log = tmp_path / "a.log"
    (tmp_path / "other.log").touch()
    with log.open(mode) as out:
        process = subprocess.Popen(["sleep", "60"], stdout=out)
    try:
        assert appends_to(process.pid, str(log)) is appends
        assert appends_to(process.pid, str(tmp_path / "other.log")) is False
        log.rename(tmp_path / "moved.log")
        log.touch()
        assert appends_to(process.pid, str(log)) is False, "another file has the name now"
    finally:
        process.kill()
        process.wait()
    assert appends_to(process.pid, str(log)) is False, "nothing is known of the dead"
