"""What brings samples of GPUs: NVML does, and a plugin may do so for another vendor.

A sampler runs in a process of its own that may hang or be killed at any call. So it keeps nothing
that must not be lost, takes no lock that others wait for, and reads counters that disturb nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pfid.domain.errors import PfidError
from pfid.domain.gpu import GpuFacts, GpuSample, XidEvent
from pfid.spec.ports.gpus import SamplerProblem

Touch = Callable[[int], None]
"""Says which device, by its index, the next calls are about."""


class GpuSamplerError(PfidError):
    """The driver as a whole cannot be read, and why."""

    def __init__(
        self, problem: SamplerProblem, detail: str = "", xids: tuple[XidEvent, ...] = ()
    ) -> None:
        """Name the problem.

        Args:
            problem: which.
            detail: for the operator; quotes no path.
            xids: error events with a fatal one among them, for which nothing is asked any more.
        """
        super().__init__(f"{problem.value}: {detail}" if detail else problem.value)
        self.problem = problem
        self.detail = detail
        self.xids = xids


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDriver:
    """Versions; "" where they are not known."""

    driver: str = ""
    library: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Up to where error events were heard, for whoever listens next.

    Attributes:
        monotonic_s: when they were last asked for.
        record: newest record of the kernel's log that was read; None where it cannot be read, so
            that nothing remembers what nobody listened to.
        torn: whether records were written over before they were read, since this was last said.
    """

    monotonic_s: float
    record: int | None = None
    torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """All GPUs once.

    Attributes:
        samples: one for each GPU that was asked. A value that could not be read is None and named
            in ``absent``; so one bad field never loses the sample.
        facts: of every GPU the driver lists; None if nothing changed since the last reading.
        lost: uuids of GPUs that the driver lists and that do not answer.
        xids: error events since the last reading.
        unheard_s: seconds since the last reading in which nobody listened for error events, and
            of which nothing tells any more.
        heard: up to where they were heard; None for whoever does not pass that on.
    """

    samples: tuple[GpuSample, ...] = ()
    facts: tuple[GpuFacts, ...] | None = None
    lost: tuple[str, ...] = ()
    xids: tuple[XidEvent, ...] = ()
    unheard_s: float = 0.0
    heard: Heard | None = None


@runtime_checkable
class GpuSampler(Protocol):
    """One vendor's GPUs. Everything is called from one thread, ``open`` first."""

    @property
    def name(self) -> str:
        """Label of the sampler in metrics: lower case letters and digits, at most 32."""
        ...

    def open(self, skip: frozenset[int], touch: Touch) -> GpuDriver:
        """Load the library and find the GPUs.

        Args:
            skip: indexes of devices not to be touched, because a call about them hung.
            touch: to be called before the first call about each device.

        Raises:
            GpuSamplerError: if there is nothing to be read.
        """
        ...

    def read(self, at_s: float, monotonic_s: float) -> GpuReading:
        """Read every GPU once.

        Args:
            at_s: wall time for the samples.
            monotonic_s: for the windows between two samples.

        Raises:
            GpuSamplerError: if the driver as a whole answers no longer; ``open`` is called again.
        """
        ...

    def close(self) -> None:
        """Let go of the driver. Not called after a fatal error: there must be no more calls."""
        ...
