"""Fatal errors that come while a call into the driver hangs: heard by a thread beside it.

A card whose firmware stops answering shows in this order: a call hangs, and seconds later the
driver tells the error (Xid 119, 120). Whoever asks for events only between two rounds of calls
never hears it, and his event set dies with him. So a round that lasts too long is listened beside.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from pfid.domain.gpu import FATAL_XIDS, XidEvent
from pfid.spec.gpu_sampler import GpuSamplerError

LATE_S: Final = 2.0
"""A round of calls that lasts longer may hang. Firmware is waited for longer than this before the
error is told, and whoever owns this process waits longer before ending it."""
EACH_S: Final = 0.25


class Heard(Protocol):
    """What is heard of errors."""

    def read(self, at_s: float) -> tuple[XidEvent, ...]:
        """Take it, without waiting."""
        ...

    def keep(self, events: tuple[XidEvent, ...]) -> None:
        """Give it back, for whoever reads next."""
        ...


Alarm = Callable[[tuple[XidEvent, ...]], None]
"""Told of errors with a fatal one among them, in the listening thread."""


class HungListener:
    """Listens while, and only while, a round of calls lasts too long."""

    def __init__(self, heard: Heard, alarm: Alarm) -> None:
        """Start nothing yet.

        Args:
            heard: where errors are heard.
            alarm: to be raised.
        """
        self._heard = heard
        self._alarm = alarm
        self._began_s: float | None = None
        self._thread = threading.Thread(target=self._run, name="hung-listener", daemon=True)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Calls are made within it; one within another is part of that."""
        if self._thread.ident is None:
            self._thread.start()
        outer_s = self._began_s
        self._began_s = time.monotonic() if outer_s is None else outer_s
        try:
            yield
        finally:
            self._began_s = outer_s

    def _run(self) -> None:
        rest_s = LATE_S
        while True:
            time.sleep(rest_s)
            rest_s = self._turn(time.monotonic())

    def _turn(self, now_s: float) -> float:
        """Listen if a round is late; seconds until one may be.

        One that has not begun yet cannot be late for a while. Looking more often than that would
        wake the process more often than reading does.
        """
        began_s = self._began_s
        if began_s is None:
            return max(LATE_S, EACH_S)
        if now_s - began_s >= LATE_S:
            self._listen()
        return max(LATE_S - (now_s - began_s), EACH_S)

    def _listen(self) -> None:
        with suppress(GpuSamplerError):  # whoever makes the calls meets it as well
            found = self._heard.read(time.time())
            if any(event.code in FATAL_XIDS for event in found):
                self._alarm(found)
            self._heard.keep(found)
