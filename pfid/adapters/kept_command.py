"""A command with a keeper before it, who ends all that it started when pfid closes or is killed."""

import socket
import sys
from collections.abc import Sequence
from typing import Final

from pfid.workers import keeper

_QUIET_PYTHON: Final = ("-I", "-S")


class KeptCommand:
    """The command as it is to be started, and pfid's end of what binds its keeper."""

    def __init__(self, argv: Sequence[str], grace_s: float) -> None:
        """Start nothing.

        Args:
            argv: the command.
            grace_s: between asking what it started to end and killing it.
        """
        self._ours, self._theirs = socket.socketpair()
        self._theirs.set_inheritable(True)
        bound = (str(self._theirs.fileno()), str(grace_s))
        self.argv = (sys.executable, *_QUIET_PYTHON, keeper.__file__, *bound, *argv)

    def started(self) -> None:
        """The keeper has its end now."""
        self._theirs.close()

    def is_in_background(self) -> bool:
        """Whether the command ended well and left something that lives on."""
        try:
            return self._ours.recv(1, socket.MSG_DONTWAIT) == keeper.BACKGROUND
        except OSError:
            return False

    def close(self) -> None:
        """All shall end that still lives."""
        self._ours.close()
