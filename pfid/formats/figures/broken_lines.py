"""Lines that end in a number: what it is may stand at the beginning of the next one."""

import re
from typing import Final

_BELOW_CHARS: Final = 60
OPEN_TAIL: Final = (
    "[%\"'*`)]{0,2}[ \t]{0,4}(?:(?:[-\u2013] ?)?(?:to|and|or|bis|und)|[-\u2013\u00b1])?"
    "[ \t]{0,4}(?:\\\\|\\*/|-->)?[ \t\r]{0,4}"
)
"""What may stand between a line's last word, a number, and its end; for any engine."""
OPEN_IN_ASCII: Final = b"[0-9]" + OPEN_TAIL.encode("ascii", "ignore") + rb"(?:\n|$)"
"""The end of a line in ASCII that is a number, for the quick engine over many lines."""
_OPEN: Final = re.compile(rf"\d{OPEN_TAIL}\Z")
_OPEN_CHARS: Final = 40
_CONTINUES: Final = " \t\r\\"
_COMMENT: Final = re.compile(r"\A[ \t]*(?:#+|//+|/?\*+|--+|;+|%+|>|\"|')*[ \t]*")


def goes_on_below(line: str) -> bool:
    """Whether the next line may say what the last number of a line is."""
    return _OPEN.search(line, max(len(line) - _OPEN_CHARS, 0)) is not None


def joined_lines(line: str, below: str) -> str:
    """A line with the next, as if it were not broken there."""
    return f"{line.rstrip(_CONTINUES)} {_COMMENT.sub('', below, count=1)[:_BELOW_CHARS]}"
