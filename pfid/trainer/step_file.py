"""One rank's step file: what its lines look like, and notes about who writes them.

A step is ``{"step":7,"seconds":0.41,...}`` (read by pfid.formats.steps_file); a line with ``note``
says something about the writer instead. Numbers are put into text by hand: ``json.dumps`` would
take as long as the rest of a step.
"""

import os
from typing import Any, Optional

from .json_text import json_line
from .line_file import LineFile


class StepFile:
    """Writes for one process. Never raises.

    Args:
        path: of the file.
        rank: of the process; None if nobody says.
    """

    __slots__ = ("_file", "_tail", "_told_lost")

    def __init__(self, path: str, rank: Optional[int]) -> None:
        self._file = LineFile(path)
        self._told_lost = 0
        at = "" if rank is None else ',"rank":%d' % rank
        self._tail = '%s,"pid":%d}\n' % (at, os.getpid())

    @property
    def lost(self) -> int:
        """Lines that could not be written."""
        return self._file.lost

    @property
    def why_lost(self) -> str:
        """What the last of them met."""
        return self._file.why

    def step(self, index: int, seconds: Optional[float], more: str = "") -> bool:
        """Write one step; ``more`` is further JSON members, each with a comma before it.

        Once lines go through again, one says how many did not.
        """
        shown = "null" if seconds is None else "%.6g" % seconds
        text = '{"step":%d,"seconds":%s%s%s' % (index, shown, more, self._tail)
        written = self._file.append(text.encode("ascii", "replace"))
        lost = self._file.lost
        if written and lost != self._told_lost and self.note("lost", lines=lost):
            self._told_lost = lost
        return written

    def note(self, about: str, **more: Any) -> bool:
        """Write a line that is no step."""
        text = json_line({"note": about, **more}).rstrip(b"}\n")
        return self._file.append(text + self._tail.encode("ascii"))
