"""One epoll over every pidfd: a death is seen in a fraction of a millisecond.

It fires when the process ends, also while it is an unreaped zombie, for any user's process.
"""

import contextlib
import os
import select
import threading
from collections.abc import Callable

from pfid.adapters.clocks import SystemClock

OnDeath = Callable[[int, float, float], None]
"""Gets token, wall time and monotonic time; called in the poller's thread, in order of deaths."""


class PidfdPoller:
    """Waits for deaths in a thread of its own. Descriptors stay their owner's."""

    def __init__(self, on_death: OnDeath) -> None:
        """Prepare; nothing waits yet."""
        self._on_death = on_death
        self._clock = SystemClock()
        self._tokens: dict[int, int] = {}
        self._epoll = select.epoll()
        self._stop_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._stop_fd, select.EPOLLIN)
        self._thread = threading.Thread(target=self._wait, name="pidfd poller", daemon=True)

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def watch(self, token: int, pidfd: int) -> None:
        """Report the death of the process behind ``pidfd`` once, as ``token``.

        A process that has ended already is reported at once.
        """
        self._tokens[pidfd] = token
        self._epoll.register(pidfd, select.EPOLLIN)

    def unwatch(self, pidfd: int) -> None:
        """Forget it; to be called before the descriptor is closed. Twice is harmless."""
        if self._tokens.pop(pidfd, None) is not None:
            with contextlib.suppress(OSError):
                self._epoll.unregister(pidfd)

    def close(self) -> None:
        """Stop waiting."""
        os.eventfd_write(self._stop_fd, 1)
        if self._thread.ident is not None:
            self._thread.join()
        self._epoll.close()
        os.close(self._stop_fd)

    def _wait(self) -> None:
        while True:
            for fd, _ in self._epoll.poll():
                if fd == self._stop_fd:
                    return
                token = self._tokens.get(fd)
                self.unwatch(fd)
                if token is not None:
                    self._on_death(token, self._clock.now_s(), self._clock.monotonic_s())
