"""Text of a file of any size and encoding: what is none is told apart, the rest read in blocks."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.formats.linear_regex import Pattern
from pfid.formats.table_headers import SEPARATED

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""So much is held at a time, up to the end of a line."""
SNIFF_BYTES: Final = 8_192
UTF_8: Final = "utf-8"
_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
_EVERY_MARK: Final = tuple(mark for mark, _ in _MARKS)
_ZEROS_SHARE: Final = 0.4
"""Of every second byte, in a text of two bytes a letter that has no mark."""


class NoFileError(Exception):
    """What is no file: a link, a folder, or gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of whole lines.

    Attributes:
        text: of it.
        line: number of its first line.
        above: letters at its beginning that were read before: the first row of a table.
    """

    text: str
    line: int
    above: int = 0


def encoding_at(path: str) -> str:
    """How a regular file is written; "" if it is no text.

    Raises:
        NoFileError: if it is no regular file.
        OSError: if it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _why_not_opened(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoFileError(path)
        return encoding_of(os.pread(descriptor, SNIFF_BYTES, 0))
    finally:
        os.close(descriptor)


def encoding_of(head: bytes) -> str:
    """How a text that begins so is written; "" if it is none."""
    for mark, encoding in _MARKS if head.startswith(_EVERY_MARK) else ():
        if head.startswith(mark):
            return encoding
    if b"\0" not in head:
        return UTF_8
    zeros = [head[first::2].count(0) / (len(head) / 2) for first in (0, 1)]
    for none, many, encoding in ((0, 1, "utf-16-le"), (1, 0, "utf-16-be")):
        if zeros[none] == 0 and zeros[many] >= _ZEROS_SHARE:
            return encoding
    return ""


def blocks(path: Path, encoding: str, quick: Pattern | None) -> Iterator[Block]:
    """Blocks of a text in which something may stand.

    Args:
        path: of the file.
        encoding: as :func:`encoding_at` says.
        quick: what a block of good UTF-8 must match; None: every block is handed on.

    Raises:
        OSError: if it cannot be read.
    """
    line, top = 1, ""
    for text, good in _texts(path, encoding, quick):
        if line == 1 and path.suffix.lower() in SEPARATED:
            top = text[: text.find("\n") + 1]
        if good:
            above = top if line > 1 else ""
            yield Block(text=above + text, line=line - bool(above), above=len(above))
        line += text.count("\n")


def _texts(path: Path, encoding: str, quick: Pattern | None) -> Iterator[tuple[str, bool]]:
    """Stretches of whole lines, and whether something may stand in each."""
    if encoding != UTF_8:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            while text := file.read(BLOCK_BYTES // 4):
                yield text + file.readline(BLOCK_BYTES), True
        return
    with path.open("rb") as raw:
        while body := raw.read(BLOCK_BYTES):
            body += raw.readline(BLOCK_BYTES)
            try:
                text = body.decode()
            except UnicodeDecodeError:  # the quick engine would stumble over the same
                yield body.decode(errors="replace"), True
            else:
                yield text, quick is None or quick.search(body) is not None


def _why_not_opened(path: str, error: OSError) -> Exception:
    """What is no file, or went away, is none; a file that is closed to us is said."""
    try:
        is_file = stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        is_file = False
    except OSError:
        is_file = True
    return error if is_file else NoFileError(path)
