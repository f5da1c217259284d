"""GPUs whose driver says what a drill wants, for as long as a stand-in for NVML is configured.

On real hardware nothing can be planted. ``PFID_NVML_SHIM`` names a folder with a library that
speaks NVML and reads a file ``scenario`` beside it (``tests/nvml_shim``); the scratch daemon's
sampler loads it through the real pynvml, as it would load the driver's.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pfid.domain.verdict import Entity, EntityKind

VARIABLE: Final = "PFID_NVML_SHIM"
LIBRARY: Final = "libnvidia-ml.so.1"
NOT_SET_UP: Final = (
    f"nothing can be planted on real GPUs; {VARIABLE} may name the folder of a stand-in for NVML"
)
CARDS: Final = 8
"""One for each drill, so that none disturbs another."""
GIB: Final = 1024**3
BUSY: Final[Mapping[str, str]] = {
    "name": "NVIDIA H200",
    "capability": "9.0",
    "utilization": "100",
    "power": "627400",
    "limit": "700000",
    "throttle": "0",
    "temperature": "58",
    "memory_total": "150754820096",
    "memory_used": str(GIB // 1024),
    "memory_reserved": str(GIB // 2),
    "mig": "0",
    "gpm": "1",
    "sm": "97.0",
    "tensor": "81.0",
    "dram": "38.5",
}


class PlantedGpus:
    """The stand-in's scenario, written anew with every change, from any drill's thread."""

    def __init__(self, folder: Path) -> None:
        """Have every card busy with matrix work and nobody on it."""
        self.folder = folder
        self._lock = threading.Lock()
        self._cards = [
            {"uuid": uuid(i), "bus": f"00000000:{i + 10:02X}:00.0", **BUSY} for i in range(CARDS)
        ]
        self._processes: dict[tuple[int, int], int] = {}
        self._xids: list[tuple[int, int]] = []
        self._write()

    def change(self, index: int, **facts: str) -> None:
        """Have a card say something else; "" for no word of it any more."""
        with self._lock:
            card = {**self._cards[index], **facts}
            self._cards[index] = {name: value for name, value in card.items() if value}
            self._write()

    def put_on(self, index: int, pid: int, used_bytes: int) -> None:
        """Put a process on a card, and its memory in use; 0 takes it off again."""
        with self._lock:
            self._processes[index, pid] = used_bytes
            held = sum(n for (card, _), n in self._processes.items() if card == index)
            self._cards[index]["memory_used"] = str(held + GIB // 1024)
            self._write()

    def report_xid(self, index: int, code: int) -> None:
        """Report an error now."""
        with self._lock:
            self._xids.append((index, code))
            self._write()

    def _write(self) -> None:
        new = self.folder / "scenario.new"
        new.write_text("\n".join(self._lines()) + "\n")
        new.replace(self.folder / "scenario")

    def _lines(self) -> list[str]:
        lines = ["driver 580.95.05", "library 13.580.95.05", f"count {CARDS}"]
        for index, facts in enumerate(self._cards):
            lines += [f"gpu {index} {name} {value}" for name, value in facts.items()]
        lines += [
            f"gpu {index} process {pid} {used}"
            for (index, pid), used in self._processes.items()
            if used
        ]
        return lines + [f"xid {n} {i} {code}" for n, (i, code) in enumerate(self._xids, start=1)]


def uuid(index: int) -> str:
    """The uuid of a planted card."""
    return f"GPU-5e1f7e57-0000-0000-0000-{index:012d}"


def about(index: int) -> Entity:
    """A planted card as a verdict is about it."""
    return Entity(EntityKind.GPU, uuid(index))


def stand_in(environ: Mapping[str, str]) -> Path | None:
    """Folder of the stand-in that is configured; None if none is, or it is not there."""
    named = environ.get(VARIABLE, "")
    return Path(named) if named and (Path(named) / LIBRARY).is_file() else None


def with_stand_in(environ: Mapping[str, str], folder: Path | None) -> dict[str, str]:
    """The environment of a daemon that finds the stand-in first."""
    if folder is None:
        return dict(environ)
    before = environ.get("LD_LIBRARY_PATH", "")
    path = os.pathsep.join(p for p in (str(folder), before) if p)
    return {**environ, "LD_LIBRARY_PATH": path}
