"""The mount table as several threads of a daemon ask it at once."""

import os
import sys
import threading
from collections.abc import Iterator

import pytest

from pfid.workers.mounts import MOUNTS

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
