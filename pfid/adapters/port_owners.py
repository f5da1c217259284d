"""Which processes take connections on a port, by procfs."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import Captured, capture
from pfid.domain.errors import ProcessGoneError

_LISTENING: Final = "0A"
_SOCKET: Final = re.compile(r"^socket:\[(\d+)\]$")


def listening_on(port: int) -> list[Captured]:
    """Capture every process of ours that listens there; whoever calls closes their pidfds."""
    wanted = set(_inodes(port))
    found = []
    for pid in _pids() if wanted else ():
        if wanted.isdisjoint(_sockets(pid)):
            continue
        with suppress(ProcessGoneError):
            found.append(capture(pid))
    return found


def _inodes(port: int) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/self/net/{name}").read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _pids() -> Iterator[int]:
    me = os.getpid()
    names = (entry.name for entry in Path("/proc").iterdir())
    yield from (int(name) for name in names if name.isdecimal() and int(name) != me)


def _sockets(pid: int) -> Iterator[str]:
    """Inodes of the sockets that a process holds; nothing where it is not ours to look."""
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found = _SOCKET.match(str(entry.readlink()))
                if found is not None:
                    yield found[1]
