"""``pfid probe scaling``: time a step at several widths, and fit it."""

import os
import time
from typing import Any

import click

from pfid.adapters.length_files import load_records
from pfid.analysis.length_orders import Order, order_cost
from pfid.analysis.length_values import Fields
from pfid.analysis.regime import Regime, read_regime
from pfid.analysis.scaling import ScalingFit, fit
from pfid.analysis.shape_weighting import weigh
from pfid.bootstrap.kept_fit import keep
from pfid.bootstrap.scaling import Sweep, sweep_of
from pfid.cli.finite import WholeRange
from pfid.cli.fit_report import Shapes, fit_json, print_fit
from pfid.cli.output import Exit, emit_json, error, facts
from pfid.cli.probe_options import FIELD, LENGTHS, MAX_LENGTH
from pfid.cli.step_options import (
    WIDTHS_OPTION,
    asked_widths,
    measured,
    repeats,
    run_facts,
    run_json,
    step_ask,
    sweep_options,
)
from pfid.domain.step_fit import StepFit


@click.command()
@sweep_options
@WIDTHS_OPTION
@repeats(2, 1, help_text="Timings a width; the best counts, all of them give the uncertainty.")
@click.option(
    "--accumulation", type=WholeRange(min=1), default=1, show_default=True, metavar="N",
    help="Micro-batches a step of the run.",
)  # fmt: skip
@LENGTHS
@FIELD
@MAX_LENGTH
@click.option(
    "--keep", "name", metavar="NAME", help="Keep the fit for runs of this name (pfid run --name)."
)
@click.pass_context
def command(ctx: click.Context, /, target: str, as_json: bool, **options: Any) -> None:
    """Time your own training step at several widths, and fit t(w) = A*w + B*w^2.

    STEP_FACTORY is called once a width with those of width, batch and device that it takes, and
    returns a function without arguments: forward and backward of one micro-batch. It is imported
    from the current folder. Without one a built-in tiny step shows how it works. A GPU somebody
    else is on is refused; running out of memory ends the sweep.

    Exit codes: 0 the fit closes or the step is launch-bound, 2 usage, 3 no regime can be read, or
    nothing could be measured.
    """
    asked = step_ask("scaling", target, options, asked_widths(target, options["widths"]))
    lengths = None if options["lengths"] is None else _lengths(options)
    said = measured(asked)
    done = sweep_of(said)
    found = fit(done.timings)
    shapes = None
    if lengths is not None:
        formed = order_cost(lengths, options["batch"], Order.SHUFFLED)
        shapes = Shapes(
            formed=formed,
            batch=options["batch"],
            accumulation=options["accumulation"],
            weighted=weigh(found, formed.cost),
        )
    kept = _kept(options["name"], found, options["accumulation"], shapes)
    data = fit_json(done.timings, found, shapes=shapes) | run_json(target, said, options)
    data |= _swept_json(done, kept)
    reading = read_regime(done.timings, found)
    if as_json:
        emit_json(data)
    else:
        print_fit(data, reading, found)
        facts([*run_facts(target, said), *_swept_facts(done, kept)])
    if options["name"] is not None and kept is None:
        error(f"nothing is kept for {options['name']}: the fit does not close")
    ctx.exit(Exit.UNKNOWN if reading.regime is Regime.NONE and not found.closes else Exit.OK)


def _lengths(options: dict[str, Any]) -> Any:
    fields = Fields(length=options["field"])
    return load_records(options["lengths"], fields, longest=options["max_length"])


def _kept(
    name: str | None, found: ScalingFit, accumulation: int, shapes: Shapes | None
) -> str | None:
    """Keep the fit under a run's name; returns the name, None where nothing was kept."""
    a, b = found.a_s_per_token, found.b_s_per_token2
    if name is None or not found.closes or a is None or b is None:
        return None
    keep(
        name,
        StepFit(
            a_s_per_token=max(0.0, a) * accumulation,
            b_s_per_token2=max(0.0, b) * accumulation,
            narrowest=found.residuals[0].width,
            widest=found.residuals[-1].width,
            expected_s=None if shapes is None else shapes.expected_s,
            measured_at_s=time.time(),
        ),
        os.environ,
    )
    return name


def _swept_json(done: Sweep, kept: str | None) -> dict[str, Any]:
    return {
        "peak_bytes": {str(width): size for width, size in done.peak_bytes.items()},
        "sweep_ended": done.stopped,
        "kept_for": kept,
    }


def _swept_facts(done: Sweep, kept: str | None) -> list[tuple[str, str]]:
    rows = []
    if done.stopped is not None:
        rows.append(("swept up to", f"out of memory at width {done.stopped['width']:,}"))
    if kept is not None:
        rows.append(("kept for", f"runs named {kept}"))
    return rows
