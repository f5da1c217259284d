"""A figure that is looked for, and when two of them say the same."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.formats.units import unit_of

_EXACT: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A figure that is looked for.

    Attributes:
        key: of the claim it belongs to.
        low: the figure, or the lower end of a range.
        high: the upper end; None for a single figure.
        unit: as the claim writes it; "" for none. A word that is no unit must stand on the line,
            or over its column.
    """

    key: str
    low: float
    high: float | None = None
    unit: str = ""


def is_same_figure(one: Wanted, other: Wanted) -> bool:
    """Whether two figures say the same, each in its own unit: 1.5 h is 90 min."""
    units = [unit_of(figure.unit) if figure.unit else None for figure in (one, other)]
    if units[0] is None or units[1] is None:
        scale, same = 1.0, one.unit.strip().rstrip("s") == other.unit.strip().rstrip("s")
    else:
        scale, same = units[1].factor / units[0].factor, units[0].dimension == units[1].dimension
    ends = [(f.low, f.low if f.high is None else f.high) for f in (one, other)]
    return same and all(equal((a,), b * scale) for a, b in zip(*ends, strict=True))


def equal(values: Iterable[float], wanted: float) -> bool:
    """Whether one of the values that a number may have is the wanted one."""
    return any(math.isclose(value, wanted, rel_tol=_EXACT) for value in values)
