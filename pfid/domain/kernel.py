"""What a kernel is: where its row came from, what it does, for which hardware it was built."""

from dataclasses import dataclass
from enum import Enum


class DeviceCategory(Enum):
    """Categories of a trace's rows that are device time; annotations and waits are not."""

    KERNEL = "kernel"
    MEMCPY = "gpu_memcpy"
    MEMSET = "gpu_memset"


class KernelClass(Enum):
    """What a kernel's time is spent on."""

    ATTENTION = "attention"
    GEMM = "gemm"
    ELEMENTWISE = "elementwise"
    COMMUNICATION = "communication"
    MEMORY = "memory"
    OTHER = "other"


class GenerationFrom(Enum):
    """What a generation was read from."""

    NAME = "name"
    FAMILY = "family"
    COMPILED = "compiled"
    """Compiled on the spot for the device it ran on."""


@dataclass(frozen=True, slots=True)
class KernelKey:
    """A kernel as a trace names it."""

    category: DeviceCategory
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelIdentity:
    """What a name tells of a kernel; None is unknown.

    Attributes:
        family: name of a row of the families' table.
        generation: sm version, 80 for sm80.
        generation_from: what the generation was read from.
        tier: variant of the mem-efficient path: gmem (slow), rf, or k65536 (head-dimension tier).
        dtype: of the operands.
        newer_known: whether a kernel of a newer generation is known to exist for the family.
        truncated: the name was cut, so that it cannot give a generation.
        amd: named as AMD's libraries name theirs.
        simt_f32: FP32 on ordinary cores, not on tensor cores.
    """

    kind: KernelClass
    family: str | None = None
    generation: int | None = None
    generation_from: GenerationFrom | None = None
    tier: str | None = None
    dtype: str | None = None
    newer_known: bool | None = None
    truncated: bool = False
    amd: bool = False
    simt_f32: bool = False
