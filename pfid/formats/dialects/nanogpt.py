"""nanoGPT and its many copies: ``iter 100: loss 3.2101, time 345.12ms, mfu 31.20%``.

The time is that of this one iteration, whatever the logging interval, and holds the evaluation
or the save if there was one.
"""

import re
from typing import Final

from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import finite, real, whole
from pfid.formats.reading import Reading, printed

NAME: Final = "nanogpt"
TRIGGERS: Final = (rb": loss (?:\d|nan|inf)",)
_LINE: Final = re.compile(
    rb"\b(?:iter|step) (\d{1,15}): loss ([-+\w.]{1,30}), time ([\d.]{1,30}) ?(ms|s)\b"
)


def read(raw: bytes) -> Reading | None:
    """Return the reading of a line; None if it is not nanoGPT's."""
    rank, text = split_label(without_ansi(raw))
    found = _LINE.search(text)
    if found is None:
        return None
    index, time = whole(found[1]), finite(found[3])
    if index is None or time is None:
        return None
    seconds = time / 1000 if found[4] == b"ms" else time
    return printed(NAME, NAME, index, seconds, rank, real(found[2]), interval=1)
