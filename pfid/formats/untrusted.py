"""Text that came from a run, made safe to show in a terminal, a table or a log line."""

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_ELLIPSIS: Final = "…"


def printable(text: str | bytes, limit: int = 300) -> str:
    r"""Return ``text`` with everything escaped that could move a cursor or hide other text.

    Control characters (so ANSI sequences and line breaks too), bidirectional overrides,
    invisible and unpaired characters become ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``. Bytes are
    read as UTF-8; what is not UTF-8 is shown as ``\xNN``.

    Args:
        text: untrusted text.
        limit: characters at most; longer text ends in an ellipsis.
    """
    if isinstance(text, bytes):
        text = text[: limit * 4 + 4].decode("utf-8", "backslashreplace")
    head = text[: limit + 1]
    safe = _UNSAFE.sub(_escape, head)
    if len(safe) <= limit:
        return safe
    return safe[: max(limit - 1, 0)] + _ELLIPSIS


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
