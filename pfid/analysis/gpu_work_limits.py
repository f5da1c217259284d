"""Limits between the kinds of work of a card (DESIGN section 10)."""

from dataclasses import dataclass
from typing import Final

from pfid.spec.limits import limit

WINDOW_S: Final = 60.0
"""Seconds of a window (DESIGN section 10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """Limits of DESIGN section 10.

    Attributes:
        window_s: seconds of readings that are judged together.
        covered: share of the window that readings must cover.
        utilization_high: mean utilisation from which a card is busy.
        utilization_low: up to which it idles.
        power_high: share of the reference from which power is that of dense work.
        power_low: share up to which it is not; between the two nothing fails.
        tensor_high: tensor activity, or achieved over reference FLOP/s, of matrix multiplication.
        tensor_low: up to which the work is something else (the playbook's run: 27 of 304).
        tensor_full: tensor activity that no card keeps up at half of its own GEMM's power.
        flops_most: achieved over reference FLOP/s that no run gets out of a card, whatever types it
            computes in (4-bit ones come to four times bf16's): such a report tells nothing.
        full_power: share of the enforced limit at which something must be running.
        cap_lowered: share of the limit at the reference's time, or where there is no reference of
            the card's default limit, below which it was lowered.
    """

    window_s: float = limit(WINDOW_S, unit="s", factor=1.25)
    covered: float = limit(0.75, unit="ratio", factor=1.1)
    utilization_high: float = limit(0.9, unit="ratio", factor=1.05)
    utilization_low: float = limit(0.3, unit="ratio", factor=1.1)
    power_high: float = limit(0.75, unit="ratio", factor=1.05)
    power_low: float = limit(0.5, unit="ratio", factor=1.05)
    tensor_high: float = limit(0.25, unit="ratio", factor=1.1)
    tensor_low: float = limit(0.15, unit="ratio", factor=1.1)
    tensor_full: float = limit(0.6, unit="ratio", factor=1.1)
    flops_most: float = limit(5.0, unit="ratio", factor=1.1)
    full_power: float = limit(0.9, unit="ratio", factor=1.05)
    cap_lowered: float = limit(0.95, unit="ratio", factor=1.02)
