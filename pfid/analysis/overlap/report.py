"""What of each text stands in a stream: characters, words, how much of it, and where."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pfid.analysis.overlap.suffix_order import Positions

_UNSPACED: Final = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""A run of letters and digits; a sign by itself where a script writes no blanks between words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """One text beside a stream. Every count of characters is in code points.

    Attributes:
        chars: length of the text.
        longest_chars: the longest run of it that stands in the stream; 0 if none reaches the floor.
        longest_words: most whole words in one such run.
        covered_chars: of the text that lie in any such run.
        at: character at which the longest begins.
        place: byte of the stream at which it stands.
    """

    chars: int
    longest_chars: int = 0
    longest_words: int = 0
    covered_chars: int = 0
    at: int = 0
    place: int = 0


def overlaps(
    texts: Sequence[bytes], far: Positions, where: Positions, floor_chars: int
) -> Iterator[Overlap]:
    """Sum up what a scan found.

    Args:
        texts: that were scanned.
        far: as ``OverlapScan.finish`` returns it.
        where: the same.
        floor_chars: runs of fewer characters do not count.
    """
    begins = 0
    for text in texts:
        ends = begins + len(text)
        yield _overlap(text, far[begins:ends], where[begins:ends], floor_chars)
        begins = ends + 1


def words_inside(text: str, begins: int, ends: int) -> int:
    """Words of a text that lie whole between two of its characters."""
    first = max(begins - 1, 0)
    found = (m.span() for m in _WORD.finditer(text, first, min(ends + 1, len(text))))
    return sum(begins <= a and b <= ends for a, b in found)


def _overlap(text: bytes, far: Positions, where: Positions, floor: int) -> Overlap:
    written = text.decode(errors="ignore")
    runs = list(_runs(text, far, where, floor))
    if not runs:
        return Overlap(chars=len(written))
    longest = max(runs, key=lambda run: run[1] - run[0])
    return Overlap(
        chars=len(written),
        longest_chars=longest[1] - longest[0],
        longest_words=max(words_inside(written, a, b) for a, b, _ in runs),
        covered_chars=_covered(runs),
        at=longest[0],
        place=longest[2],
    )


def _runs(
    text: bytes, far: Positions, where: Positions, floor: int
) -> Iterator[tuple[int, int, int]]:
    """Runs that no other holds: first character, the one behind the last, byte of the stream."""
    at = np.flatnonzero(far >= floor)
    if not at.size:
        return
    ends = at + far[at]
    new = np.concatenate(([True], ends[1:] > ends[:-1]))  # ends never go back
    at, ends = at[new], ends[new]
    begins_char = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80  # RFC 3629
    whole = np.concatenate((begins_char, [True]))
    before = np.concatenate(([0], np.cumsum(begins_char)))
    first, last = before[at], before[ends] - ~whole[ends]
    cut = np.flatnonzero(whole)[first] - at
    long = last - first >= floor
    places = where[at] + cut
    yield from zip(first[long].tolist(), last[long].tolist(), places[long].tolist(), strict=True)


def _covered(runs: Sequence[tuple[int, int, int]]) -> int:
    covered, reached = 0, 0
    for begins, ends, _ in runs:
        covered += max(ends - max(begins, reached), 0)
        reached = max(reached, ends)
    return covered
