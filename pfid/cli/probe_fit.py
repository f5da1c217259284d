"""``pfid probe fit``: the scaling curve of a step, out of timings somebody has."""

import sys
from pathlib import Path
from typing import Any

import click

from pfid.adapters.length_files import load_records
from pfid.analysis.length_orders import Order, OrderCost, order_cost
from pfid.analysis.length_values import Fields
from pfid.analysis.regime import Regime, read_regime
from pfid.analysis.scaling import Timing, fit
from pfid.analysis.shape_weighting import weigh
from pfid.cli.finite import FiniteRange, WholeRange
from pfid.cli.fit_report import Observed, Shapes, agrees, fit_json, print_fit
from pfid.cli.output import Exit, emit_json
from pfid.cli.probe_options import BATCH, COLUMN, FIELD, LENGTHS, MAX_LENGTH, ORDERS, given
from pfid.cli.run_seconds import seconds_of_run
from pfid.formats.timing_points import Point, TimingsError, parse_file, parse_inline


@click.command()
@click.option(
    "--points",
    required=True,
    metavar="W:T,...|FILE",
    help="Width and seconds of steps timed, or a file of them; - is standard input.",
)
@COLUMN
@LENGTHS
@FIELD
@BATCH
@MAX_LENGTH
@click.option(
    "--order",
    type=click.Choice([order.value for order in ORDERS]),
    default=Order.SHUFFLED.value,
    show_default=True,
    help="How micro-batches are formed of the lengths.",
)
@click.option(
    "--accumulation",
    type=WholeRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Micro-batches a step, where one of them was timed.",
)
@click.option(
    "--observed",
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Seconds per step that a run takes.",
)
@click.option("--run", "run_name", metavar="RUN", help="Take them from a run that pfid watched.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Fit t(w) = A*w + B*w^2 to timings of a step, and name the regime.

    Three widths at least; four show a fixed cost. A fit that does not close gives no share. With
    --lengths the step is predicted for the padded micro-batches that are really formed, and held
    against what was observed.

    Exit codes: 0 it closes (or the step is launch-bound) and agrees with what was observed, 1 it
    does not agree, 2 usage, 3 no regime can be read, or a file cannot.
    """
    observed = _observed(options)
    timings = [Timing(width=p.width, seconds=p.seconds) for p in _points(options)]
    found = fit(timings)
    shapes = None
    if options["lengths"] is not None:
        formed = _formed(options)
        shapes = Shapes(
            formed=formed,
            batch=options["batch"],
            accumulation=options["accumulation"],
            weighted=weigh(found, formed.cost),
        )
    data = fit_json(timings, found, shapes=shapes, observed=observed)
    reading = read_regime(timings, found)
    emit_json(data) if as_json else print_fit(data, reading, found)
    if not agrees(data):
        ctx.exit(Exit.FAILED)
    ctx.exit(Exit.UNKNOWN if reading.regime is Regime.NONE and not found.closes else Exit.OK)


def _points(options: dict[str, Any]) -> tuple[Point, ...]:
    """What ``--points`` holds: text with a colon that is no file, else a file's content."""
    text, column = options["points"], options["column"]
    if text != "-" and not Path(text).exists() and ":" in text:
        try:
            return parse_inline(text)
        except TimingsError as error:
            raise click.BadParameter(str(error), param_hint="--points") from error
    shown = "standard input" if text == "-" else text
    try:
        data = sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
        return parse_file(data, column)
    except OSError as error:
        raise TimingsError(f"{shown}: cannot be read: {error.strerror}") from error
    except TimingsError as error:
        raise TimingsError(f"{shown}: {error}") from error


def _formed(options: dict[str, Any]) -> OrderCost:
    """The micro-batches of the lengths in the order asked for."""
    batch = given(options["batch"], "--batch", "--lengths needs it: records a micro-batch")
    fields = Fields(length=options["field"])
    records = load_records(options["lengths"], fields, longest=options["max_length"])
    return order_cost(records, batch, Order(options["order"]))


def _observed(options: dict[str, Any]) -> Observed | None:
    if options["observed"] is not None and options["run_name"] is not None:
        raise click.UsageError("give --observed or --run, not both")
    if options["run_name"] is not None:
        return Observed(
            seconds=seconds_of_run(options["run_name"]), source=f"run {options['run_name']}"
        )
    if options["observed"] is None:
        return None
    return Observed(seconds=options["observed"], source="given")
