"""Showing a log on a terminal by following the file.

No proxy stands between child and log: what the terminal shows or loses, the file keeps.
"""

import os
import threading
from typing import Final

_CHUNK_BYTES: Final = 64 * 1024
_POLL_S: Final = 0.05


class LogEcho:
    """A thread that copies what is appended to a file; a stuck terminal holds up nothing else."""

    def __init__(self, log: int, offset: int, out: int) -> None:
        """Start.

        Args:
            log: descriptor open for reading; owned by the echo from now on.
            offset: where to begin.
            out: descriptor to copy to.
        """
        self._log = log
        self._offset = offset
        self._out = out
        self._finish = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="log-echo", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        try:
            while not self._finish.wait(_POLL_S):
                self._copy()
            self._copy()
        except OSError:
            return  # the terminal is gone; the log is not
        finally:
            os.close(self._log)

    def _copy(self) -> None:
        while chunk := os.pread(self._log, _CHUNK_BYTES, self._offset):
            self._offset += len(chunk)
            left = memoryview(chunk)
            while left:
                left = left[os.write(self._out, left) :]

    def finish(self, within_s: float = 2.0) -> None:
        """Show what is still to be shown, but do not wait for ever for a stuck terminal."""
        self._finish.set()
        self._thread.join(within_s)
