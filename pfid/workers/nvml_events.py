"""Critical errors (Xid), as the driver reports them: asked for, never waited for."""

import ctypes
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import pynvml

from pfid.domain.gpu import AbsentReason, XidEvent
from pfid.workers.nvml_calls import Handle, reading

MAX_EVENTS: Final = 64
"""Taken in one turn; a storm is read on in the next."""
MAX_XID: Final = 10_000


class XidEvents:
    """One event set over all GPUs. May be read from another thread than the one that opens it."""

    def __init__(self) -> None:
        """Listen to nobody."""
        self._lock = threading.RLock()
        """Nobody waits on a set that is being given back."""
        self._kept: deque[XidEvent] = deque()
        """Heard and not passed on yet. It is reached without the lock: a wait may hang."""
        self._set: Any = None
        self._uuids: dict[int | None, str] = {}
        self.heard_s: float | None = None
        """Monotonic time of the last answer of a set; None if there was none."""
        self.broken = False
        """Whether the set tells nothing more: once a card is lost, waiting on it fails for all."""

    def add(self, handle: Handle, uuid: str = "") -> AbsentReason | None:
        """Register a GPU; returns why its errors are not told, None if they are.

        Args:
            handle: of the GPU.
            uuid: which that is; "" if nothing was asked of it yet, see :meth:`name`.
        """
        with self._lock:
            if self._set is None:
                made = reading(pynvml.nvmlEventSetCreate)
                if isinstance(made, AbsentReason):
                    return made
                self._set = made
            why = _registered(handle, self._set)
            if why is None:
                self._uuids[_address(handle)] = uuid
            return why

    def name(self, handle: Handle, uuid: str) -> None:
        """Say which GPU it is that was registered."""
        with self._lock:
            if _address(handle) in self._uuids:
                self._uuids[_address(handle)] = uuid

    def read(self, at_s: float) -> tuple[XidEvent, ...]:
        """Take what has happened, without waiting.

        Raises:
            GpuSamplerError: if the driver as a whole is gone; what was heard is kept.
        """
        with self._lock:
            self._listen(at_s)
            return self.taken()

    def taken(self) -> tuple[XidEvent, ...]:
        """What was kept, with nothing asked of the driver."""
        return tuple(self._kept.popleft() for _ in range(len(self._kept)))

    def keep(self, events: Iterable[XidEvent]) -> None:
        """Give back what was read, for whoever reads next."""
        self._kept.extend(events)

    def _listen(self, at_s: float) -> None:
        if self._set is None or not self._uuids:
            return
        for _ in range(MAX_EVENTS):
            data = reading(pynvml.nvmlEventSetWait, self._set, 0)
            if isinstance(data, AbsentReason):  # TIMEOUT: nothing more
                self.broken = data is not AbsentReason.TIMEOUT
                break
            code = int(data.eventData)
            is_xid = data.eventType & pynvml.nvmlEventTypeXidCriticalError
            if is_xid and 0 < code <= MAX_XID:
                uuid = self._uuids.get(_address(data.device), "")
                self._kept.append(XidEvent(uuid=uuid, code=code, at_s=at_s))
        if not self.broken:
            self.heard_s = time.monotonic()

    def close(self) -> None:
        """Give the set back."""
        with self._lock:
            held, self._set, self._uuids, self.broken = self._set, None, {}, False
            if held is not None:
                reading(pynvml.nvmlEventSetFree, held)


def _registered(handle: Handle, events: Any) -> AbsentReason | None:
    """Have a GPU's errors told; why not, if that cannot be had."""
    kinds = reading(pynvml.nvmlDeviceGetSupportedEventTypes, handle)
    if isinstance(kinds, AbsentReason):
        return kinds
    wanted = pynvml.nvmlEventTypeXidCriticalError
    if not kinds & wanted:
        return AbsentReason.NOT_SUPPORTED
    done = reading(pynvml.nvmlDeviceRegisterEvents, handle, wanted, events)
    return done if isinstance(done, AbsentReason) else None


def _address(handle: Handle) -> int | None:
    """What tells one device handle from another."""
    return ctypes.cast(handle, ctypes.c_void_p).value
