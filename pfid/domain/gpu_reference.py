"""What a card does on its own dense GEMM: what its windows are held against."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReference:
    """What this very card does on its own dense GEMM, measured on this box.

    Attributes:
        uuid: which GPU.
        tflops: achieved dense bf16 TFLOP/s.
        power_w: mean power during the GEMM.
        power_limit_w: limit enforced then.
        at_s: wall time of the measurement.
        driver: driver version then; another driver voids it.
    """

    uuid: str
    tflops: float
    power_w: float
    power_limit_w: float | None
    at_s: float
    driver: str
