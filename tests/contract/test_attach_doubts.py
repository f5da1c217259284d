"""What is most likely a slip of the hand is said before a process is taken under watch."""

import os

from pfid.bootstrap.attaching import _doubts


def test_a_log_that_is_not_there_and_the_first_process_are_doubted_and_nothing_else(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").touch()
    assert list(_doubts(os.getpid(), ["train.log"])) == []
    (absent,) = _doubts(os.getpid(), ["typo.log"])
    assert str(tmp_path / "typo.log") in absent
    (first,) = _doubts(1, [])
    assert "process 1" in first
