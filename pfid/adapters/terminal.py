"""The controlling terminal: lending its foreground to the child, and taking it back."""

import os
import signal
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self


class Terminal:
    """The controlling terminal, if there is one. All calls are harmless without."""

    def __init__(self) -> None:
        """Open it; from now on the launcher may write to it from the background."""
        self._descriptor: int | None = None
        with suppress(OSError):
            self._descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
        self._before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGTTOU, self._before)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def signal_to_restore(self) -> tuple[int, ...]:
        """What a child must set back to its default (SIGTTOU, unless it was ignored before)."""
        return () if self._before is signal.SIG_IGN else (signal.SIGTTOU,)

    def descriptor_if_ours(self) -> int | None:
        """The terminal, if the launcher is in its foreground now; None otherwise."""
        return self._descriptor if self._foreground() == os.getpgrp() else None

    def _foreground(self) -> int | None:
        if self._descriptor is None:
            return None
        try:
            return os.tcgetpgrp(self._descriptor)
        except OSError:  # hung up
            return None

    def lend(self, process_group: int) -> bool:
        """Give the child the foreground if the launcher has it."""
        if self.descriptor_if_ours() is None:
            return False
        return self._set_foreground(process_group)

    def take_back(self, process_group: int) -> None:
        """Take the foreground back if the child still has it."""
        if self._foreground() == process_group:
            self._set_foreground(os.getpgrp())

    def _set_foreground(self, process_group: int) -> bool:
        if self._descriptor is None:
            return False
        try:
            os.tcsetpgrp(self._descriptor, process_group)
        except OSError:
            return False
        return True

    @staticmethod
    def suspend() -> None:
        """Stop with the whole job, as Ctrl-Z does; returns when the shell continues it.

        The signal is SIGTSTP by its default: the kernel does not stop a job that no shell could
        ever continue (an orphaned process group).
        """
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
        signal.signal(signal.SIGTSTP, before)


def shows_output() -> bool:
    """Whether somebody looks at stdout."""
    return sys.stdout.isatty()
