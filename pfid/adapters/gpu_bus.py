"""NVIDIA's GPUs as the kernel sees them on the PCI bus, whether or not their driver answers."""

from pathlib import Path
from typing import Final

DEVICES: Final = Path("/sys/bus/pci/devices")
VENDOR: Final = "0x10de"
DISPLAY_CLASS: Final = "0x03"
OTHERS: Final = frozenset({"vfio-pci", "nouveau", "pci-stub"})
"""Drivers that took the device for something else: a virtual machine, a screen."""


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
