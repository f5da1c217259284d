"""Critical errors (Xid), as the driver reports them: asked for, never waited for."""

import ctypes
from typing import Any, Final

import pynvml

from pfid.domain.gpu import AbsentReason, XidEvent
from pfid.workers.nvml_calls import Handle, reading

MAX_EVENTS: Final = 64
"""Taken in one turn; a storm is read on in the next."""
MAX_XID: Final = 10_000


class XidEvents:
    """One event set over all GPUs."""

    def __init__(self) -> None:
        """Listen to nobody."""
        self._set: Any = None
        self._uuids: dict[int | None, str] = {}

    def open(self, handles: list[tuple[Handle, str]]) -> None:
        """Register every GPU that supports it; where none does, there are no events."""
        made = reading(pynvml.nvmlEventSetCreate)
        if isinstance(made, AbsentReason):
            return
        self._set = made
        for handle, uuid in handles:
            kinds = reading(pynvml.nvmlDeviceGetSupportedEventTypes, handle)
            wanted = pynvml.nvmlEventTypeXidCriticalError
            if isinstance(kinds, AbsentReason) or not kinds & wanted:
                continue
            done = reading(pynvml.nvmlDeviceRegisterEvents, handle, wanted, made)
            if not isinstance(done, AbsentReason):
                self._uuids[_address(handle)] = uuid

    def read(self, at_s: float) -> tuple[XidEvent, ...]:
        """Take what has happened, without waiting."""
        if self._set is None or not self._uuids:
            return ()
        found: list[XidEvent] = []
        for _ in range(MAX_EVENTS):
            data = reading(pynvml.nvmlEventSetWait, self._set, 0)
            if isinstance(data, AbsentReason):  # TIMEOUT: nothing more
                break
            code = int(data.eventData)
            is_xid = data.eventType & pynvml.nvmlEventTypeXidCriticalError
            if is_xid and 0 < code <= MAX_XID:
                uuid = self._uuids.get(_address(data.device), "")
                found.append(XidEvent(uuid=uuid, code=code, at_s=at_s))
        return tuple(found)

    def close(self) -> None:
        """Give the set back."""
        if self._set is not None:
            reading(pynvml.nvmlEventSetFree, self._set)
        self._set = None
        self._uuids = {}


def _address(handle: Handle) -> int | None:
    """What tells one device handle from another."""
    return ctypes.cast(handle, ctypes.c_void_p).value
