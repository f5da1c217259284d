"""The loop's one inbox: what other threads put there, and deaths, for which it waits itself.

A thread between the kernel and the loop would be woken by each death only to wake the loop; on an
idle machine an awakening is a good part of what a death takes until it is committed.
"""

import queue
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from pfid.adapters.clocks import SystemClock
from pfid.adapters.pidfd_poll import PidfdPoller

M = TypeVar("M")

FINE_S: Final = 0.001
"""The kernel counts a wait for deaths in whole milliseconds; what is left of a short one goes by a
finer clock, and a death within it is seen at its end. A long one may end that much late: to end it
exactly would be one more awakening."""
LONG_S: Final = 0.01
GLANCE_S: Final = 0.0005
"""While there is work, deaths are looked for so often: each look lets another thread compute."""


class Inbox(Generic[M]):
    """Many put, one thread takes."""

    def __init__(self, died: Callable[[int, float, float], M]) -> None:
        """Start empty; ``died`` makes a message of token, wall time and monotonic time."""
        self._died = died
        self._clock = SystemClock()
        self._messages: queue.SimpleQueue[M] = queue.SimpleQueue()
        self._poller = PidfdPoller()
        self._waiting = False
        self._looked_s = 0.0

    def watch(self, token: int, pidfd: int) -> None:
        """Take the death of the process behind ``pidfd`` for a message, once."""
        self._poller.watch(token, pidfd)

    def unwatch(self, pidfd: int) -> None:
        """Forget it; to be called before the descriptor is closed. Twice is harmless."""
        self._poller.unwatch(pidfd)

    def heed_signals(self) -> None:
        """Wait no longer once a signal came whose handler puts something; for the main thread."""
        self._poller.heed_signals()

    def put(self, message: M) -> None:
        """Add a message; from any thread, and from a signal handler."""
        self._messages.put(message)
        if self._waiting:
            self._poller.wake()

    def leave(self, message: M) -> None:
        """Add a message that wakes nobody: it is taken with the next one, or when work is due."""
        self._messages.put(message)

    def get(self, timeout: float) -> M:
        """Take the next message; deaths until now stand behind those that were put before.

        Args:
            timeout: seconds to wait for one, 0 for none.

        Raises:
            queue.Empty: if none came.
        """
        if not self._messages.empty():
            self._glance()
        until_s = time.monotonic() + timeout
        while self._messages.empty():
            left_s = until_s - time.monotonic()
            if left_s < FINE_S:
                return self._messages.get(timeout=max(0.0, left_s))
            self._wait(left_s)
        return self._messages.get_nowait()

    def get_nowait(self) -> M:
        """Take the next message; for deaths only ``get`` and ``empty`` look.

        Raises:
            queue.Empty: if there is none.
        """
        return self._messages.get_nowait()

    def empty(self) -> bool:
        """Whether there is nothing to take; a death may stay unseen for ``GLANCE_S``."""
        if self._messages.empty():
            self._glance()
        return self._messages.empty()

    def close(self) -> None:
        """Wait for no deaths any more; what is put from now on is taken by nobody."""
        self._waiting = False
        self._poller.close()

    def _wait(self, timeout_s: float) -> None:
        self._waiting = True
        try:
            if self._messages.empty():  # whoever puts one from here on wakes us
                self._look(timeout_s if timeout_s >= LONG_S else timeout_s // FINE_S * FINE_S)
        finally:
            self._waiting = False

    def _glance(self) -> None:
        if time.monotonic() - self._looked_s >= GLANCE_S:
            self._look(0.0)

    def _look(self, timeout_s: float) -> None:
        for token in self._poller.wait(timeout_s):
            at_s, mono_s = self._clock.now_s(), self._clock.monotonic_s()
            self._messages.put(self._died(token, at_s, mono_s))
        self._looked_s = time.monotonic()
