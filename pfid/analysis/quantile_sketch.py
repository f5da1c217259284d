"""Quantiles of a stream in bounded memory, where every answer is a value that occurred.

Exact up to ``exact_to`` values. Beyond that a Greenwald-Khanna summary (SIGMOD 2001), fed in
sorted batches: it keeps real observations with bounds on their ranks, so an answer is off by at
most ``rank_error`` of n ranks, guaranteed, not expected. Smallest and largest stay exact.
"""

from array import array
from bisect import insort
from collections.abc import Sequence
from typing import Any, Final

from pfid.analysis.percentiles import rank_of

RANK_ERROR: Final = 0.001
"""Share of n by which a rank may be off while the summary fits into its memory."""
MAX_ENTRIES: Final = 6_000
"""Entries of 24 bytes; where a hostile order needs more, the error is doubled and reported."""
BATCH: Final = 512


class QuantileSketch:
    """Takes values one by one; answers nearest-rank percentiles at any time."""

    __slots__ = ("_exact_to", "_g", "_pending", "_spread", "_values", "error", "n")

    def __init__(self, exact_to: int = 10_000, error: float = RANK_ERROR) -> None:
        """Keep ``exact_to`` values as they are before summarising."""
        self._exact_to = exact_to
        self._values = array("d")
        self._g = array("Q")
        self._spread = array("Q")
        self._pending: list[float] = []
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
            self._g = array("Q", [1]) * len(self._values)
            self._spread = array("Q", [0]) * len(self._values)
        self._pending.append(value)
        if len(self._pending) >= BATCH:
            self._flush()

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
        self._pending.sort()
        self._merge(self._pending)
        self._pending = []
        self._compress()
        while len(self._values) > MAX_ENTRIES:
            self.error *= 2
            self._compress()

    def _merge(self, batch: Sequence[float]) -> None:
        values, g, spread = array("d"), array("Q"), array("Q")
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
        values, g, spread = array("d"), array("Q"), array("Q")
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
            "error": self.error,
            "values": self._values.tobytes(),
            "g": self._g.tobytes(),
            "spread": self._spread.tobytes(),
            "pending": array("d", self._pending).tobytes(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "QuantileSketch":
        """Go on from a state.

        Raises:
            ValueError: if the state does not hold together.
        """
        sketch = cls(exact_to=state["exact_to"], error=state["error"])
        sketch.n = state["n"]
        sketch._values.frombytes(state["values"])
        sketch._g.frombytes(state["g"])
        sketch._spread.frombytes(state["spread"])
        pending = array("d")
        pending.frombytes(state["pending"])
        sketch._pending = pending.tolist()
        held = sum(sketch._g) if sketch._g else len(sketch._values)
        if held + len(sketch._pending) != sketch.n:
            raise ValueError(f"sketch of {sketch.n} values holds {held + len(sketch._pending)}")
        return sketch
