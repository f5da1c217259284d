"""``pfid probe profile``: scaling, padding, loss head and kernels of one step, in a single pass."""

import tempfile
from pathlib import Path
from typing import Any

import click

from pfid.analysis.padding_penalty import PaddingPenalty, TimedShape, penalty_of
from pfid.analysis.regime import Regime, read_regime
from pfid.analysis.scaling import Timing, fit
from pfid.bootstrap.scaling import sweep_of
from pfid.bootstrap.step_probe import TINY, StepProbeError, StepSaid
from pfid.cli.finite import FiniteRange
from pfid.cli.fit_report import fit_json, print_fit
from pfid.cli.nd_options import counted_from, nd_facts, nd_json, nd_options
from pfid.cli.output import Exit, emit_json, facts
from pfid.cli.probe_loss_head import loss_facts, loss_json, loss_of
from pfid.cli.profile_accounting import accounted_step, counted_step, work_of
from pfid.cli.step_options import (
    WIDTHS_OPTION,
    asked_widths,
    measured,
    named,
    repeats,
    run_facts,
    run_json,
    step_ask,
    step_options,
)
from pfid.cli.trace_accounting import StepWork
from pfid.cli.trace_reading import ReadTrace, TraceError, read_file
from pfid.cli.trace_report import Asked, report_of
from pfid.cli.trace_tables import print_report


@click.command()
@step_options
@repeats(3, 2)
@WIDTHS_OPTION
@click.option(
    "--padding",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Of one record, where the factory takes `padding`.",
)
@click.option(
    "--loss", callback=named, metavar="MODULE:FUNCTION", help="The loss that the step calls."
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the trace there.",
)
@nd_options
@click.pass_context
def command(
    ctx: click.Context, /, target: str, as_json: bool, trace: Path | None, **options: Any
) -> None:
    """Measure one step in a single pass: scaling fit, padding penalty, loss head, kernel table.

    STEP_FACTORY as for `pfid probe scaling`; where it takes `padding` too (the share of one record
    that is padding), the same shape is timed with and without it, turn by turn.

    Exit codes: 0 measured, 2 usage, 3 no regime can be read, or nothing could be measured.
    """
    named_model = counted_from(options)
    with tempfile.TemporaryDirectory(prefix="pfid-profile-") as folder:
        place = trace.resolve() if trace is not None else Path(folder) / "step.json"
        said = _measured(target, options, place)
        counted = counted_step(said, named_model)
        kernels = _kernels(place, said, work_of(said, counted))
    cost, unknown = accounted_step(said, counted)
    timings = timings_of(said)
    found = fit(timings)
    reading = read_regime(timings, found)
    penalty, head = penalty_from(said), loss_of(said)
    if as_json:
        data = {
            **run_json(target, said, options),
            "fit": fit_json(timings, found),
            "padding": penalty and penalty_json(penalty, options["padding"]),
            "loss_head": head and loss_json(head),
            "kernels": kernels,
            "achieved_flops_per_s": achieved(said),
            "accounting": nd_json(cost),
            "accounting_unknown": unknown,
            "sweep_ended": sweep_of(said).stopped,
        }
        emit_json(data)
    else:
        print_fit(fit_json(timings, found), reading, found)
        facts([*run_facts(target, said), *penalty_facts(penalty)])
        facts(loss_facts(head) if head else [("loss head", "not measured: no --loss was named")])
        _print_kernels(kernels, achieved(said))
        facts(nd_facts(nd_json(cost), unknown))
    ctx.exit(Exit.UNKNOWN if reading.regime is Regime.NONE else Exit.OK)


def _measured(target: str, options: dict[str, Any], place: Path) -> StepSaid:
    loss = options["loss"] or (TINY if target == TINY else None)
    more = (
        *asked_widths(target, options["widths"]),
        "--padding",
        str(options["padding"]),
        "--trace",
        str(place),
    )
    asked = step_ask(
        "profile_step", target, options, (*more, *(() if loss is None else ("--loss", loss)))
    )
    return measured(asked)


def timings_of(said: StepSaid) -> list[Timing]:
    """Take what was timed of the sweep.

    Raises:
        StepProbeError: if it cannot be, or nothing was.
    """
    found = list(sweep_of(said).timings)
    if not found:
        raise StepProbeError("not one width fits into memory")
    return found


def penalty_from(said: StepSaid) -> PaddingPenalty | None:
    """Take what was timed with padding and without; None where the factory takes none."""
    shapes: dict[bool, list[TimedShape]] = {False: [], True: []}
    try:
        for one in said.of("penalty"):
            timed = TimedShape(seconds=float(one["seconds"]), targets=one.get("targets"))
            shapes[float(one["padding"]) > 0].append(timed)
    except (KeyError, TypeError, ValueError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    return penalty_of(shapes[False], shapes[True])


def penalty_json(penalty: PaddingPenalty, share: float) -> dict[str, Any]:
    """The penalty of padding as keys."""
    return {
        "share": share,
        "full_s": penalty.full_s,
        "padded_s": penalty.padded_s,
        "full_targets": penalty.full_targets,
        "padded_targets": penalty.padded_targets,
        "slower": penalty.slower,
        "less_work": penalty.less_work,
        "per_target": penalty.per_target,
        "spread": penalty.spread,
        "seen": penalty.seen,
    }


def penalty_facts(penalty: PaddingPenalty | None) -> list[tuple[str, str]]:
    """The same for people."""
    if penalty is None:
        return [("padding penalty", "not measured: the factory takes no `padding`")]
    how = "slower" if penalty.slower >= 0 else "faster"
    said = f"{abs(penalty.slower):.1%} {how} with one row padded"
    if penalty.less_work is not None:
        said += f", for {penalty.less_work:.1%} less work"
    if not penalty.seen:
        said += f"; repetitions differ by {penalty.spread:.1%}, so it may be nothing"
    seconds = f"{penalty.full_s:.4g} s, then {penalty.padded_s:.4g} s"
    return [("padding penalty", said), ("steps", seconds)]


def achieved(said: StepSaid) -> float | None:
    """FLOP a second as the profiler counted them; None where it did not."""
    for one in said.of("profiled"):
        flops, wall_s = one.get("flops"), one.get("wall_s")
        if flops and wall_s:
            return float(flops) / float(wall_s)
    return None


def _kernels(place: Path, said: StepSaid, work: StepWork) -> dict[str, Any] | None:
    """The kernel table of the trace that the probe wrote."""
    profiled = said.of("profiled")
    if not profiled:
        return None
    try:
        read = read_file(str(place))
    except TraceError as error:
        raise StepProbeError(f"the trace of the step cannot be read: {error}") from error
    if not isinstance(read, ReadTrace):
        raise StepProbeError("what the profiler wrote is no trace")
    wall_s = float(profiled[0].get("wall_s") or 0.0)
    return report_of(read, Asked(wall_ns=max(1, round(wall_s * 1e9)), work=work))


def _print_kernels(kernels: dict[str, Any] | None, rate: float | None) -> None:
    if kernels is not None:
        print_report(kernels, by_step=False)
    if rate is not None:
        facts([("achieved, as the profiler counts", f"{rate / 1e12:.3g} TFLOP/s")])
