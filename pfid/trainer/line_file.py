"""Lines appended whole to a file that many processes may share, and never an exception.

The file is opened, written and closed for every line. A descriptor that is kept would survive as a
number that means somebody else's file once a program has closed all descriptors and opened its
own; and after ``kill -9`` a buffer would be lost. It costs 8 us.
"""

import os

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK


class LineFile:
    """One file.

    Attributes:
        path: where it lies.
        lost: lines that could not be written.
        why: what the last of them met, "" if all were written.
    """

    __slots__ = ("_torn", "lost", "path", "why")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lost = 0
        self.why = ""
        self._torn = False

    def append(self, line: bytes) -> bool:
        """Write one line with its end; False, counted, if the file cannot take it whole."""
        try:
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                # After a line that came through in part, the next begins on a line of its own.
                whole = b"\n" + line if self._torn else line
                self._torn = True
                self._torn = os.write(descriptor, whole) != len(whole)
            finally:
                os.close(descriptor)
        except OSError as error:
            return self._lose(error.strerror or "cannot be written")
        return self._lose("was written in part") if self._torn else True

    def _lose(self, why: str) -> bool:
        self.lost += 1
        self.why = why
        return False
