"""One epoll over every pidfd: a death is seen in a fraction of a millisecond.

It fires when the process ends, also while it is an unreaped zombie, for any user's process.
"""

import contextlib
import os
import select
import signal
from typing import Final

AT_ONCE: Final = 64
"""Deaths taken at a time; the others come with the next."""


class PidfdPoller:
    """Waits for deaths, in the thread of whoever asks. Descriptors stay their owner's."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._tokens: dict[int, int] = {}
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # Edge-triggered: each wake counts once, and nobody has to read it away.
        self._epoll.register(self._wake_fd, select.EPOLLIN | select.EPOLLET)
        self._signal_fds: tuple[int, ...] = ()

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

    def wait(self, timeout_s: float) -> list[int]:
        """Wait for deaths, for a wake or so long, in whole milliseconds; 0 only looks.

        Returns:
            The tokens of those that ended, in the order in which they did.
        """
        dead: list[int] = []
        for fd, _ in self._epoll.poll(timeout_s, AT_ONCE):
            token = self._tokens.get(fd)
            if fd in self._signal_fds:
                os.read(fd, AT_ONCE)
            if token is not None:
                self.unwatch(fd)
                dead.append(token)
        return dead

    def wake(self) -> None:
        """Have the wait that is going on, or the next one, end; from any thread."""
        with contextlib.suppress(BlockingIOError):  # it stands at its most: ready as it is
            os.eventfd_write(self._wake_fd, 1)

    def heed_signals(self) -> None:
        """Have every signal that Python handles end the wait; for the main thread to call.

        One that comes just before the wait begins, or in another thread, interrupts nothing:
        its handler would run when something else ends the wait.
        """
        self._signal_fds = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        told, tell = self._signal_fds
        self._epoll.register(told, select.EPOLLIN)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)  # a full pipe is readable too

    def close(self) -> None:
        """Watch nothing any more; from the thread that heeds signals."""
        if self._signal_fds:
            signal.set_wakeup_fd(-1)
        self._epoll.close()
        for fd in self._signal_fds:
            os.close(fd)
        os.close(self._wake_fd)
