"""A reading of a card's work in clauses and figures, as a verdict says it."""

from collections.abc import Mapping
from typing import Final

from pfid.analysis.gpu_work_reading import Work, WorkReading

REMEDIES: Final[Mapping[str, str]] = {
    Work.TENSOR_UNKNOWN.value: "GPM counters (Hopper and later) or reported FLOPs would tell",
    Work.NO_COMPARISON.value: "`pfid probe gemm` would measure its own GEMM",
}
"""What would make a comparison possible that is lacking, by reason code."""


def clauses(reason: str, reading: WorkReading) -> list[str]:
    """How busy, held against what, and what would have to be known; empty where nothing is."""
    busy, share = reading.window.utilization, reading.power_share
    held = reading.against.value if reading.against else ""
    return [
        f"{busy:.0%} busy" if busy is not None else "",
        f"power is {share:.0%} of {held}" if share is not None else "",
        reading.why,
        f"missing: {', '.join(reading.fields)}" if reading.fields else "",
        REMEDIES.get(reason, ""),
    ]


def figures(reading: WorkReading, cards: int) -> dict[str, tuple[float | None, str]]:
    """Every figure that decided, with its unit.

    Args:
        reading: of the card that speaks.
        cards: how many the run is on.
    """
    window = reading.window
    return {
        "gpus": (cards, "1"),
        "window": (window.seconds, "s"),
        "utilization": (window.utilization, "ratio"),
        "power": (window.power_w, "W"),
        "power_limit": (window.power_limit_w, "W"),
        "power_share": (reading.power_share, "ratio"),
        "tensor_activity": (window.tensor_activity, "ratio"),
        "flops_share": (reading.flops_share, "ratio"),
    }
