"""Which ranks of one run a series was read from: what one of them prints again is no new writer.

Ranks of one run print the same counters, each with a time of its own. A rank that is behind the
series and goes forward itself tells what is known; only a rank that goes back itself is another
attempt or another run. Clocks that count from the start of a process differ by rank, so of those
one rank's are followed for as long as it goes on.
"""

from array import array
from collections.abc import Sequence
from typing import Final

MAX_RANKS: Final = 64
"""Ranks remembered one by one; more of them are copies wherever they are behind."""
BEHIND: Final = 256
"""Usual strides by which the first line of a rank may lag, as its output may be held back in
blocks; farther behind, whoever writes has begun anew."""
SILENT: Final = 8
"""Usual strides by which another rank must be ahead until the one that was followed has fallen
silent."""


class Ranks:
    """How far each rank of one series has come."""

    __slots__ = ("heard", "lead")

    def __init__(self) -> None:
        """Nobody was heard yet."""
        self.lead: int | None = None
        """The rank that the newest step was read from."""
        self.heard: dict[int, int] = {}

    def hear(self, rank: int, index: int) -> None:
        """A step was read from this rank."""
        self.lead = rank
        self._note(rank, index)

    def tells_again(self, rank: int, index: int, last: int, stride: int) -> bool:
        """Whether a rank tells what another has told, not what it told itself."""
        before = self.heard.get(rank)
        if before is None and last - index > BEHIND * stride and len(self.heard) < MAX_RANKS:
            return False
        if before is not None and index <= before:
            return False
        self._note(rank, index)
        return True

    def followed(self, rank: int, ahead: int, stride: int) -> bool:
        """Whether the clock of this rank is the one to go by."""
        return rank == self.lead or ahead > SILENT * stride

    def _note(self, rank: int, index: int) -> None:
        if rank in self.heard or len(self.heard) < MAX_RANKS:
            self.heard[rank] = index

    def state(self) -> bytes:
        """Return plain data."""
        lead = -1 if self.lead is None else self.lead
        return array("q", [lead, *(n for pair in self.heard.items() for n in pair)]).tobytes()

    @classmethod
    def restore(cls, state: bytes) -> "Ranks":
        """Go on from plain data."""
        held = array("q")
        held.frombytes(state)
        numbers: Sequence[int] = held
        ranks = cls()
        ranks.lead = numbers[0] if numbers[0] >= 0 else None
        ranks.heard = dict(zip(numbers[1::2], numbers[2::2], strict=True))
        return ranks
