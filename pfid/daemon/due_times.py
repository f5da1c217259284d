"""Own monotonic due-times: the truth about what is due, whatever the wall clock does."""

import heapq
from typing import Generic, TypeVar

K = TypeVar("K")


class DueTimes(Generic[K]):
    """A key is due once at one time; setting it again moves it."""

    __slots__ = ("_due", "_heap", "_order")

    def __init__(self) -> None:
        """Start with nothing due."""
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._due)

    def set(self, key: K, due_s: float) -> None:
        """Make ``key`` due at ``due_s``, monotonic."""
        self._order += 1
        self._due[key] = (due_s, self._order)
        heapq.heappush(self._heap, (due_s, self._order, key))
        if len(self._heap) > 4 * len(self._due) + 64:
            self._heap = [(due, order, k) for k, (due, order) in self._due.items()]
            heapq.heapify(self._heap)

    def sooner(self, key: K, due_s: float) -> None:
        """Like ``set``, but never later than it is due already."""
        now_due = self._due.get(key)
        if now_due is None or due_s < now_due[0]:
            self.set(key, due_s)

    def drop(self, key: K) -> None:
        """Forget ``key``."""
        self._due.pop(key, None)

    def next_s(self) -> float | None:
        """When the next key is due; None if none is."""
        self._clean()
        return self._heap[0][0] if self._heap else None

    def pop(self, now_s: float) -> tuple[K, float] | None:
        """Take the key that has been due longest, and when it was; None if nothing is due."""
        self._clean()
        if not self._heap or self._heap[0][0] > now_s:
            return None
        due_s, _, key = heapq.heappop(self._heap)
        del self._due[key]
        return key, due_s

    def _clean(self) -> None:
        while self._heap:
            due_s, order, key = self._heap[0]
            if self._due.get(key) == (due_s, order):
                return
            heapq.heappop(self._heap)
