"""Break a check on purpose and see whether its controls notice (DESIGN section 4, rule 6).

Three kinds of mutant:

- ``judge:always_OUTCOME:REASON``: judge is a constant, once for every declared reason;
- ``observe:FIELD``: the reader is stuck. The field has, in every world, the value it has in the
  first PASS control: the healthy world;
- ``limit:NAME:up`` and ``:down``: the limit is shifted by its declared amount.

A mutant is caught when a control comes out with another outcome, reason or entity than it
declares. A crash is not noticing: it would let a control pass for proof that only shows that
nonsense raises.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Final

from pfid.domain.errors import CheckDefinitionError
from pfid.domain.gate import SabotageResult
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.policy.evaluate import Attempt, attempt
from pfid.spec.check import AnyCheck
from pfid.spec.control import Control
from pfid.spec.limits import deciding_fields, shifted, shifts

NEIGHBOURS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One deliberate break: its name and the judge that stands in."""

    name: str
    judge: Callable[[Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A control with what the check observed in its world."""

    control: Control
    observation: Any


def sabotage(
    check: AnyCheck, controls: Sequence[Control], cost: Callable[[Control], float] | None = None
) -> tuple[SabotageResult, ...]:
    """Try every mutant of ``check`` against its controls, which must all be sound.

    Args:
        check: the check.
        controls: in the order they are declared.
        cost: of evaluating a control; cheap ones meet a mutant first, after the neighbours of the
            control that caught the mutant before: limits that stand together have their controls
            together. The answer is the same.

    Raises:
        CheckDefinitionError: if the observation cannot be sabotaged.
    """
    exhibits = [Exhibit(control=c, observation=check.observe(c.world)) for c in controls]
    by_cost = list(range(len(exhibits)))
    if cost is not None:
        by_cost.sort(key=[cost(c) for c in controls].__getitem__)
    results, near = [], 0
    for mutant in mutants(check, exhibits):
        order = [*_neighbours(near, len(exhibits)), *by_cost]
        caught = next((i for i in order if _noticed(check, mutant, exhibits[i])), None)
        near = near if caught is None else caught
        results.append(SabotageResult(mutant=mutant.name, caught=caught is not None))
    return tuple(results)


def _neighbours(at: int, n: int) -> Iterator[int]:
    """Positions beside ``at``, the nearest first."""
    for away in range(NEIGHBOURS + 1):
        for position in dict.fromkeys((at + away, at - away)):
            if 0 <= position < n:
                yield position


def mutants(check: AnyCheck, exhibits: Sequence[Exhibit]) -> Iterator[Mutant]:
    """Every mutant that must be caught."""
    yield from _constants(check)
    yield from _frozen_fields(check, exhibits)
    yield from _shifted_limits(check)


def as_declared(control: Control, got: Attempt) -> bool:
    """Whether a control passes: outcome, reason *and* entity, and no error. Nothing less."""
    verdict = got.verdict
    return (
        not got.error
        and verdict.outcome is control.expect
        and verdict.reason == control.reason
        and verdict.entity == (control.entity or control.world.subject)
    )


def _noticed(check: AnyCheck, mutant: Mutant, exhibit: Exhibit) -> bool:
    got = attempt(check, exhibit.control.world, lambda _: mutant.judge(exhibit.observation))
    return not got.error and not as_declared(exhibit.control, got)


def _constants(check: AnyCheck) -> Iterator[Mutant]:
    for reason, outcome in check.reasons.items():
        yield Mutant(
            name=f"judge:always_{outcome.value}:{reason}",
            judge=_always(Verdict(outcome=outcome, reason=ReasonCode(reason), summary="sabotage")),
        )


def _always(verdict: Verdict) -> Callable[[Any], object]:
    return lambda _: verdict


def _frozen_fields(check: AnyCheck, exhibits: Sequence[Exhibit]) -> Iterator[Mutant]:
    healthy = next(e.observation for e in exhibits if e.control.expect is Outcome.PASS)
    for exhibit in exhibits:
        _sabotageable(exhibit)
    names = deciding_fields(healthy)
    if not names:
        raise CheckDefinitionError("every field of the observation is reported(): nothing decides")
    for name in names:
        yield Mutant(name=f"observe:{name}", judge=_stuck(check, name, getattr(healthy, name)))


def _sabotageable(exhibit: Exhibit) -> None:
    seen = exhibit.observation
    params = getattr(seen, "__dataclass_params__", None)
    if isinstance(seen, type) or not is_dataclass(seen) or not (params and params.frozen):
        raise CheckDefinitionError(
            f"in control {exhibit.control.name!r} observe returned {type(seen).__name__}: it must "
            "be a frozen dataclass, so that each of its fields can be sabotaged"
        )


def _stuck(check: AnyCheck, name: str, value: object) -> Callable[[Any], object]:
    return lambda seen: check.judge(replace(seen, **{name: value}), check.limits)


def _shifted_limits(check: AnyCheck) -> Iterator[Mutant]:
    for shift in shifts(check.limits):
        yield Mutant(name=shift.mutant, judge=_with_limits(check, shifted(check.limits, shift)))


def _with_limits(check: AnyCheck, limits: Any) -> Callable[[Any], object]:
    return lambda seen: check.judge(seen, limits)
