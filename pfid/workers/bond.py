"""What every worker does first: end with its owner, and take over what it inherited."""

import ctypes
import os
import signal
import socket

from pfid.workers.channel import Channel
from pfid.workers.touch_cell import TouchCell

_PR_SET_PDEATHSIG = 1


def die_with_owner() -> None:
    """Ask the kernel for SIGKILL when the owner's thread ends, however it ends.

    The end of the socket says the same to a worker that reads it; this reaches a stopped or
    spinning one too. Only the thread that started us counts, and the owner keeps it for our life.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def inherited(arguments: list[str]) -> tuple[Channel, TouchCell]:
    """Take over the socket and the touch cell whose descriptor numbers stand in ``arguments``.

    Raises:
        SystemExit: if they are not what an owner hands down.
    """
    try:
        socket_fd, cell_fd = (int(argument) for argument in arguments)
        channel = Channel(socket.socket(fileno=socket_fd))
        cell = TouchCell(cell_fd)
    except (ValueError, OSError) as error:
        raise SystemExit(f"started by hand? this is a worker of pfid's daemon: {error}") from error
    for fd in (socket_fd, cell_fd):
        os.set_inheritable(fd, False)
    return channel, cell
