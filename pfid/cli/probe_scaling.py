"""``pfid probe scaling``: time a step at several widths, and fit it."""

import os
import time
from typing import Any, Final

import click

from pfid.adapters.length_files import load_lengths
from pfid.analysis.length_input import Fields
from pfid.analysis.length_orders import Order, order_cost
from pfid.analysis.length_records import records_of
from pfid.analysis.regime import Regime, read_regime
from pfid.analysis.scaling import ScalingFit, fit
from pfid.analysis.shape_weighting import weigh
from pfid.bootstrap.kept_fit import keep
from pfid.bootstrap.scaling import TINY, Sweep, SweepAsk, sweep
from pfid.cli.fit_report import Shapes, fit_json, print_fit
from pfid.cli.gathering import gathered
from pfid.cli.output import Exit, emit_json, error, facts, note
from pfid.cli.probe_options import FIELD, LENGTHS, MAX_LENGTH
from pfid.domain.step_fit import StepFit

WIDTHS: Final = (512, 1_024, 2_048, 4_096)
TINY_WIDTHS: Final = (128, 256, 512, 1_024)
WIDTHS_MAX: Final = 32


def _widths(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Widths in any order, each once; narrowest first."""
    if value is None:
        return None
    parts = [part.strip().replace("_", "") for part in value.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 9 for part in parts):
        raise click.BadParameter(f"{value!r} is not like 512,1024,2048")
    widths = sorted({int(part) for part in parts})
    if widths[0] < 1 or len(widths) > WIDTHS_MAX:
        raise click.BadParameter(f"from 1 token on, and {WIDTHS_MAX} widths at most")
    return tuple(widths)


@click.command()
@click.argument("target", metavar="[MODULE:STEP_FACTORY]", default=TINY)
@click.option(
    "--python",
    default="python3",
    show_default=True,
    metavar="PY",
    help="The training interpreter: the step runs in it.",
)
@click.option(
    "--widths", callback=_widths, metavar="W,W,...",
    help="Tokens a record; 512,1024,2048,4096 where it is not said.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Records of every micro-batch, the same at each width.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=2, show_default=True, metavar="N",
    help="Timings a width; the best counts, all of them give the uncertainty.",
)  # fmt: skip
@click.option(
    "--warmup", type=click.IntRange(0, 100), default=1, show_default=True, metavar="N",
    help="Steps at each width before the clock runs.",
)  # fmt: skip
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
    help="Where; auto is a GPU where torch sees one.",
)  # fmt: skip
@click.option("--gpu", metavar="UUID", help="The card to measure on, by uuid or index.")
@click.option(
    "--accumulation", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Micro-batches a step of the run.",
)  # fmt: skip
@LENGTHS
@FIELD
@MAX_LENGTH
@click.option(
    "--keep", "name", metavar="NAME", help="Keep the fit for runs of this name (pfid run --name)."
)
@click.option(
    "--step-timeout", type=click.FloatRange(min=1), default=600.0, show_default=True,
    metavar="S", help="Longest wait for one step or one import.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=3_600.0, show_default=True, metavar="S",
    help="Longest the whole sweep may take.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    asked = _asked(target, options)
    lengths = None if options["lengths"] is None else _lengths(options)
    done = sweep(asked, lambda: gathered(everything=False).sources, _progress)
    found = fit(done.timings)
    shapes = None
    if lengths is not None:
        formed = order_cost(lengths, asked.batch, Order.SHUFFLED)
        shapes = Shapes(
            formed=formed,
            batch=asked.batch,
            accumulation=options["accumulation"],
            weighted=weigh(found, formed.cost),
        )
    kept = _kept(options["name"], found, options["accumulation"], shapes)
    data = fit_json(done.timings, found, shapes=shapes) | _run_json(asked, done, kept)
    reading = read_regime(done.timings, found)
    if as_json:
        emit_json(data)
    else:
        print_fit(data, reading, found)
        facts(_run_facts(asked, done, kept))
    if options["name"] is not None and kept is None:
        error(f"nothing is kept for {options['name']}: the fit does not close")
    ctx.exit(Exit.UNKNOWN if reading.regime is Regime.NONE and not found.closes else Exit.OK)


def _asked(target: str, options: dict[str, Any]) -> SweepAsk:
    if target != TINY and ":" not in target:
        raise click.BadParameter(f"{target!r} is not MODULE:NAME", param_hint="STEP_FACTORY")
    if options["gpu"] is not None and options["device"] == "cpu":
        raise click.UsageError("--gpu and --device cpu exclude each other")
    return SweepAsk(
        python=options["python"],
        target=target,
        widths=options["widths"] or (TINY_WIDTHS if target == TINY else WIDTHS),
        batch=options["batch"],
        repeats=options["repeats"],
        warm=options["warmup"],
        device=options["device"],
        gpu=options["gpu"],
        deadline_s=options["timeout"],
        silent_s=options["step_timeout"],
    )


def _lengths(options: dict[str, Any]) -> Any:
    columns = load_lengths(options["lengths"], Fields(length=options["field"]))
    return records_of(columns.lengths, longest=options["max_length"])


def _progress(said: dict[str, Any]) -> None:
    """Tell on standard error how far it is."""
    if said["event"] == "ready":
        note(f"on {said.get('name') or said.get('device')}, torch {said.get('torch') or 'absent'}")
    elif said["event"] == "timing":
        note(f"width {said['width']:,}: {said['seconds']:.4g} s")
    elif said["event"] == "sweep_ended":
        note(f"width {said['width']:,}: out of memory; nothing wider is tried")


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


def _run_json(asked: SweepAsk, done: Sweep, kept: str | None) -> dict[str, Any]:
    return {
        "step": None if asked.target == TINY else asked.target,
        "batch": asked.batch,
        "device": done.device,
        "alone": done.alone,
        "peak_bytes": {str(width): size for width, size in done.peak_bytes.items()},
        "sweep_ended": done.stopped,
        "kept_for": kept,
    }


def _run_facts(asked: SweepAsk, done: Sweep, kept: str | None) -> list[tuple[str, str]]:
    step = "the built-in tiny one, which is nobody's training"
    where = done.device.get("name") or done.device.get("device") or "?"
    rows = [("step", step if asked.target == TINY else asked.target), ("measured on", str(where))]
    if done.device.get("device") == "cuda" and done.alone is None:
        rows.append(("caution", "whether somebody else is on the GPU could not be seen"))
    if done.stopped is not None:
        rows.append(("swept up to", f"out of memory at width {done.stopped['width']:,}"))
    if kept is not None:
        rows.append(("kept for", f"runs named {kept}"))
    return rows
