"""What happens to a launcher while it waits: its child's changes and signals sent to it.

All signals are blocked and taken one by one; no handler ever runs, so none can deadlock.
"""

import os
import signal
import time
from types import TracebackType
from typing import Final, Self

from pfid.adapters.process_identity import from_wait_status
from pfid.policy.job_control import ChildEnded, ChildStopped, Event, SignalCame

_NOT_OURS: Final = frozenset(
    {
        *(signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGTTOU),
        *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP),
        *(signal.SIGABRT, signal.SIGSYS, signal.SIGXFSZ, signal.SIGXCPU, signal.SIGTTIN),
        *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF),
    }
)
FORWARDED: Final = frozenset(signal.valid_signals()) - _NOT_OURS
"""Every signal that somebody may send a launcher and mean its child."""


class ChildEvents:
    """Takes the forwarded signals and SIGCHLD once ``block`` was called, until it is closed."""

    def __init__(self) -> None:
        """Nothing is blocked yet."""
        self._taken = {*FORWARDED, signal.SIGCHLD}
        self._mask_before: set[int] | None = None

    def block(self) -> set[int]:
        """Block them and return the mask a child starts with; blocking twice is harmless.

        SIGCHLD gets its default back, or a child's status would be thrown away.
        """
        if self._mask_before is None:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)
            self._mask_before = {int(number) for number in before}
        return self._mask_before

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._mask_before is None:
            return
        while signal.sigtimedwait(self._taken, 0):
            pass  # meant for a child that has ended
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)

    def wait(self, pid: int) -> Event:
        """Wait for the next thing to happen.

        Args:
            pid: the child.
        """
        while True:
            changed = self._child(pid)
            if changed is not None:
                return changed
            came = signal.sigwaitinfo(self._taken)
            if came.si_signo != signal.SIGCHLD:
                return SignalCame(number=came.si_signo)

    @staticmethod
    def _child(pid: int) -> Event | None:
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if found == 0:
            return None
        if os.WIFSTOPPED(status):
            return ChildStopped(number=os.WSTOPSIG(status))
        return ChildEnded(status=from_wait_status(status))

    def pause(self, seconds: float) -> int | None:
        """Sleep between two attempts; a signal ends it early and is returned."""
        deadline_s = time.monotonic() + seconds
        while (left_s := deadline_s - time.monotonic()) > 0:
            came = signal.sigtimedwait(self._taken, left_s)
            if came is not None and came.si_signo not in {signal.SIGCHLD, signal.SIGWINCH}:
                return came.si_signo
        return None
