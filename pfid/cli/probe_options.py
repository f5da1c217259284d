"""Options that several probes share."""

from typing import Final, TypeVar

import click

from pfid.analysis.length_orders import Order
from pfid.cli.finite import WholeRange

Value = TypeVar("Value")
ORDERS: Final = (Order.SHUFFLED, Order.AS_IS, Order.SORTED)

COLUMN: Final = click.option(
    "--column", metavar="NAME", help="Column or key of the times, where a file has several."
)
LENGTHS: Final = click.option(
    "--lengths", metavar="FILE", help="Tokens of each record, as for pfid probe lengths."
)
FIELD: Final = click.option(
    "--field", metavar="NAME", help="Field or column of the lengths, where it has no usual name."
)
BATCH: Final = click.option(
    "--batch", type=WholeRange(min=1), metavar="N", help="Records a micro-batch."
)
MAX_LENGTH: Final = click.option(
    "--max-length",
    type=WholeRange(min=1),
    metavar="N",
    help="Tokens at which the trainer truncates.",
)


def given(value: Value | None, option: str, why: str) -> Value:
    """Return what an option was given.

    Raises:
        click.UsageError: if it was not.
    """
    if value is None:
        raise click.UsageError(f"{option} is missing; {why}")
    return value
