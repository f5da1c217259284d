"""Asks ripgrep for the lines in which a figure may stand; without it, or where it fails, nobody."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.adapters.bounded_process import CannotStartError, run_bounded
from pfid.formats.figures.prefilter import IN_LINE
from pfid.formats.figures.told_rows import OMITTED, below_of

BATCH_CHARS: Final = 800_000
"""Of paths in one call, with a pointer each: well below what a program may be given."""
POINTER_CHARS: Final = 9
RIPGREP_S: Final = 120.0
OUT_MAX_BYTES: Final = 1 << 28
NO_DIGIT: Final = "[^0-9]"
"""To ripgrep a byte that is no text is no letter either, unless it is asked for bytes."""
LINE_MAX_BYTES: Final = 2_000
"""A longer line is not told, only that there is one."""
_OPTIONS: Final = (
    *("--null", "--no-line-number", "--byte-offset", "--with-filename", "--no-heading"),
    *("--color=never", f"--max-columns={LINE_MAX_BYTES}", "--text", "--no-config"),
    *("--no-messages", "--no-ignore", "--hidden", r"--field-match-separator=\x01"),
    *("--no-context-separator", r"--field-context-separator=\x02"),
)
BEHIND_PLACE: Final = b"\x01"
"""No colon, which would make a time of day of the place and what a line begins with."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line in which something may stand.

    Attributes:
        at_byte: its place in the file.
        raw: itself.
        below: how the next one begins, where this goes on there; None if that is not known.
    """

    at_byte: int
    raw: bytes
    below: bytes | None = None

    @property
    def cut(self) -> bool:
        """Whether the line is too long to be told."""
        return self.raw.startswith(OMITTED)


class RipgrepError(Exception):
    """It is not there, or gives up."""


def every_row(told: bytes) -> list[bytes]:
    """Of what it tells."""
    return told.split(b"\n")


def lines_by_ripgrep(
    folder: str,
    paths: Sequence[str],
    pattern: str,
    environ: Mapping[str, str] | None,
    worth: Callable[[bytes], Iterable[bytes]] = every_row,
    *,
    lines_below: int = 0,
) -> dict[str, list[Hit]]:
    """The lines of each file in which something may stand.

    Args:
        folder: the root.
        paths: of texts in UTF-8, from the root; none with an end of line in its name.
        pattern: as :func:`pfid.formats.figures.prefilter.prefilter` makes it, by line.
        environ: with a PATH on which ripgrep may be.
        worth: of its rows, each a path, a place and a line, those that are kept.
        lines_below: are told behind each as rows of their own, with another mark; what is kept
            are then records, as :func:`pfid.formats.figures.told_rows.records` makes them.

    Raises:
        RipgrepError: if it is not there, or does not read all of them.
    """
    program = None if environ is None else shutil.which("rg", path=environ.get("PATH"))
    if program is None or environ is None:
        raise RipgrepError
    told_below = f"--after-context={lines_below}"
    head = [program, *_OPTIONS, told_below, "--regexp", _bytewise(pattern), "--"]
    found: dict[str, list[Hit]] = {}
    for batch in _batches([f"{folder}/{path}" for path in paths]):
        try:
            done = run_bounded(
                [*head, *batch], environ, deadline_s=RIPGREP_S, out_max_bytes=OUT_MAX_BYTES
            )
        except CannotStartError as error:
            raise RipgrepError from error
        if done.exit_code not in (0, 1) or done.overflowed:
            raise RipgrepError
        for path, hit in _hits(worth(done.out), records=lines_below > 0):
            found.setdefault(path[len(folder) + 1 :], []).append(hit)
    return found


def _hits(rows: Iterable[bytes], *, records: bool) -> Iterator[tuple[str, Hit]]:
    last, path = b"", ""
    for row in rows:
        name, mark, rest = row.partition(b"\0")
        if not mark:
            continue
        at_byte, _, raw = rest.partition(BEHIND_PLACE)
        if name != last:
            last, path = name, os.fsdecode(name)
        line, below = below_of(raw) if records else (raw, None)
        yield path, Hit(int(at_byte), line, below)


def _bytewise(pattern: str) -> str:
    told = pattern.replace(IN_LINE, NO_DIGIT).replace(NO_DIGIT, f"(?-u:{NO_DIGIT})")
    for boundary in (r"\b", r"\B"):
        told = told.replace(boundary, f"(?-u:{boundary})", 1)
    return told


def _batches(paths: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        size += len(os.fsencode(path)) + POINTER_CHARS
        batch.append(path)
        if size > BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
