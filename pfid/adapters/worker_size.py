"""How much memory a worker holds, looked at now and then, so that one that grows can be ended.

A limit of the kernel's (RLIMIT_AS, RLIMIT_DATA) counts what is mapped and not what is used:
libraries that reserve much and use little, as accelerators' do, could not be loaded under it.
"""

import re
import time
from pathlib import Path
from typing import Final

LOOK_S: Final = 0.25
"""Between two looks; what a worker can take in that time comes on top of its limit."""
_SIZES: Final = re.compile(rb"^Vm(?:RSS|Swap):\s+(\d+) kB$", re.MULTILINE)


def held_bytes(pid: int) -> int:
    """What is resident or swapped out; 0 if the process is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0
    return sum(int(size) * 1024 for size in _SIZES.findall(status))


class SizeWatch:
    """Looks at one worker after the other."""

    def __init__(self, max_bytes: int | None) -> None:
        """Allow so much; None for any."""
        self._max_bytes = max_bytes
        self._due_s = 0.0

    def sooner_s(self, wait_s: float) -> float:
        """No longer than until the next look."""
        return wait_s if self._max_bytes is None else min(wait_s, LOOK_S)

    def outgrown(self, pid: int) -> bool:
        """Whether it holds more than it may, if it is time to look."""
        now_s = time.monotonic()
        if self._max_bytes is None or now_s < self._due_s:
            return False
        self._due_s = now_s + LOOK_S
        return held_bytes(pid) > self._max_bytes
