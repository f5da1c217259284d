"""``pfid probe lora-step``: what a step with adapters gets done, and where they sit."""

from collections.abc import Mapping
from typing import Any

import click

from pfid.analysis.adapter_step import (
    REPEATS_MIN,
    Shape,
    Throughput,
    shape_of,
    throughput_of,
)
from pfid.bootstrap.step_probe import StepProbeError, StepSaid
from pfid.cli.output import Cell, Exit, emit_json, facts, table
from pfid.cli.step_options import (
    WIDTH,
    measured,
    named,
    repeats,
    run_facts,
    run_json,
    step_ask,
    step_options,
)

SHOWN = 12
WORDS = {
    Shape.DENSE: "dense",
    Shape.HYBRID: "hybrid: its recurrent layers need a fused kernel to be fast",
    Shape.UNKNOWN: "not told by its configuration",
}


@click.command()
@step_options
@WIDTH
@repeats(REPEATS_MIN, REPEATS_MIN)
@click.option(
    "--targets",
    callback=named,
    metavar="MODULE:FUNCTION",
    help="Your own discovery of target modules; it is given the model.",
)
@click.pass_context
def command(
    ctx: click.Context, /, target: str, as_json: bool, targets: str | None, **options: Any
) -> None:
    """Time a step with adapters ten times or more, and say which modules they really sit on.

    STEP_FACTORY returns the step and its model. A module counts as hit if it carries trainable
    parameters, and as reached if they get a gradient in one step.

    Exit codes: 0 fine, 1 a declared target is not hit, or an adapter gets no gradient, 2 usage,
    3 it could not be measured.
    """
    width = ("--width", str(options["width"]))
    wanted = () if targets is None else ("--targets", targets)
    asked = step_ask("lora_step", target, options, (*width, *wanted))
    said = measured(asked)
    model, speed = _model(said), _speed(said, options["width"] * options["batch"])
    if as_json:
        found = _json(model, speed)
        emit_json({**run_json(target, said, options), "width": options["width"], **found})
    else:
        facts(run_facts(target, said))
        _print(model, speed)
    ctx.exit(Exit.FAILED if model["missed"] or model["untouched"] else Exit.OK)


def _model(said: StepSaid) -> Mapping[str, Any]:
    found = said.of("model")
    needed = {"parameters", "trainable", "adapters", "targets", "hit_count", "untouched", "towers"}
    if not found or not needed | {"towers_count", "declared", "missed", "layer_types"} <= set(
        found[0]
    ):
        raise StepProbeError("the probe said nothing of the model")
    return found[0]


def _speed(said: StepSaid, tokens: int) -> Throughput:
    try:
        timings = [(float(one["seconds"]), one.get("targets")) for one in said.of("timing")]
        speed = throughput_of([s for s, _ in timings], tokens, [n for _, n in timings])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    if speed is None:
        raise StepProbeError("the probe timed no step")
    return speed


def _json(model: Mapping[str, Any], speed: Throughput) -> dict[str, Any]:
    return {
        "n": speed.n,
        "tokens_per_s": speed.tokens_per_s,
        "lowest": speed.lowest,
        "highest": speed.highest,
        "spread": speed.spread,
        "real_tokens_per_s": speed.real_tokens_per_s,
        "parameters": model["parameters"],
        "trainable": model["trainable"],
        "shape": shape_of(model["layer_types"]),
        "layer_types": model["layer_types"],
        "targets": model["targets"],
        "hit_count": model["hit_count"],
        "declared": model["declared"],
        "missed": model["missed"],
        "untouched": model["untouched"],
        "towers": model["towers"],
    }


def _print(model: Mapping[str, Any], speed: Throughput) -> None:
    real = "the step does not count its loss targets"
    if speed.real_tokens_per_s is not None:
        real = f"{speed.real_tokens_per_s:,.0f}"
    share = model["trainable"] / model["parameters"] if model["parameters"] else 0.0
    facts(
        [
            ("tokens/s", f"{speed.tokens_per_s:,.0f} (n={speed.n}, spread {speed.spread:.1%})"),
            ("real tokens/s", real),
            ("trainable", f"{model['trainable']:,} of {model['parameters']:,} ({share:.2%})"),
            ("model", WORDS[shape_of(model["layer_types"])]),
        ]
    )
    counts = model["targets"]
    table(("target", "modules"), [[name, f"{n:,}"] for name, n in list(counts.items())[:SHOWN]])
    for words, names in (
        ("declared and not hit", model["missed"]),
        ("hit, and never given a gradient", model["untouched"]),
    ):
        if names:
            facts([(words, Cell(", ".join(names[:SHOWN]), "bold red"))])
    if model["towers"]:
        said = f"{model['towers_count']:,}, as {model['towers'][0]}; text alone does not train them"
        facts([("hit in another tower", Cell(said, "yellow"))])
