"""The mount table as several threads of a daemon ask it at once."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from pfid.workers.mounts import MOUNTS, types

THREADS = 8
ASKED = 2_000


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before_s)


@pytest.mark.usefixtures("hasty")
def test_threads_that_ask_at_once_are_all_answered(tmp_path):
    answers, errors = set(), []
    together = threading.Barrier(THREADS)
    fd = os.open(tmp_path, os.O_RDONLY)

    def ask() -> None:
        together.wait()
        try:
            answers.update(MOUNTS.type_of(fd) for _ in range(ASKED))
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(fd)
    assert errors == []
    assert len(answers) == 1


def test_a_name_of_a_mount_point_may_hold_what_elsewhere_ends_a_line():
    table = (
        "36 35 98:0 /mnt /mnt/a\x0b\x0c\r\x85\u2028b rw,noatime master:1 - ext4 /dev/root rw\n"
        "37 36 0:41 / /mnt/c rw - fuse.sshfs a@b:/c rw\n"
    )
    assert types(table) == (
        {"36": "ext4", "37": "fuse.sshfs"},
        {"98:0": "ext4", "0:41": "fuse.sshfs"},
    )


def test_the_table_is_kept_open_without_a_word_at_the_end():
    asked = "from pfid.workers.mounts import MOUNTS; print(MOUNTS.type_of(0) is not None)"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "always", "-c", asked],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
