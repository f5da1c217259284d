"""torchtitan: ``[titan] 2026-08-21 10:11:12,345 - root - INFO - step: 10  loss:  3.91  ...``.

No seconds are printed and ``tps`` is a mean over the logging interval: times are differences of
the stamps. Colour codes are written even into files.
"""

import re
from typing import Final

from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import real, stamp_s, whole
from pfid.formats.reading import Reading, stamped

NAME: Final = "torchtitan"
TRIGGERS: Final = (rb"INFO - (?:\x1b\[[\d;]{0,9}m){0,4}step: ",)
_LINE: Final = re.compile(rb"\bstep: {1,12}([\d,]{1,20}) {1,8}loss: {1,12}([-+\w.]{1,30})")


def read(raw: bytes) -> Reading | None:
    """Return the reading of a line; None if it is not torchtitan's."""
    rank, text = split_label(without_ansi(raw))
    found = _LINE.search(text)
    if found is None:
        return None
    index = whole(found[1])
    if index is None:
        return None
    return stamped(NAME, index, stamp_s(text[: found.start()]), rank, real(found[2]))
