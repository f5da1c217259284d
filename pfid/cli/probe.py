"""``pfid probe``: measurements that the training interpreter makes, each in a module of its own."""

from typing import Final

import click

from pfid.cli.lazy_group import LazyGroup

PROBES: Final = {
    "loss-head": "Say what the loss costs within a step, recompute apart.",
    "lora-step": "Time a step with adapters, and say which modules they sit on.",
    "profile": "Measure a step in one pass: scaling, padding, loss head, kernels.",
    "mask": "Say which attention masks the installed transformers makes for a model.",
    "fit": "Fit how a step's time grows with its width, and name its regime.",
    "gemm": "Measure each idle GPU's dense bf16 GEMM, the reference of its verdicts.",
    "lengths": "Say what padding costs a data set, and what bucketing would win.",
    "scaling": "Time a step at several widths in the training interpreter, and fit it.",
}
"""Every probe with its line of help; module ``pfid.cli.probe_NAME`` holds it as ``command``."""


@click.command(cls=LazyGroup, entries=PROBES, module="pfid.cli.probe_{}")
def command() -> None:
    """Measure what only the training interpreter can."""
