"""Hears of every thread that ends with an error.

What such a thread did is done by nobody from then on: requests stay unanswered, deaths unseen. A
process that goes on without it looks alive, so whoever listens here should end it.
"""

import threading
from collections.abc import Callable


def hear_of_ends(told: Callable[[str, str], None]) -> None:
    """Have ``told`` called with a thread's name and its error, after the trace went to stderr.

    Args:
        told: called in the thread that ends; only hands on.
    """

    def ended(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_type is SystemExit:
            return
        threading.__excepthook__(arguments)
        name = "" if arguments.thread is None else arguments.thread.name
        told(name, f"{arguments.exc_type.__name__}: {arguments.exc_value}")

    threading.excepthook = ended
