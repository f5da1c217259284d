"""One launch at a time of a name: flock on a file of the user's own.

The lock guards the moments from guard to record, not the run: a run's life is told by its
captured identity. A child that waits at its gate shares the open file, but unlocking unlocks it
for both, and a launcher that dies lets the child go with it: the lock outlives nobody.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pfid.domain.errors import LaunchError

_RETRY_S: Final = 0.02
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def name_lock(file: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock while the context is open.

    Raises:
        LaunchError: if another launch keeps it for ``wait_s``, or the file system has no locks.
    """
    descriptor = _locked(file, time.monotonic() + wait_s)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _locked(file: Path, deadline_s: float) -> int:
    while True:
        descriptor = _open(file)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise _no_locks(file, error) from error
        else:
            if _still_there(file, descriptor):
                return descriptor
            os.close(descriptor)
        if time.monotonic() >= deadline_s:
            raise LaunchError(f"another launch holds {file}; try again when it is through")
        time.sleep(_RETRY_S)


def _open(file: Path) -> int:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(file, _FLAGS, 0o600)
    except OSError as error:
        raise LaunchError(
            f"cannot open {file}: {error.strerror}; pfid keeps its state below XDG_STATE_HOME, "
            "set it to a folder of yours"
        ) from error


def _still_there(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _no_locks(file: Path, error: OSError) -> LaunchError:
    why = "its file system has no locks" if error.errno == errno.ENOLCK else error.strerror
    return LaunchError(f"cannot lock {file}: {why}; set XDG_STATE_HOME to a local folder")
