"""Options that tell what a step costs by its parameters, and how that is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from pfid.analysis.nd_accounting import Accounted, AttentionCost, Counted, counted_of
from pfid.bootstrap.model_shape import model_shape
from pfid.cli.finite import FiniteRange, WholeRange
from pfid.domain.errors import PfidError

Command = TypeVar("Command", bound=Callable[..., Any])
NAMES: Final = ("model", "parameters", "trained", "attention_layers", "attention_width")
_OPTIONS: Final = (
    click.option(
        "--model", type=click.Path(path_type=Path), metavar="DIR|FILE",
        help="The model's folder or config.json: its parameters give FLOP/s by 6ND.",
    ),
    click.option(
        "--parameters", type=FiniteRange(min=1), metavar="N",
        help="The same by a figure: parameters that a token passes.",
    ),
    click.option(
        "--trained", type=FiniteRange(min=0), metavar="N",
        help="Parameters that are trained; frozen ones cost 4 a token, not 6. [default: all]",
    ),
    click.option(
        "--attention-layers", type=WholeRange(min=1), metavar="N",
        help="With --parameters: layers of full attention.",
    ),
    click.option(
        "--attention-width", type=WholeRange(min=1), metavar="N",
        help="With --parameters: heads times head dimension of such a layer.",
    ),
)  # fmt: skip


class AccountingError(PfidError):
    """A model's parameters cannot be counted, and why."""


def nd_options(command: Command) -> Command:
    """Add them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def counted_from(options: dict[str, Any]) -> Counted | None:
    """What was said of the model; None if nothing was.

    Raises:
        click.UsageError: for options that do not go together.
        PfidError: if the model cannot be read, or its shapes are not told.
    """
    model, parameters, trained = options["model"], options["parameters"], options["trained"]
    layers, width = options["attention_layers"], options["attention_width"]
    if model is not None and (parameters, layers, width) != (None, None, None):
        raise click.UsageError("--model tells parameters and attention; name one or the other")
    if (layers is None) is not (width is None):
        raise click.UsageError("--attention-layers and --attention-width belong together")
    if model is None and parameters is None:
        if (trained, layers) != (None, None):
            raise click.UsageError("it takes --model or --parameters to count with")
        return None
    if model is not None:
        try:
            return counted_of(model_shape(model), str(model), trained)
        except ValueError as problem:
            raise AccountingError(str(problem)) from problem
    if trained is not None and trained > parameters:
        raise click.UsageError(f"--trained {trained:g} is more than --parameters {parameters:g}")
    attention = () if layers is None else (AttentionCost(layers=layers, widths=2 * width),)
    return Counted(
        parameters=parameters,
        trained=parameters if trained is None else trained,
        all_parameters=parameters,
        attention=attention,
        source="--parameters",
    )


def nd_json(accounted: Accounted | None) -> dict[str, Any] | None:
    """The accounting as keys."""
    if accounted is None:
        return None
    return {
        "name": accounted.name,
        "source": accounted.source,
        "parameters": accounted.parameters,
        "trained": accounted.trained,
        "tokens_per_step": accounted.tokens,
        "width": accounted.width,
        "seconds_per_step": accounted.seconds,
        "flops_per_step": accounted.flops,
        "attention_flops_per_step": accounted.attention_flops,
        "flops_per_s": accounted.flops_per_s,
        "attention_flops_per_s": accounted.attention_flops_per_s,
    }


def nd_facts(data: dict[str, Any] | None, unknown: str | None) -> list[tuple[str, str]]:
    """Rows for people: the figure with its name, or why there is none."""
    if data is None:
        return [("by 6ND", f"not known: {unknown}")]
    said = f"{_rate(data['flops_per_s'])} ({data['name']}; {data['source']})"
    rows = [("by 6ND", said)]
    attention = data["attention_flops_per_s"]
    if attention is not None:
        rows.append(("attention's products", f"{_rate(attention)} beside that"))
    elif data["parameters"] is not None:
        rows.append(("attention's products", "not known: no layers, or no width of a row"))
    return rows


def _rate(per_s: float) -> str:
    return f"{per_s / 1e12:.3g} TFLOP/s"
