"""Numbers on the command line that are numbers: click takes ``nan`` and ``inf`` for some."""

import math
from typing import Any

import click


class WholeRange(click.IntRange):
    """A ``click.IntRange`` that calls what it wants by its name: "abc" is no integer range."""

    name = "whole number"


class FiniteRange(click.FloatRange):
    """A ``click.FloatRange`` of finite numbers."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Take a number, and refuse what compares with none."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number
