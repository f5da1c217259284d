"""Limits are declared data, so that the self-test can shift each one and see who notices."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from pfid.domain.errors import CheckDefinitionError

_SHIFT = "pfid.shift"
_UNIT = "pfid.unit"
_REPORTED = "pfid.reported"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NoLimits:
    """For a check that decides without a number."""


def limit(
    default: float, *, unit: str, factor: float | None = None, delta: int | None = None
) -> Any:
    """Declare a field of a limits dataclass.

    The self-test shifts it up and down, by ``factor`` (> 1) or by ``delta`` (>= 1), and the
    controls must notice each time: put one just either side.

    Raises:
        CheckDefinitionError: unless exactly one usable shift is given.
    """
    one = (factor is None) != (delta is None)
    if not one or (factor is not None and not factor > 1) or (delta is not None and delta < 1):
        raise CheckDefinitionError("a limit needs either factor > 1 or delta >= 1")
    shift = ("factor", factor) if factor is not None else ("delta", delta)
    return field(default=default, metadata={_SHIFT: shift, _UNIT: unit})


def reported(**kwargs: Any) -> Any:
    """Declare a field of an observation that is shown but decides nothing."""
    return field(metadata={_REPORTED: True}, **kwargs)


def deciding_fields(observation: object) -> tuple[str, ...]:
    """Names of the fields of an observation that decide, in order."""
    return tuple(f.name for f in fields(observation) if not f.metadata.get(_REPORTED))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Shift:
    """One sabotage of one limit: its name, the direction and the value it is shifted to."""

    name: str
    direction: str
    value: float

    @property
    def mutant(self) -> str:
        """Name of the mutant, as the self-test prints it."""
        return f"limit:{self.name}:{self.direction}"


def shifts(limits: object) -> Iterator[Shift]:
    """Every shift of every limit, each to be noticed by a control.

    Raises:
        CheckDefinitionError: for a field that was not declared with :func:`limit`, or a value that
            its shift does not move.
    """
    for f in fields(limits):  # type: ignore[arg-type]
        if _SHIFT not in f.metadata:
            raise CheckDefinitionError(f"{type(limits).__name__}.{f.name}: declare it with limit()")
        value = getattr(limits, f.name)
        kind, amount = f.metadata[_SHIFT]
        up = value * amount if kind == "factor" else value + amount
        down = value / amount if kind == "factor" else value - amount
        if isinstance(value, int):
            up, down = math.ceil(up), math.floor(down)
        if value in (up, down):
            raise CheckDefinitionError(
                f"{type(limits).__name__}.{f.name} = {value} does not move when shifted by {kind} "
                f"{amount}: declare it with a delta"
            )
        yield Shift(f.name, "up", up)
        yield Shift(f.name, "down", down)


def shifted(limits: T, shift: Shift) -> T:
    """Return ``limits`` with one shift applied."""
    return replace(limits, **{shift.name: shift.value})  # type: ignore[type-var]


def units(limits: object) -> dict[str, str]:
    """Unit of every limit, by name."""
    return {f.name: f.metadata[_UNIT] for f in fields(limits)}  # type: ignore[arg-type]


def configured(limits: T, values: Mapping[str, float]) -> T:
    """Return ``limits`` with values from configuration.

    Raises:
        CheckDefinitionError: for a name that is no limit, a fraction where whole numbers go, or a
            value below 0 where the default is not.
    """
    known = {f.name: getattr(limits, f.name) for f in fields(limits)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(known))
    if unknown:
        has = ", ".join(sorted(known)) or "none"
        raise CheckDefinitionError(f"no limit is called {', '.join(unknown)}; it has: {has}")
    whole = {name: _like(known[name], name, value) for name, value in values.items()}
    return replace(limits, **whole)  # type: ignore[type-var]


def _like(default: float, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise CheckDefinitionError(f"limit {name} is {value}, which is no number to hold against")
    if default >= 0 > value:
        raise CheckDefinitionError(f"limit {name} is {value:g}; it must not be below 0")
    if not isinstance(default, int):
        return float(value)
    if value != int(value):
        raise CheckDefinitionError(f"limit {name} counts whole things; {value} is a fraction")
    return int(value)
