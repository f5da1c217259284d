"""Lines that end in a number: what it is may stand at the beginning of the next one."""

import re
from typing import Final

_BELOW_CHARS: Final = 60
_ENDS: Final = (
    r"\d[%\"'*`)]{0,2}[ \t]{0,4}(?:(?:[-\u2013] ?)?(?:to|and|or|bis|und)|[-\u2013\u00b1])?"
    r"[ \t]{0,4}(?:\\|\*/|-->)?[ \t\r]{0,4}"
)
"""The end of a line whose last word is a number."""
OPEN_IN_ASCII: Final = re.sub(r"\\u[0-9a-f]{4}", "", _ENDS).encode() + rb"(?:\n|$)"
"""The same where a line is ASCII, for the quick engine over many lines."""
_OPEN: Final = re.compile(rf"{_ENDS}\Z")
_OPEN_CHARS: Final = 40
_CONTINUES: Final = " \t\r\\"
_COMMENT: Final = re.compile(r"\A[ \t]*(?:#+|//+|/?\*+|--+|;+|%+|>|\"|')*[ \t]*")


def goes_on_below(line: str) -> bool:
    """Whether the next line may say what the last number of a line is."""
    return _OPEN.search(line, max(len(line) - _OPEN_CHARS, 0)) is not None


def joined_lines(line: str, below: str) -> str:
    """A line with the next, as if it were not broken there."""
    return f"{line.rstrip(_CONTINUES)} {_COMMENT.sub('', below, count=1)[:_BELOW_CHARS]}"
