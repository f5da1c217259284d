"""Quantiles of a stream in bounded memory, where every answer is a value that occurred.

Exact up to ``exact_to`` values. Beyond that a Greenwald-Khanna summary (SIGMOD 2001), fed in
sorted batches: it keeps real observations with bounds on their ranks, so an answer is off by at
most ``rank_error`` of n ranks, guaranteed, not expected. Smallest and largest stay exact.
"""

from array import array
from bisect import insort
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from pfid.analysis.percentiles import rank_of

RANK_ERROR: Final = 0.001
"""Share of n by which a rank may be off while the summary fits into its memory."""
MAX_ENTRIES: Final = 4_500
"""Entries of 16 bytes; where a hostile order needs more, the error is doubled and reported."""
BATCH: Final = 512
_COUNTS: Final = {4: "I", 8: "Q"}
"""How a count is written, by its bytes; states of older versions have the longer one."""


class QuantileSketch:
    """Takes values one by one; answers nearest-rank percentiles at any time."""

    __slots__ = ("_entries_max", "_exact_to", "_g", "_pending", "_spread", "_values", "error", "n")

    def __init__(
        self,
        exact_to: int = 10_000,
        error: float = RANK_ERROR,
        *,
        entries_max: int | None = None,
    ) -> None:
        """Keep ``exact_to`` values as they are before summarising into ``entries_max``."""
        self._exact_to = exact_to
        self._entries_max = entries_max or MAX_ENTRIES
        self._values = array("d")
        self._g = array("I")
        self._spread = array("I")
        self._pending = array("d")
        self.error = error
        self.n = 0

    @property
    def exact(self) -> bool:
        """Whether every value is still held."""
        return self.n <= self._exact_to

    @property
    def rank_error(self) -> float:
        """Largest share of n by which the rank of an answer may be off; 0 when exact."""
        return 0.0 if self.exact else self.error

    def add(self, value: float) -> None:
        """Take one value."""
        self.n += 1
        if self.exact:
            insort(self._values, value)
            return
        if not self._g:
            self._summarise()
        self._pending.append(value)
        if len(self._pending) >= BATCH:
            self._flush()

    def _summarise(self) -> None:
        """No longer keep each value: of so many neighbours that the error allows the last stays.

        What :meth:`_compress` would come to, without the memory for a count beside each value.
        """
        values, room = self._values, max(1, int(2 * self.error * self.n))
        kept = [*range(0, len(values) - 1, room), len(values) - 1]
        self._values = array("d", (values[at] for at in kept))
        self._g = array("I", (at - before for before, at in pairwise([-1, *kept])))
        self._spread = array("I", bytes(4 * len(kept)))

    def percentile(self, percent: float) -> float:
        """Return the value nearest to the rank of ``percent``.

        Raises:
            ValueError: when nothing was added.
        """
        rank = rank_of(self.n, percent)
        if self.exact:
            return self._values[rank - 1]
        self._flush()
        if rank <= 1:
            return self._values[0]
        if rank >= self.n:
            return self._values[-1]
        return self._closest(rank)

    def _closest(self, rank: int) -> float:
        best, best_off = self._values[0], self.n
        low = 0
        for value, g, spread in zip(self._values, self._g, self._spread, strict=True):
            low += g
            off = max(rank - low, low + spread - rank)
            if off < best_off:
                best, best_off = value, off
        return best

    def _flush(self) -> None:
        if not self._pending:
            return
        self._merge(sorted(self._pending))
        self._pending = array("d")
        self._compress()
        while len(self._values) > self._entries_max:
            self.error *= 2
            self._compress()

    def _merge(self, batch: Sequence[float]) -> None:
        values, g, spread = array("d"), array("I"), array("I")
        old_values, old_g, old_spread = self._values, self._g, self._spread
        at, count = 0, len(old_values)
        for value in batch:
            start = at
            while at < count and old_values[at] <= value:
                at += 1
            values.extend(old_values[start:at])
            g.extend(old_g[start:at])
            spread.extend(old_spread[start:at])
            values.append(value)
            g.append(1)
            # Between two entries the new rank is as uncertain as its successor's allows.
            inner = 0 < at < count
            spread.append(old_g[at] + old_spread[at] - 1 if inner else 0)
        values.extend(old_values[at:])
        g.extend(old_g[at:])
        spread.extend(old_spread[at:])
        self._values, self._g, self._spread = values, g, spread

    def _compress(self) -> None:
        room = int(2 * self.error * self.n)
        values, g, spread = array("d"), array("I"), array("I")
        last = len(self._values) - 1
        held = 0
        for at, value in enumerate(self._values):
            held += self._g[at]
            # An entry goes into its successor when that keeps the successor's bounds; the first
            # and the last stay, so that smallest and largest are exact.
            if 0 < at < last and held + self._g[at + 1] + self._spread[at + 1] <= room:
                continue
            values.append(value)
            g.append(held)
            spread.append(self._spread[at])
            held = 0
        self._values, self._g, self._spread = values, g, spread

    def state(self) -> dict[str, Any]:
        """Return plain data from which ``restore`` goes on."""
        return {
            "n": self.n,
            "exact_to": self._exact_to,
            "entries_max": self._entries_max,
            "error": self.error,
            "values": self._values.tobytes(),
            "g": self._g.tobytes(),
            "spread": self._spread.tobytes(),
            "pending": self._pending.tobytes(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "QuantileSketch":
        """Go on from a state.

        Raises:
            ValueError: if the state does not hold together.
        """
        exact_to, entries_max = state["exact_to"], state.get("entries_max")
        sketch = cls(exact_to=exact_to, error=state["error"], entries_max=entries_max)
        sketch.n = state["n"]
        sketch._values.frombytes(state["values"])
        width = len(state["g"]) // max(1, len(sketch._values))
        sketch._g = array("I", array(_COUNTS.get(width, "I"), state["g"]))
        sketch._spread = array("I", array(_COUNTS.get(width, "I"), state["spread"]))
        sketch._pending.frombytes(state["pending"])
        held = sum(sketch._g) if sketch._g else len(sketch._values)
        if held + len(sketch._pending) != sketch.n:
            raise ValueError(f"sketch of {sketch.n} values holds {held + len(sketch._pending)}")
        return sketch
