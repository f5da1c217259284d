"""GPUs with fixed figures, for controls and tests."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from pfid.domain.gpu import GpuFacts, GpuSample, PowerSource
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.fakes import CONTROL_RUN
from pfid.spec.ports.gpus import AchievedFlops, GpuCount, GpuHolder, GpuState, SamplerFacts

CONTROL_UUID: Final = "GPU-00000000-0000-0000-0000-00000000c0de"
CONTROL_BUS_ID: Final = "0000:01:00.0"
CONTROL_GPU: Final = GpuFacts(
    uuid=CONTROL_UUID,
    index=0,
    name="NVIDIA control",
    pci_bus_id=CONTROL_BUS_ID,
    capability=(9, 0),
    memory_total_bytes=150_754_820_096,
    mig=False,
)
CONTROL_GPU_SUBJECT: Final = Entity(EntityKind.GPU, CONTROL_UUID)
CONTROL_HOLDER: Final = GpuHolder(
    pid=CONTROL_RUN.identity.pid,
    memory_bytes=100_000_000_000,
    uid=CONTROL_RUN.uid,
    username=CONTROL_RUN.username,
    comm="python",
    run_id=CONTROL_RUN.run_id,
)
NEWEST_S: Final = 1_788_000_000.0
"""Wall time of the newest sample, that of FixedClock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedGpus:
    """GPUs that stand still. ``held`` is what the subject is about; None for "cannot be told"."""

    states: tuple[GpuState, ...] = ()
    held: tuple[GpuState, ...] | None = ()
    how: SamplerFacts = field(default_factory=SamplerFacts)
    counted: GpuCount | None = None
    reports: AchievedFlops | None = None

    def sampler(self) -> SamplerFacts:
        """Return how the sampler does."""
        return self.how

    def count(self) -> GpuCount | None:
        """Return the count given."""
        return self.counted

    def all(self) -> tuple[GpuState, ...]:
        """Return every GPU."""
        return self.states

    def mine(self) -> tuple[GpuState, ...] | None:
        """Return those the subject is about."""
        return self.held

    def achieved(self) -> AchievedFlops | None:
        """Return what the run reports."""
        return self.reports


def gpu_samples(n: int = 120, *, every_s: float = 1.0, **fields: Any) -> tuple[GpuSample, ...]:
    """``n`` equal samples that end at NEWEST_S: an H200 in dense GEMM unless said otherwise.

    Args:
        n: how many.
        every_s: seconds between two.
        fields: of GpuSample; a callable is asked with the position, 0 for the oldest.
    """
    base: dict[str, Any] = {
        "uuid": CONTROL_UUID,
        "window_s": every_s,
        "utilization": 1.0,
        "power_w": 627.4,
        "power_source": PowerSource.ENERGY,
        "power_limit_w": 700.0,
        "throttle": frozenset(),
        "memory_used_bytes": 100_500_000_000,
        "temperature_c": 60.0,
        "sm_activity": 0.95,
        "tensor_activity": 0.8,
        "dram_activity": 0.4,
        "ecc_uncorrected": 0,
    }
    values = {**base, **fields}
    moving = {k: values.pop(k) for k in fields if callable(values[k])}
    return tuple(
        GpuSample(
            at_s=NEWEST_S - (n - 1 - i) * every_s, **values, **{k: v(i) for k, v in moving.items()}
        )
        for i in range(n)
    )


@lru_cache(maxsize=1)
def _usual() -> tuple[GpuSample, ...]:
    """The samples of whoever says nothing of them, made once: they are most of all controls."""
    return gpu_samples()


def gpu_state(samples: tuple[GpuSample, ...] | None = None, **fields: Any) -> GpuState:
    """One GPU with the control run on it, with anything of GpuState overridden."""
    base: dict[str, Any] = {
        "facts": CONTROL_GPU,
        "samples": _usual() if samples is None else samples,
        "holders": (CONTROL_HOLDER,),
        "listened_s": NEWEST_S - 600.0,
    }
    return GpuState(**{**base, **fields})


def gemm_reference(**fields: Any) -> GpuReference:
    """What the control GPU does on its own GEMM."""
    base = GpuReference(
        uuid=CONTROL_UUID,
        tflops=740.0,
        power_w=640.0,
        power_limit_w=700.0,
        at_s=NEWEST_S - 86_400,
        driver="580.95.05",
    )
    return replace(base, **fields)


def gpus(*states: GpuState, **fields: Any) -> FixedGpus:
    """A box with these GPUs, all of them the subject's, and none missing."""
    seen = frozenset(s.facts.pci_bus_id for s in states if s.present)
    base: dict[str, Any] = {
        "states": states,
        "held": states,
        "counted": GpuCount(visible=seen, remembered=seen, on_bus=seen),
        "how": SamplerFacts(driver="580.95.05"),
    }
    return FixedGpus(**{**base, **fields})
