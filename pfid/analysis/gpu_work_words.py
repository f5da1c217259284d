"""What a verdict on a card's work says: the sentence of each reason, clauses and figures."""

from collections.abc import Mapping
from typing import Final

from pfid.analysis.gpu_work_reading import Against, Work, WorkReading
from pfid.domain.gpu import AbsentReason
from pfid.domain.outcome import Outcome
from pfid.spec import Answers

ANSWERS: Final = Answers(
    {
        "hung_in_collective": (Outcome.FAIL, "GPUs spin at low power and no step comes any more"),
        "throttled": (Outcome.FAIL, "a GPU is held back"),
        "busy_at_low_power": (Outcome.FAIL, "GPUs are busy at a power that does no dense work"),
        "sm_busy_tensor_idle": (Outcome.FAIL, "GPUs are busy at full power without matrix work"),
        "gpu_starved": (Outcome.FAIL, "the run trains and its GPUs idle"),
        "sensors_disagree": (Outcome.FAIL, "two sensors of this GPU contradict each other"),
        "gpu_not_present": (Outcome.UNKNOWN, "a GPU of the run does not answer"),
        "field_unreadable": (Outcome.UNKNOWN, "a figure that is needed cannot be read"),
        "no_comparison": (Outcome.UNKNOWN, "there is nothing to hold the power against"),
        "window_too_short": (Outcome.UNKNOWN, "there are too few readings yet"),
        "shared_gpu": (Outcome.UNKNOWN, "others work on the same GPU; whose work it is, is open"),
        "some_gpus_idle": (
            Outcome.UNKNOWN,
            "the run trains and some of its GPUs idle; whether it needs them is not known",
        ),
        "tensor_idle_power_unclear": (
            Outcome.UNKNOWN,
            "GPUs are busy without matrix work, at a power that neither clears nor convicts",
        ),
        "tensor_activity_unknown": (
            Outcome.UNKNOWN,
            "GPUs are busy at power; whether with matrix work is not measured",
        ),
        "phase_lasts_too_long": (
            Outcome.UNKNOWN,
            "GPUs idle in a phase that may, for longer than it does",
        ),
        "phase_unknown": (Outcome.UNKNOWN, "GPUs idle; whether they should work is not known"),
        "in_a_container": (
            Outcome.UNKNOWN,
            "pfid runs in a container, where the driver's process numbers mean others",
        ),
        "holders_unknown": (Outcome.UNKNOWN, "which GPUs the run is on cannot be told"),
        "telemetry_stale": (Outcome.UNKNOWN, "there are no fresh readings"),
        "no_clear_fault": (Outcome.PASS, "no clear sign of the wrong kind of work"),
        "waits_by_phase": (Outcome.PASS, "GPUs idle or wait, in a phase that may"),
        "matmul_bound": (Outcome.PASS, "GPUs are busy with matrix work"),
        "mig_shares_the_card": (
            Outcome.NOT_APPLICABLE,
            "under MIG, utilisation is not told and power is the whole card's",
        ),
        "not_measured_here": (Outcome.NOT_APPLICABLE, "this hardware does not tell"),
        "no_gpu": (Outcome.NOT_APPLICABLE, "the run is on no GPU"),
        "ended": (Outcome.NOT_APPLICABLE, "the run has ended"),
    }
)
WORST_FIRST: Final = tuple(ANSWERS.sentences)
"""Of several GPUs the worst speaks; a card that is held back makes the others wait."""
MEANT: Final = "if that is meant, `pfid probe gemm` under this limit says so"

PROBE: Final = "`pfid probe gemm`"
NO_COUNTER: Final[Mapping[AbsentReason, str]] = {
    AbsentReason.NOT_SUPPORTED: "this card has no GPM counters (Hopper and later have)",
    AbsentReason.NO_PERMISSION: "GPM counters would tell, if pfid were allowed to read them",
}
NOT_NOW: Final = "its GPM counters cannot be read just now"
STUCK: Final = "its tensor counter stands still at 0"


def clauses(reason: str, reading: WorkReading) -> list[str]:
    """How busy, held against what, and what would have to be known; empty where nothing is."""
    busy, share = reading.window.utilization, reading.power_share
    held = reading.against.value if reading.against else ""
    return [
        f"{busy:.0%} busy" if busy is not None else "",
        f"power is {share:.0%} of {held}" if share is not None else "",
        reading.why,
        f"missing: {', '.join(reading.fields)}" if reading.fields else "",
        *_remedies(reason, reading),
    ]


def _remedies(reason: str, reading: WorkReading) -> list[str]:
    """What would make a comparison possible that is lacking."""
    if reason == Work.NO_COMPARISON.value:
        return [f"{PROBE} would measure its own GEMM"]
    if reason == Work.TENSOR_UNKNOWN.value:
        return [_counter(reading), _rate(reading)]
    below = reading.against is Against.BELOW_DEFAULT and reason == Work.THROTTLED.value
    return [MEANT] if below else []


def _counter(reading: WorkReading) -> str:
    """Why no counter tells."""
    if reading.window.tensor_activity is not None:
        return STUCK
    why = reading.window.absent.get("tensor_activity", AbsentReason.NOT_SUPPORTED)
    return NO_COUNTER.get(why, NOT_NOW)


def _rate(reading: WorkReading) -> str:
    """What the run's own rate lacks to tell in the counter's place."""
    measured = reading.against in {Against.REFERENCE, Against.LOWERED_LIMIT}
    if reading.flops_share is not None:
        return (
            f"the rate it reports is {reading.flops_share:.0f} times that of its own GEMM, which "
            "no card does: look at its FLOPs per token and its count of tokens"
        )
    if reading.reported:
        return f"the run reports its FLOP/s: {PROBE} would give what to hold them against"
    reports = "steps reported with their FLOPs (`accounting=`) would tell"
    return reports if measured else f"{reports}, held against a {PROBE}"


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
