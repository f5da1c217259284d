"""Letters to a worker that any thread may write, each for the worker of one generation."""

import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

from pfid.domain.errors import WireError
from pfid.wire.framing import MAX_FRAME_BYTES
from pfid.workers.channel import MAX_DESCRIPTORS
from pfid.workers.closing import CLOSER

Letter = tuple[bytes, tuple[int, ...]]
"""A message without its frame, and the descriptors that go with it."""
_NOBODY: Final = -1


class WorkerOutbox:
    """Holds what is not sent yet; whoever takes a letter owns its descriptors."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._lock = threading.Lock()
        self._letters: deque[Letter] = deque()
        self._listening = _NOBODY

    def open(self, generation: int) -> None:
        """A worker of this generation listens."""
        with self._lock:
            self._listening = generation

    def put(self, body: bytes, descriptors: Sequence[int], generation: int) -> bool:
        """Add a letter; False if the worker of that generation is gone.

        Raises:
            OSError: if a descriptor cannot be duplicated.
            WireError: if it is more than a message can carry.
        """
        if len(body) > MAX_FRAME_BYTES or len(descriptors) > MAX_DESCRIPTORS:
            raise WireError(f"{len(body)} bytes, {len(descriptors)} descriptors: over the limit")
        with self._lock:
            if generation != self._listening:
                return False
            self._letters.append((body, _duplicates(descriptors)))
        return True

    def take(self) -> list[Letter]:
        """Take all letters out, oldest first."""
        with self._lock:
            letters = list(self._letters)
            self._letters.clear()
        return letters

    def shut(self) -> None:
        """Nobody listens any more: what was not sent is thrown away."""
        with self._lock:
            self._listening = _NOBODY
        for _, descriptors in self.take():
            _close_all(descriptors)


def _duplicates(descriptors: Sequence[int]) -> tuple[int, ...]:
    duplicates: list[int] = []
    try:
        duplicates.extend(os.dup(fd) for fd in descriptors)
    except OSError:
        _close_all(tuple(duplicates))
        raise
    return tuple(duplicates)


def _close_all(descriptors: tuple[int, ...]) -> None:
    for fd in descriptors:
        CLOSER.close(fd)
