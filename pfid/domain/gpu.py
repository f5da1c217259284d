"""One timed reading of one GPU. A value that could not be read is absent with a reason, never 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

THROTTLE_REASONS: Final = (
    "gpu_idle",
    "applications_clocks",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal",
    "hw_thermal",
    "hw_power_brake",
    "display_clock",
)
"""Our names for NVML's clock event reasons, in the order of their bits. The first two and the last
are settings, not a card that is held back."""

FATAL_XIDS: Final = frozenset({62, 79, 119, 120})
"""After one of these the driver is not to be called again until it was loaded anew: the card's
micro-controller halted, the card fell off the bus, or its firmware stopped answering (NVIDIA's Xid
catalogue)."""


NVML: Final = "nvml"
"""Name of the sampler that reads NVIDIA's cards."""

XIDS: Final = "xids"
"""Among the facts that are absent: error events of the GPU are not told, and why."""


class AbsentReason(Enum):
    """Why a value is not there."""

    NOT_SUPPORTED = "not_supported"
    NO_PERMISSION = "no_permission"
    LOST = "lost"
    """The GPU is gone, or asks to be reset."""
    BLANK = "blank"
    """The driver gave a placeholder, an error without a meaning, or nothing yet."""
    OUT_OF_RANGE = "out_of_range"
    """The driver gave a number that cannot be; it was dropped."""
    TIMEOUT = "timeout"


class PowerSource(Enum):
    """How a power figure was had; the three do not mean the same."""

    ENERGY = "energy"
    """Energy counter difference over the window: the exact mean between two reads."""
    INSTANT = "instant"
    """NVML_FI_DEV_POWER_INSTANT at the moment of the read."""
    AVERAGE = "average"
    """nvmlDeviceGetPowerUsage, a running mean of about a second on newer parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that NVML says is on a GPU.

    Attributes:
        pid: as NVML gives it (host namespace; useless for identity inside a container).
        memory_bytes: None where NVML does not say.
        graphics: whether it came from the graphics list only.
        instance: MIG instance it is on, None without MIG.
    """

    pid: int
    memory_bytes: int | None = None
    graphics: bool = False
    instance: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """A slice of a GPU under MIG; figures of the whole card say nothing about one of them."""

    uuid: str
    gpu_instance: int | None
    compute_instance: int | None
    name: str
    memory_total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """What does not change while a driver is loaded.

    Attributes:
        uuid: NVML's uuid, the label of every series.
        index: NVML index at the time of enumeration.
        name: product name, untrusted text.
        pci_bus_id: lower case, domain:bus:device.function.
        capability: compute capability, None if not readable.
        memory_total_bytes: None on parts that share memory with the host (GB10).
        mig: whether MIG is on; None if not readable.
        power_limit_default_w: its power limit as nobody has set it; None if not readable.
        vendor: lower case; ``nvidia`` for NVML.
        instances: MIG instances when they were last looked at.
        absent: why a value above is None.
    """

    uuid: str
    index: int
    name: str
    pci_bus_id: str
    capability: tuple[int, int] | None = None
    memory_total_bytes: int | None = None
    mig: bool | None = None
    power_limit_default_w: float | None = None
    vendor: str = "nvidia"
    instances: tuple[MigInstance, ...] = ()
    absent: Mapping[str, AbsentReason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """One reading of one GPU over one window.

    Attributes:
        uuid: which GPU.
        at_s: wall time of the read, Unix seconds.
        window_s: seconds since the previous read; utilisation and power are compared over it.
        utilization: engine-active share 0..1.
        power_w: mean or momentary power, see ``power_source``.
        power_source: how it was had; None with ``power_w``.
        power_limit_w: the limit enforced now.
        energy_j: energy counter, joules since the driver was loaded.
        sm_clock_hz: current SM clock.
        throttle: active throttle reasons by our names; None if not readable.
        memory_used_bytes: memory in use, without what the driver reserves for itself where it
            tells the two apart.
        memory_reserved_bytes: what the driver reserves; None where it does not tell.
        temperature_c: core temperature.
        sm_activity: share of time at least one warp was on an SM (GPM), 0..1.
        tensor_activity: share of time the tensor pipe was active (GPM), 0..1.
        dram_activity: share of time DRAM moved data (GPM), 0..1.
        ecc_uncorrected: volatile uncorrected ECC errors.
        processes: who is on it; None if not readable.
        absent: every field that is None, with why.
    """

    uuid: str
    at_s: float
    window_s: float | None = None
    utilization: float | None = None
    power_w: float | None = None
    power_source: PowerSource | None = None
    power_limit_w: float | None = None
    energy_j: float | None = None
    sm_clock_hz: float | None = None
    throttle: frozenset[str] | None = None
    memory_used_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    temperature_c: float | None = None
    sm_activity: float | None = None
    tensor_activity: float | None = None
    dram_activity: float | None = None
    ecc_uncorrected: int | None = None
    processes: tuple[GpuProcess, ...] | None = None
    absent: Mapping[str, AbsentReason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class XidEvent:
    """A critical error the driver reported.

    Attributes:
        uuid: which GPU, "" if the driver did not say.
        code: the Xid number.
        at_s: wall time it was read.
        pid: the process the driver names, None if it names none; it may name a bystander.
    """

    uuid: str
    code: int
    at_s: float
    pid: int | None = None
