"""Run one check over one world; whatever it does, a verdict comes out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.errors import PortError
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, Figure, Verdict
from pfid.spec.check import AnyCheck
from pfid.spec.reasons import CHECK_ERROR, PORT_UNREADABLE, UNDECLARED_REASON
from pfid.spec.world import World

_EVIDENCE_CHARS: Final = 500
_TYPED: Final = (("outcome", Outcome), ("reason", str), ("summary", str), ("label", str))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One evaluation.

    Attributes:
        verdict: what counts; entity always set. UNKNOWN with a runner's reason if ``error``.
        error: why the check's own answer was not used, "" if it was. For the check's author and
            the operator; never part of a public sentence.
    """

    verdict: Verdict
    error: str = ""


def run_check(check: AnyCheck, world: World) -> Verdict:
    """Evaluate ``check`` over ``world``.

    Returns:
        The check's verdict with its entity set, or UNKNOWN with reason ``check_error``,
        ``port_unreadable`` or ``undeclared_reason``. Never raises.
    """
    return attempt(check, world).verdict


def attempt(
    check: AnyCheck, world: World, evaluate: Callable[[World], object] | None = None
) -> Attempt:
    """Evaluate like :func:`run_check`, and say what went wrong if anything did.

    ``evaluate`` stands in for the check's own: sabotage goes through the same runner.
    """
    try:
        answer = (evaluate or check.evaluate)(world)
    except PortError as error:
        return _refused(world, PORT_UNREADABLE, "evidence could not be read", str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a check raises, we go on
        return _refused(world, CHECK_ERROR, f"the check raised {type(error).__name__}", str(error))
    problem = _nonsense(answer)
    if problem or not isinstance(answer, Verdict):
        return _refused(world, CHECK_ERROR, "the check returned no usable verdict", problem)
    return _declared(check, world, answer)


def _declared(check: AnyCheck, world: World, verdict: Verdict) -> Attempt:
    belongs = check.reasons.get(verdict.reason)
    if belongs is not verdict.outcome:
        said = f"{verdict.outcome.value} with reason {verdict.reason!r}"
        known = "is not declared" if belongs is None else f"belongs to {belongs.value}"
        return _refused(
            world,
            UNDECLARED_REASON,
            "the check gave a reason it did not declare",
            f"{said}: {known}",
        )
    if verdict.entity is not None:
        return Attempt(verdict=verdict)
    about = Verdict(  # not replace(): this runs for each check of each run
        outcome=verdict.outcome,
        reason=verdict.reason,
        summary=verdict.summary,
        label=verdict.label,
        figures=verdict.figures,
        entity=world.subject,
        evidence=verdict.evidence,
    )
    return Attempt(verdict=about)


def _nonsense(answer: Any) -> str:
    """Say what is wrong with the types of an answer, "" if nothing is; plugins are not typed."""
    if not isinstance(answer, Verdict):
        return f"returned {type(answer).__name__}, not a Verdict"
    untyped: Any = answer
    for name, kind in _TYPED:
        if not isinstance(getattr(untyped, name), kind):
            return f"{name} is no {kind.__name__}"
    if not isinstance(untyped.entity, Entity | None):
        return "entity is no Entity"
    figures, evidence = untyped.figures, untyped.evidence
    if not isinstance(figures, Mapping) or not all(map(_is_figure, figures.items())):
        return "figures do not map names to Figure"
    if not isinstance(evidence, tuple) or not all(isinstance(line, str) for line in evidence):
        return "evidence is no tuple of text"
    return ""


def _is_figure(item: tuple[Any, Any]) -> bool:
    name, figure = item
    numeric = isinstance(figure, Figure) and isinstance(figure.value, int | float)
    return isinstance(name, str) and numeric and isinstance(figure.unit, str)


def _refused(world: World, reason: ReasonCode, summary: str, detail: str) -> Attempt:
    error = f"{summary}: {detail}" if detail else summary
    verdict = Verdict(
        outcome=Outcome.UNKNOWN,
        reason=reason,
        summary=summary,
        entity=world.subject,
        evidence=(error[:_EVIDENCE_CHARS],),
    )
    return Attempt(verdict=verdict, error=error[:_EVIDENCE_CHARS])
