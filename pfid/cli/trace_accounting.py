"""What the traced steps achieved by the ND accounting, beside what kernels say of themselves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pfid.analysis.kernel_table import in_order
from pfid.analysis.nd_accounting import Accounted, Counted, account
from pfid.cli.trace_provenance import Bound, not_of_it
from pfid.cli.trace_reading import ReadTrace

if TYPE_CHECKING:
    from pfid.bootstrap.reported_work import ReportedWork

NOT_TOLD = (
    "it takes the model (--model or --parameters) and --tokens of a step, or a run that reported "
    "them (--run)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """What the user says of a step.

    Attributes:
        counted: parameters of the model.
        tokens: of a step on this rank, padding included.
        width: of a row.
        steps: that the trace holds, where it has no rows of them.
    """

    counted: Counted | None = None
    tokens: float | None = None
    width: int | None = None
    steps: int | None = None


def accounted(
    read: ReadTrace, wall_ns: int | None, work: StepWork, bound: Bound | None, rank: int | None
) -> tuple[Accounted | None, str | None]:
    """Account for the traced steps, or say why that cannot be done.

    Args:
        read: the trace.
        wall_ns: that the user gave.
        work: what the user says of a step.
        bound: the run that was traced.
        rank: of the trace.
    """
    if not read.table.used:
        return None, "the trace has no device rows"
    told = _reported(read, bound, rank)
    tokens = work.tokens or (None if told is None else told.tokens)
    width = work.width or (None if told is None else told.width)
    by_run = work.counted is None and told is not None and told.flops is not None
    if not by_run and (work.counted is None or not tokens):
        return None, _missing(work, bound)
    seconds = _seconds_per_step(read, wall_ns, work.steps)
    if seconds is None:
        return None, "the trace has no ProfilerStep# rows; --steps N says how many steps it holds"
    if work.counted is not None and tokens:
        return account(work.counted, tokens, width, seconds), None
    return (None, NOT_TOLD) if told is None else (_by_run(told, seconds), None)


def _reported(read: ReadTrace, bound: Bound | None, rank: int | None) -> "ReportedWork | None":
    """What the run reported, if the trace is known to be of it."""
    if bound is None or not_of_it(bound, read):
        return None
    from pfid.bootstrap.reported_work import reported_work

    return reported_work(bound.read.file.parent / "steps", rank)


def _missing(work: StepWork, bound: Bound | None) -> str:
    if work.counted is not None:
        return "how many tokens a step has is not told: --tokens N, or a run that reported them"
    return NOT_TOLD if bound is None else f"the run reported no FLOPs of its steps; {NOT_TOLD}"


def _seconds_per_step(read: ReadTrace, wall_ns: int | None, steps: int | None) -> float | None:
    windows = in_order(read.collected.steps.values())
    count = steps or len(windows)
    span = read.table.span
    if wall_ns is None and windows:
        wall_ns = max(window.end_ns for window in windows) - windows[0].start_ns
    elif wall_ns is None and span is not None:
        wall_ns = span[1] - span[0]
    return wall_ns / 1e9 / count if count and wall_ns and wall_ns > 0 else None


def _by_run(told: "ReportedWork", seconds: float) -> Accounted:
    """The run's own figure, under its own name."""
    return Accounted(
        name=told.accounting or "accounting not named",
        source=f"the run's own report, a middling one of {told.steps:,} steps",
        parameters=None,
        trained=None,
        tokens=told.tokens,
        width=told.width,
        seconds=seconds,
        flops=told.flops or 0.0,
    )
