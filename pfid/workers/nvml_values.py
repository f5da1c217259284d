"""What NVML's numbers may be. A placeholder or an absurd value is dropped and named, never shown.

Seen in public: utilisation 4294967295, blank exported as 1.4e16, an unsupported power as 0 mW.
"""

import math
import re
from typing import Final

from pfid.domain.gpu import THROTTLE_REASONS, AbsentReason

Value = float | AbsentReason
MAX_W: Final = 10_000.0
"""No card draws ten kilowatts."""
MAX_CLOCK_HZ: Final = 10e9
TEMPERATURE_C: Final = (-60.0, 200.0)
MAX_MEMORY_BYTES: Final = 2**45
MAX_COUNT: Final = 2**53
MAX_PID: Final = 2**22
"""Linux gives out no higher process number; a list with one in it is scrambled (nvitop#75)."""
MAX_ENERGY_J: Final = 1e13
OVER_WHOLE: Final = 0.05
PLACEHOLDERS: Final = frozenset(
    {
        0xFFFFFFFF,
        0xFFFFFFFFFFFFFFFF,
        0x7FFFFFFF,
        0x7FFFFFFFFFFFFFFF,
        *range(0x7FFFFFF0, 0x7FFFFFF5),
        *range(0x7FFFFFFFFFFFFFF0, 0x7FFFFFFFFFFFFFF5),
    }
)
"""NVML's "not available", and DCGM's blanks, which some libraries hand through."""
BLANK_FROM: Final = 140_737_488_355_328.0
"""DCGM's floating-point blanks begin here; nothing that is a float is ever so large."""
_BUS_ID: Final = re.compile(
    r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?\Z"
)
_UUID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{7,79}\Z")


def _blank(raw: float) -> bool:
    """Whether it stands for "no value"; a whole number may be large, a float may not."""
    if type(raw) is int:
        return raw in PLACEHOLDERS
    return not math.isfinite(raw) or raw >= BLANK_FROM


def within(raw: float | AbsentReason, low: float, high: float, scale: float = 1.0) -> Value:
    """``raw * scale`` if that lies within bounds, else why not."""
    if isinstance(raw, AbsentReason):
        return raw
    if _blank(raw):
        return AbsentReason.BLANK
    value = raw * scale
    return value if low <= value <= high else AbsentReason.OUT_OF_RANGE


def share(raw: float | AbsentReason) -> Value:
    """A percentage as a share of 0 to 1."""
    return within(raw, 0.0, 1.0, 0.01)


def activity(raw: float | AbsentReason) -> Value:
    """A counter's percentage likewise; two clocks divided may come to a little over the whole."""
    value = within(raw, 0.0, 1.0 + OVER_WHOLE, 0.01)
    return value if isinstance(value, AbsentReason) else min(value, 1.0)


def watts(raw: float | AbsentReason, most_w: float = MAX_W) -> Value:
    """Milliwatts as watts. 0 mW is how some cards say that they have no sensor."""
    value = within(raw, 0.0, most_w, 1e-3)
    return AbsentReason.NOT_SUPPORTED if value == 0 else value


def joules(raw: float | AbsentReason) -> Value:
    """Millijoules as joules. A counter that stands at 0 does not count."""
    value = within(raw, 0.0, MAX_ENERGY_J, 1e-3)
    return AbsentReason.NOT_SUPPORTED if value == 0 else value


def whole(raw: float | AbsentReason, most: int) -> int | AbsentReason:
    """A count of something, at most ``most``."""
    value = within(raw, 0, most)
    return value if isinstance(value, AbsentReason) else int(value)


def throttle(raw: int | AbsentReason) -> frozenset[str] | AbsentReason:
    """Our names of the bits that are set; a bit nobody knows the meaning of is left out."""
    if isinstance(raw, AbsentReason):
        return raw
    if raw in PLACEHOLDERS:
        return AbsentReason.BLANK
    return frozenset(name for bit, name in enumerate(THROTTLE_REASONS) if raw >> bit & 1)


def mean_power_w(before_j: float | None, now_j: Value, window_s: float | None) -> float | None:
    """Mean power between two reads of the energy counter; None if it does not tell.

    A counter that went back was reset with the driver; one that stands still did not count.
    """
    if before_j is None or isinstance(now_j, AbsentReason) or not window_s or window_s <= 0:
        return None
    mean_w = (now_j - before_j) / window_s
    return mean_w if 0 < mean_w <= MAX_W else None


def bus_id(raw: str) -> str | None:
    """A PCI address as sysfs writes it, domain:bus:device.function; None if it is none."""
    found = _BUS_ID.match(raw.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}".lower()


def uuid(raw: str) -> str | None:
    """A uuid that may be a label; None if it is none."""
    return raw if _UUID.match(raw) else None


def plausible_pids(pids: list[int]) -> bool:
    """Whether all of them can be processes of Linux."""
    return all(0 < pid <= MAX_PID for pid in pids)
