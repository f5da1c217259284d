"""Messages between the daemon and a GPU sampler, a disposable worker."""

from typing import Final

import msgspec

from pfid.domain.gpu import GpuFacts, GpuSample, XidEvent
from pfid.spec.gpu_sampler import Heard
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.worker_codec import WorkerCodec


class PluginPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that may bring a sampler; ``is_file`` for a path, else ``module:attribute``."""

    name: str
    place: str
    is_file: bool


class Configure(msgspec.Struct, frozen=True, kw_only=True, tag="configure"):
    """Start. Nothing is touched before it.

    Attributes:
        interval_s: between two readings.
        skip: indexes of devices that are not to be touched.
        plugins: where to look for samplers; () for NVML.
        look: another number when there may be other GPUs than before: a driver that was opened
            counts those it found then, for ever.
        heard: up to where the worker before this one heard errors; None if there was none.
        places: PCI addresses of the cards that workers before this one read.
        kernel_log: where the kernel keeps its log.
    """

    interval_s: float = 1.0
    skip: tuple[int, ...] = ()
    plugins: tuple[PluginPlace, ...] = ()
    look: int = 0
    heard: Heard | None = None
    places: tuple[str, ...] = ()
    kernel_log: str = "/dev/kmsg"


class _Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Opened(_Report, frozen=True, kw_only=True, tag="opened"):
    """The driver answers."""

    sampler: str
    driver: str = ""
    library: str = ""


class Read(_Report, frozen=True, kw_only=True, tag="read"):
    """All GPUs once; see :class:`pfid.spec.gpu_sampler.GpuReading`."""

    sampler: str
    at_s: float
    samples: tuple[GpuSample, ...]
    facts: tuple[GpuFacts, ...] | None = None
    lost: tuple[str, ...] = ()
    xids: tuple[XidEvent, ...] = ()
    unheard_s: float = 0.0
    heard: Heard | None = None


class Trouble(_Report, frozen=True, kw_only=True, tag="trouble"):
    """There is nothing to be read, and why; repeated while it lasts.

    Attributes:
        sampler: whose, "" if it is about the worker as a whole.
        problem: what.
        detail: for the operator.
        leaving: whether the worker ends now and a fresh one is needed.
    """

    sampler: str
    problem: SamplerProblem
    detail: str = ""
    leaving: bool = False


class Beat(_Report, frozen=True, kw_only=True, tag="beat"):
    """The worker is alive and waits."""


Report = Opened | Read | Trouble | Beat

_codec: Final = WorkerCodec[Configure, Report](Configure, Report)
encode: Final = _codec.encode
decode_order: Final = _codec.decode_order
decode_report: Final = _codec.decode_report
