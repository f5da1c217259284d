"""``pfid probe loss-head``: what the loss costs within a step."""

from typing import Any

import click

from pfid.analysis.loss_head import LossHead, LossTiming, caveat, loss_head_of
from pfid.bootstrap.step_probe import TINY, StepProbeError, StepSaid
from pfid.cli.output import emit_json, facts
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


@click.command()
@step_options
@WIDTH
@repeats(5, 1)
@click.option(
    "--loss",
    callback=named,
    metavar="MODULE:FUNCTION",
    help="The loss that the step calls; needed for a step of your own.",
)
def command(target: str, as_json: bool, loss: str | None, **options: Any) -> None:
    """Say what the loss costs: forward, recompute and gradients apart, over the whole step.

    STEP_FACTORY returns a step (or a step and its model); your own loss function is timed where
    the step calls it, also when a checkpoint runs it again inside backward().

    Exit codes: 0 measured, 2 usage, 3 it could not be.
    """
    if loss is None and target != TINY:
        raise click.UsageError("--loss is missing: which function is the loss of that step?")
    asked = step_ask(
        "loss_head", target, options, ("--loss", loss or TINY, "--width", str(options["width"]))
    )
    said = measured(asked)
    head = loss_of(said)
    if head is None:
        raise StepProbeError("the probe timed no step")
    if as_json:
        emit_json({**run_json(target, said, options), "width": options["width"], **loss_json(head)})
    else:
        facts([*run_facts(target, said), *loss_facts(head)])


def loss_of(said: StepSaid) -> LossHead | None:
    """Take what a probe said of the loss.

    Raises:
        StepProbeError: if it cannot be.
    """
    try:
        timings = [
            LossTiming(
                step_s=float(one["step_s"]),
                forward_s=float(one["forward_s"]),
                recompute_s=float(one["recompute_s"]),
                gradient_s=None if one["gradient_s"] is None else float(one["gradient_s"]),
            )
            for one in said.of("loss_head")
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise StepProbeError(f"the probe said what cannot be: {error}") from error
    return loss_head_of(timings)


def loss_json(head: LossHead) -> dict[str, Any]:
    """Figures and their caveat."""
    return {
        "n": head.n,
        "step_s": head.step_s,
        "forward_s": head.forward_s,
        "recompute_s": head.recompute_s,
        "gradient_s": head.gradient_s,
        "forward_share": head.forward_share,
        "whole_share": head.whole_share,
        "measured_whole": head.measured_whole,
        "checkpointed": head.checkpointed,
        "caveat": caveat(head),
    }


def loss_facts(head: LossHead) -> list[tuple[str, str]]:
    """Rows for people."""
    again = f"{head.recompute_s * 1e3:,.1f} ms" if head.checkpointed else "none seen"
    gradients = "not to be told apart"
    if head.gradient_s is not None:
        gradients = f"{head.gradient_s * 1e3:,.1f} ms"
    return [
        ("loss forward", f"{head.forward_s * 1e3:,.1f} ms of {head.step_s * 1e3:,.1f} ms"),
        ("loss recompute in backward", again),
        ("loss gradients", gradients),
        ("forward alone", f"{head.forward_share:.1%}"),
        ("loss in all", f"{'' if head.measured_whole else 'about '}{head.whole_share:.1%}"),
        ("caveat", caveat(head)),
    ]
