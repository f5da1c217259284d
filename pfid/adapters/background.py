"""Going on with a small piece of work after the process that began it has gone."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress


def in_background(work: Callable[[], None]) -> None:
    """Do ``work`` in a forked process that holds on to nothing of the caller's terminal.

    Its end is nobody's matter: a failure has nobody to tell.
    """
    if os.fork():
        return
    with suppress(BaseException):
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        work()
    os._exit(0)
