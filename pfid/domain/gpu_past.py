"""What a GPU did while a run was on it, kept so that it can still be shown when the run is over."""

from dataclasses import dataclass

from pfid.domain.gpu_reference import GpuReference


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPast:
    """Utilisation and power of one GPU during one run, of the whole card.

    A pair comes from one sample, so both are of the same window. The pairs are evenly spread over
    the run and in order; between them samples were left out, none was averaged.

    Attributes:
        uuid: which GPU.
        index: NVML index then.
        name: product name, untrusted text.
        utilization: shares 0..1, oldest first.
        power_w: watts, likewise; as many.
        seen: samples that had both values.
        power_limit_w: the limit enforced last, None if not readable.
        reference: its own GEMM as known then.
    """

    uuid: str
    index: int
    name: str
    utilization: tuple[float, ...] = ()
    power_w: tuple[float, ...] = ()
    seen: int = 0
    power_limit_w: float | None = None
    reference: GpuReference | None = None
