"""Processes that bear a run's mark in their environment, wherever they went since.

A program that puts itself into the background leaves tree, group and session behind; what it was
started with stays.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import Captured, capture
from pfid.domain.errors import ProcessGoneError

_READ_BYTES: Final = 1 << 20
_ASLEEP_FOR_GOOD: Final = frozenset({"D", "Z", "X"})
"""Reading what belongs to one of these can hang, or says nothing."""


def marked(name: str, value: str) -> list[Captured]:
    """Capture every living process of ours whose environment holds ``name=value``."""
    sign = f"{name}={value}".encode("utf-8", "surrogateescape")
    found = []
    for pid in _own_pids():
        if _state(pid) in _ASLEEP_FOR_GOOD or sign not in _environ(pid).split(b"\0"):
            continue
        with suppress(ProcessGoneError):
            found.append(capture(pid))
    return found


def _own_pids() -> Iterator[int]:
    me, uid = os.getpid(), os.getuid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != me:
            with suppress(OSError):
                if entry.stat().st_uid == uid:
                    yield int(entry.name)


def _state(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "X"
    return stat.rpartition(b") ")[2][:1].decode("ascii", "replace")


def _environ(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a plain string
            return file.read(_READ_BYTES)
    except OSError:
        return b""
