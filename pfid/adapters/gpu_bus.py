"""NVIDIA's GPUs as the kernel sees them on the PCI bus, whether or not their driver answers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEVICES: Final = Path("/sys/bus/pci/devices")
VENDOR: Final = "0x10de"
DISPLAY_CLASS: Final = "0x03"
OTHERS: Final = frozenset({"vfio-pci", "nouveau", "pci-stub"})
"""Drivers that took the device for something else: a virtual machine, a screen."""
LOOK_S: Final = 60.0


def gpus_on_bus(devices: Path = DEVICES) -> frozenset[str] | None:
    """Bus ids of the GPUs that are NVIDIA's driver's to answer for; None if nobody can tell."""
    try:
        return frozenset(d.name.lower() for d in devices.iterdir() if _is_gpu(d))
    except OSError:
        return None


def _is_gpu(device: Path) -> bool:
    if _text(device / "vendor") != VENDOR or (device / "physfn").exists():
        return False
    driver = device / "driver"
    taken = driver.resolve().name if driver.is_symlink() else ""
    return _text(device / "class").startswith(DISPLAY_CLASS) and taken not in OTHERS


def _text(file: Path) -> str:
    try:
        return file.read_text().strip().lower()
    except OSError:
        return ""


@dataclass(slots=True)
class BusWatch:
    """Looks now and then, and counts how often the answer was another one.

    Attributes:
        read: what the kernel sees; None if it cannot be read.
        every_s: between two looks.
        changes: looks that found other GPUs than the one before.
    """

    read: Callable[[], frozenset[str] | None] = gpus_on_bus
    every_s: float = LOOK_S
    changes: int = 0
    _due_s: float = 0.0
    _last: frozenset[str] | None = None

    def due(self) -> bool:
        """Whether it is time to look."""
        return time.monotonic() >= self._due_s

    def look(self) -> frozenset[str] | None:
        """What the kernel sees now."""
        self._due_s = time.monotonic() + self.every_s
        before, self._last = self._last, self.read()
        self.changes += None not in {before, self._last} and before != self._last
        return self._last
