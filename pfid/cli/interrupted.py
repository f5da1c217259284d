"""Leaving on Ctrl-C: nobody waits for a thread that cannot be ended."""

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Final

from pfid.cli.exit_codes import INTERRUPTED
from pfid.cli.output_lost import is_ours

GRACE_S: Final = 3.0
"""For threads whose programs are being ended, and what those clear up."""


def leave_threads() -> None:
    """Return once no thread is left that the interpreter would wait for; else end the process."""
    until_s = time.monotonic() + GRACE_S
    others = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    for thread in others:
        thread.join(max(0.0, until_s - time.monotonic()))
    if any(thread.is_alive() for thread in others) and is_ours(sys.stderr):
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(INTERRUPTED)
