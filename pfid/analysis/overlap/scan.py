"""Texts held against a stream of any length: for each, what of it stands there verbatim.

One pass over the stream. Every eighth position is looked at by the number of the stretch that
begins there; where one is known, the longest common run is sought among the texts' suffixes in
order. What is found for one text holds for every other that goes on the same, so a phrase in a
thousand outputs costs no more than one. Exact for every overlap of at least the floor; only a run
of over 500 bytes of text that goes on repeating itself may be told shorter than it is.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.overlap.common_prefix import affordable, common_prefix
from pfid.analysis.overlap.spread import spread_over
from pfid.analysis.overlap.suffix_order import WORD, Positions, words_at_every_byte
from pfid.analysis.overlap.windows import SEPARATOR, hashed, stretch_bytes, windows_of

BOUNDARY: Final = b"\xfe"
"""Stands between documents of a stream: no overlap reaches across it."""
BLOCK_BYTES: Final = 1 << 20
_EVERY: Final = slice(None)


class OverlapScan:
    """Feed it the stream, then ask."""

    def __init__(self, texts: Sequence[bytes], floor_bytes: int) -> None:
        """Index the texts.

        Args:
            texts: UTF-8, none of them twice.
            floor_bytes: shorter overlaps are not looked for; at least 15.
        """
        self._windows = windows_of(list(texts), stretch_bytes(floor_bytes))
        longest = max(map(len, texts), default=0)
        self._tail_bytes = longest + self._windows.width + WORD
        self._block_bytes = max(BLOCK_BYTES, 4 * self._tail_bytes)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._tail = b""
        self._at = 0
        self._longest = np.zeros(self._windows.order.size, np.int64)
        self._place = np.zeros(self._windows.order.size, np.int64)

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the stream; documents are kept apart by ``BOUNDARY``."""
        self._waiting.append(piece)
        self._waiting_bytes += len(piece)
        if self._waiting_bytes >= self._block_bytes:
            self._look()

    def finish(self) -> tuple[Positions, Positions]:
        """End the stream.

        Returns:
            For each position of the texts, one separator between them: how many bytes from there on
            stand in the stream in one piece (0 below the floor), and where in the stream.
        """
        self._look()
        return spread_over(self._windows, self._longest, self._place)

    def _look(self) -> None:
        new = b"".join(self._waiting).replace(SEPARATOR, BOUNDARY)
        body = self._tail + new
        self._waiting, self._waiting_bytes = [], 0
        if self._windows.order.size:
            self._scan(body, self._at - len(self._tail))
        self._at += len(new)
        self._tail = body[-self._tail_bytes :]

    def _scan(self, body: bytes, offset: int) -> None:
        width = self._windows.width
        padded = body + BOUNDARY * (width + 2 * WORD)
        words = words_at_every_byte(padded)
        at, groups = self._known(padded, words)
        keep = at < len(body)
        at, groups = at[keep], groups[keep]
        # where all that has this stretch has that of the byte before, too, it was seen from there
        implied = np.zeros(at.size, np.bool_)
        implied[1:] = (at[1:] == at[:-1] + 1) & (self._windows.before[groups[1:]] == groups[:-1])
        at, groups = at[~implied], groups[~implied]
        if not at.size:
            return
        cap = affordable(at.size, self._tail_bytes)
        slot, furthest = self._best(padded, words, at, groups, cap)
        further = furthest >= cap
        further &= ~_late_in_a_row(further, at, self._windows.width)
        slot[further], furthest[further] = self._best(
            padded, words, at[further], groups[further], self._tail_bytes
        )
        self._note(slot, furthest, at + offset)

    def _known(self, padded: bytes, words: NDArray[np.uint64]) -> tuple[Positions, Positions]:
        """Positions whose stretch the texts have, and its group: near every eighth byte of one."""
        held = self._windows
        numbers = hashed(np.frombuffer(padded, "<u8", len(padded) // WORD), _EVERY, held.width)
        some = np.flatnonzero(held.sieve[numbers >> held.shift])
        some = some[held.groups_of(numbers[some]) >= 0]
        near = np.zeros(numbers.size * WORD + 2 * WORD, np.bool_)
        for back in range(WORD):
            near[some * WORD + WORD - back] = True
        at = np.flatnonzero(near[WORD:])
        numbers = hashed(words, at, held.width)
        at = at[held.sieve[numbers >> held.shift]]
        groups = held.groups_of(hashed(words, at, held.width))
        return at[groups >= 0], groups[groups >= 0]

    def _best(
        self,
        padded: bytes,
        words: NDArray[np.uint64],
        at: Positions,
        groups: Positions,
        cap: int,
    ) -> tuple[Positions, Positions]:
        """The slot of the suffix that agrees furthest with the stream, and how far."""
        held, body = self._windows, np.frombuffer(padded, np.uint8)
        low, high = held.first[groups].copy(), held.first[groups + 1].copy()
        slot, furthest = low.copy(), np.zeros(at.size, np.int64)
        some = np.arange(at.size)
        while some.size:
            middle = (low[some] + high[some]) >> 1
            theirs, ours = held.order[middle], at[some]
            agree = common_prefix(held.words, theirs, words, ours, cap)
            better = agree > furthest[some]
            slot[some[better]], furthest[some[better]] = middle[better], agree[better]
            later = (agree < cap) & (held.body[theirs + agree] < body[ours + agree])
            low[some] = np.where(later, middle + 1, low[some])
            high[some] = np.where(later, high[some], middle)
            some = some[low[some] < high[some]]
        return slot, furthest

    def _note(self, slot: Positions, furthest: Positions, place: Positions) -> None:
        better = (furthest > self._longest[slot]) & (furthest >= self._windows.width)
        slot, furthest, place = slot[better], furthest[better], place[better]
        rising = np.argsort(furthest, kind="stable")
        self._longest[slot[rising]] = furthest[rising]
        self._place[slot[rising]] = place[rising]


def _late_in_a_row(further: NDArray[np.bool_], at: Positions, near: int) -> NDArray[np.bool_]:
    """Which positions follow closely on several that went as far: text that repeats itself."""
    late = further & np.concatenate(([False], further[:-1] & (np.diff(at) <= near)))
    for _ in range(WORD - 1):
        late &= np.concatenate(([False], late[:-1]))
    return late
