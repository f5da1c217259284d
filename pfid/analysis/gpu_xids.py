"""NVIDIA's Xid catalogue as data: whose fault an error is, and whether the card survives it.

Source: NVIDIA's "XID errors" catalogue, as far as it names a class. A code that stands there with
several possible causes is given to the program first: its owner can look, and a card that is
broken shows it again under one of the other codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from pfid.domain.gpu import FATAL_XIDS


class XidClass(Enum):
    """Whose fault."""

    APPLICATION = "application"
    """A program's; the card goes on."""
    FOLLOW_UP = "follow_up"
    """Cleaning up after another error, or after a program was killed: says nothing by itself."""
    HARDWARE = "hardware"
    """The card's: it wants to be looked at, drained or reset."""
    FATAL = "fatal"
    """The card's, and it is gone until the driver was loaded again or the box was restarted."""


@dataclass(frozen=True, slots=True)
class XidMeaning:
    """One entry of the catalogue; ``means`` is a public sentence's clause."""

    kind: XidClass
    means: str


_APPLICATION: Final = {
    13: "graphics engine exception",
    31: "memory page fault",
    32: "corrupted push buffer",
    43: "a channel stopped processing",
    68: "video decoder exception",
    69: "graphics engine class error",
}
_FOLLOW_UP: Final = {45: "preemptive clean-up"}
_HARDWARE: Final = {
    48: "double-bit ECC error",
    61: "micro-controller warning",
    63: "a memory row was set aside",
    64: "a memory row could not be set aside",
    74: "NVLink error",
    92: "many single-bit ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    121: "chip-to-chip link error",
    140: "unrecovered ECC error",
    143: "the card could not be initialised",
    154: "the driver asks for a reset or a restart",
}
_FATAL: Final = {
    62: "micro-controller halt",
    79: "the card fell off the bus",
    119: "the card's firmware does not answer",
    120: "the card's firmware failed",
}


def _catalogue() -> Mapping[int, XidMeaning]:
    classes = (
        (XidClass.APPLICATION, _APPLICATION),
        (XidClass.FOLLOW_UP, _FOLLOW_UP),
        (XidClass.HARDWARE, _HARDWARE),
        (XidClass.FATAL, _FATAL),
    )
    found = {
        code: XidMeaning(kind, text) for kind, codes in classes for code, text in codes.items()
    }
    for code in FATAL_XIDS - found.keys():
        found[code] = XidMeaning(XidClass.FATAL, "fatal error")
    return MappingProxyType(found)


CATALOGUE: Final = _catalogue()


def meaning(code: int) -> XidMeaning | None:
    """Look a code up; None for one that is not catalogued."""
    return CATALOGUE.get(code)
