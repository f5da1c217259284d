"""Metrics that say nothing: zero, equal in both arms, or one value for all (playbook 4.6.2)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from typing import Final

from pfid.spec.ports.known_answers import DrivenMetric
from pfid.spec.ports.results import Arm, ResultFacts

ITEMS_MIN: Final = 2
"""One item alone cannot be told from a constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Null:
    """A metric that says nothing: how, and which one value it has, if it has but one."""

    metric: str
    how: str
    value: float | None


def nulls_of(facts: ResultFacts, name: str) -> Iterator[Null]:
    """Every way in which a metric says nothing: in all, and in a family."""
    here = _values(facts.candidate, name)
    there = _values(facts.baseline, name) if facts.baseline is not None else {}
    whole = [value for values in here.values() for value in values]
    other = [value for values in there.values() for value in values]
    one, base = _only(whole), _only(other)
    if one is not None:
        yield Null(metric=name, how=_constant(one), value=one)
    elif whole and other and isclose(_mean(whole), _mean(other), rel_tol=1e-12, abs_tol=1e-12):
        yield Null(metric=name, how=f"{_mean(whole):g} in both arms", value=None)
    if base is not None and base != one:
        yield Null(metric=name, how=f"{_constant(base)} of the baseline", value=base)
    for family, values in here.items():
        same = _only(values + there.get(family, []))
        if one is None and same is not None and len(here) > 1:
            how = f"{same:g} for every item of {family or 'prompts without a family'}: not measured"
            yield Null(metric=name, how=how, value=same)


def _constant(value: float) -> str:
    return "zero for every item" if value == 0 else f"{value:g} for every item"


def _values(held: Arm, name: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for one in held.records:
        value = one.scores.get(name)
        if value is not None:
            found[one.family].append(value)
    return found


def _only(values: list[float]) -> float | None:
    """The one value that all have; a zero counts as one however few there are."""
    if not values or len(set(values)) > 1:
        return None
    return values[0] if len(values) >= ITEMS_MIN or values[0] == 0 else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def could_show(driven: DrivenMetric, null: Null) -> bool:
    """Whether an input has a right answer that is not the null, and another has another."""
    if driven.problem:
        return True  # that is said by itself
    if null.value is not None:
        return any(not a.low <= null.value <= a.high for a in driven.answers)
    lows, highs = [a.low for a in driven.answers], [a.high for a in driven.answers]
    return bool(lows) and max(lows) > min(highs)
