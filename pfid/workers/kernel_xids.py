"""Xids in the kernel's log, which remembers them: for moments and cards that no event set covers.

NVIDIA's driver writes each error there as well as it tells it to whoever listens. A set of events
dies with the process that holds it, and a card that is held back is in no set; the log outlives
both. Reading it calls no driver. Most boxes keep it from users (kernel.dmesg_restrict): then there
is nothing, and that is said.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.domain.gpu import FATAL_XIDS
from pfid.workers.nvml_values import bus_id

KERNEL_LOG: Final = Path("/dev/kmsg")
READ_BYTES: Final = 65_536
"""/dev/kmsg gives one record a read, and refuses less room than a record may take."""
MAX_READS: Final = 100_000
KERNEL: Final = 8
"""From this priority on a record is a program's: whatever it says, the driver did not say it."""
LOADED: Final = b"NVRM: loading NVIDIA "
"""What the driver says when it is loaded."""
_XID: Final = re.compile(
    rb"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d{1,5})"
    rb"(?:, pid='?(\d{1,7})\b)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelXid:
    """One error as the kernel's log has it.

    Attributes:
        place: PCI address as sysfs writes it.
        code: the Xid number.
        pid: as the kernel counts it, None where the driver names nobody.
    """

    place: str
    code: int
    pid: int | None


class KernelXids:
    """Reads on from where it was."""

    def __init__(self, path: Path = KERNEL_LOG, after: int | None = None) -> None:
        """Begin at the end of the log, or after a record that somebody read before.

        Args:
            path: of the log.
            after: number of that record, None to begin at the end.
        """
        self._last = -1 if after is None else after
        self._rest = b""
        self._whole = True
        self._fd = _opened(path)
        if self._fd is not None and after is None:
            self._to_the_end()

    @property
    def readable(self) -> bool:
        """Whether there is a log."""
        return self._fd is not None

    @property
    def last(self) -> int | None:
        """Number of the newest record that was read; None while there is no log to be read."""
        return None if self._fd is None else self._last

    def read(self) -> tuple[tuple[KernelXid, ...], bool]:
        """Errors since the last time, and whether none can be missing from them."""
        if self._fd is None:
            return (), False
        found: list[KernelXid] = []
        for line in self._lines():
            if (text := self._record(line)) is None:
                continue
            if LOADED in text:  # what was fatal before is over
                found = [x for x in found if x.code not in FATAL_XIDS]
            elif (xid := _xid(text)) is not None:
                found.append(xid)
        whole, self._whole = self._whole, True
        return tuple(found), whole and self._fd is not None

    def _to_the_end(self) -> None:
        """Read over what is old; that some of it is lost already does not matter."""
        for line in self._lines():
            self._record(line)
        self._whole = True

    def _lines(self) -> Iterator[bytes]:
        for _ in range(MAX_READS):
            chunk = self._chunk()
            if not chunk:
                break
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            yield from whole

    def _chunk(self) -> bytes:
        if self._fd is None:
            return b""
        try:
            return os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return b""
        except BrokenPipeError:  # records were lost before they were read; it goes on after them
            self._whole = False
            return b"\n"
        except OSError:
            self.close()
            return b""

    def _record(self, line: bytes) -> bytes | None:
        """Text of a new record of the kernel's own."""
        head, _, text = line.partition(b";")
        numbers = head.split(b",")
        if line[:1] == b" " or len(numbers) < 2 or not (numbers[0] + numbers[1]).isdigit():
            return None  # a line that belongs to the record above it
        number = int(numbers[1])
        if number <= self._last:
            return None
        self._whole = self._whole and number == self._last + 1
        self._last = number
        return text if int(numbers[0]) < KERNEL else None

    def close(self) -> None:
        """Let go of it."""
        held, self._fd = self._fd, None
        if held is not None:
            with suppress(OSError):
                os.close(held)


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def _xid(text: bytes) -> KernelXid | None:
    said = _XID.search(text)
    if said is None:
        return None
    place, code, pid = said.groups()
    known = bus_id(place.decode("ascii"))
    if known is None:
        return None
    return KernelXid(place=known, code=int(code), pid=None if pid is None else int(pid))
