"""Which hardware a trace was taken on, as the trace itself says.

A trace of an AMD card also carries ``computeMajor`` and ``computeMinor`` (9 and 0 on an MI250):
the device's name decides whether they are an NVIDIA compute capability.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_AMD: Final = re.compile(r"AMD|Radeon|Instinct|\bMI\d{2,3}|gfx\d", re.IGNORECASE)
_CAPABILITY: Final = re.compile(r"(\d{1,2})\.(\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The device that rows ran on; None is unknown.

    Attributes:
        capability: sm version, 80 for 8.0.
        given: the capability was given by the user and not read from the trace.
    """

    name: str | None = None
    capability: int | None = None
    amd: bool = False
    given: bool = False


def device_of(facts: Mapping[str, Any], used: Iterable[str], *, amd_names: bool = False) -> Device:
    """Read the device off a trace.

    Args:
        facts: what stands beside the events.
        used: ids of the devices that have rows, as text.
        amd_names: kernels are named as AMD's libraries name theirs; the device's own name goes
            before them, since one kernel of many may be of any origin.
    """
    listed = facts.get("deviceProperties")
    properties = (
        [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    wanted = set(used)
    mine = [one for one in properties if str(one.get("id")) in wanted] or properties
    names = {one["name"] for one in mine if isinstance(one.get("name"), str)}
    name = " + ".join(sorted(names)) or None
    amd = amd_names if name is None else _AMD.search(name) is not None
    capabilities = {_sm(one) for one in mine}
    only = capabilities.pop() if len(capabilities) == 1 and not amd else None
    return Device(name=name, capability=only, amd=amd)


def parse_capability(text: str) -> int | None:
    """Return 80 for ``8.0``; None if it is no compute capability."""
    match = _CAPABILITY.fullmatch(text)
    return int(match[1]) * 10 + int(match[2]) if match else None


def _sm(properties: Mapping[str, Any]) -> int | None:
    major, minor = properties.get("computeMajor"), properties.get("computeMinor")
    if type(major) is not int or type(minor) is not int:
        return None
    if not (0 < major < 100 and 0 <= minor < 10):
        return None
    return major * 10 + minor
