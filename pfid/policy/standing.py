"""What the verdicts of a box come to: which count, how many of each, how far to trust them.

The page and the commands share this, so that neither shows as passing what the other does not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.gate import Gate, GateState
from pfid.domain.names import ReasonCode, RunId
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import RunView, VerdictView
from pfid.domain.verdict import EntityKind
from pfid.spec.reasons import UNPROVEN

UNWATCHED: Final = ReasonCode("unwatched")
"""Nobody watches the run any more, and its end was not seen."""
NOT_REQUIRED: Final = "info"
"""Severity of a check that nobody has to be able to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denominator:
    """An honest count of checks (DESIGN section 4, rule 10).

    Attributes:
        checks: known, whatever their standing.
        proven: may be believed.
        unproven: may not.
        disabled: switched off.
        applicable: have something here to judge.
        ran: were evaluated at all.
        firing: proven and failing.
    """

    checks: int
    proven: int
    unproven: int
    disabled: int
    applicable: int
    ran: int
    firing: int


def gate_states(gates: Iterable[Gate]) -> dict[str, GateState]:
    """State by check; of a check that several engines hold, the worst."""
    order = (GateState.UNPROVEN, GateState.DISABLED, GateState.PROVEN)
    states: dict[str, GateState] = {}
    for gate in gates:
        earlier = states.get(gate.check, gate.state)
        states[gate.check] = min(earlier, gate.state, key=order.index)
    return states


def believed(verdict: VerdictView, gates: Mapping[str, GateState]) -> VerdictView:
    """The verdict, or UNKNOWN ``unproven`` while nobody has seen its check fire."""
    if verdict.counts and gates.get(verdict.check, GateState.PROVEN) is GateState.PROVEN:
        return verdict
    if verdict.outcome is Outcome.NOT_APPLICABLE:
        return verdict
    return replace(
        verdict,
        outcome=Outcome.UNKNOWN,
        reason=UNPROVEN,
        summary="the check is not proven, so nothing it says counts",
        counts=False,
    )


def unwatched(verdict: VerdictView) -> VerdictView:
    """The verdict of an engine that is gone about a run whose end nobody saw: not known."""
    if verdict.outcome is Outcome.NOT_APPLICABLE:
        return verdict
    return replace(
        verdict,
        outcome=Outcome.UNKNOWN,
        reason=UNWATCHED,
        summary="the engine that watched this run is gone",
    )


def tally(verdicts: Iterable[VerdictView]) -> dict[str, int]:
    """Verdicts by outcome, every outcome present."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    return {outcome.value: counts[outcome] for outcome in Outcome}


def denominator(gates: Sequence[Gate], verdicts: Sequence[VerdictView]) -> Denominator:
    """Count checks; ``verdicts`` are believed ones, of which those of no gate here say nothing."""
    states = gate_states(gates)
    verdicts = [v for v in verdicts if v.check in states]
    counts = Counter(states.values())
    return Denominator(
        checks=len(states),
        proven=counts[GateState.PROVEN],
        unproven=counts[GateState.UNPROVEN],
        disabled=counts[GateState.DISABLED],
        applicable=len(_checks(v for v in verdicts if v.outcome is not Outcome.NOT_APPLICABLE)),
        ran=len(_checks(verdicts)),
        firing=len(_checks(v for v in verdicts if v.outcome is Outcome.FAIL)),
    )


def counting(verdicts: Iterable[VerdictView], runs: Iterable[RunView]) -> Iterator[VerdictView]:
    """Those that an exit status speaks of.

    About a run that has ended nothing can be looked at any more: what was unknown of it then stays
    so for ever, and counts only where the end itself is. Once a run of the same name and user was
    started again its end counts for nothing, as with the alert about a death.
    """
    newest: dict[tuple[str, int], float] = {}
    views = {view.run.run_id: view for view in runs}
    for run in (view.run for view in views.values()):
        key = (run.name, run.uid)
        newest[key] = max(newest.get(key, run.started_at_s), run.started_at_s)
    for verdict in verdicts:
        view = views.get(RunId(verdict.entity.id))
        if verdict.entity.kind is not EntityKind.RUN or view is None or not view.state.ended:
            yield verdict
            continue
        followed = view.run.started_at_s < newest[view.run.name, view.run.uid]
        known = verdict.outcome is not Outcome.UNKNOWN or verdict.reason == UNWATCHED
        if known and not followed:
            yield verdict


def comes_to(verdicts: Iterable[VerdictView], gates: Iterable[Gate] = ()) -> Outcome:
    """One outcome for an exit status: FAIL, else UNKNOWN if something required is, else PASS.

    An unproven gate is something that could not be looked at.
    """
    seen = {v.outcome for v in verdicts if v.severity != NOT_REQUIRED or v.outcome is Outcome.FAIL}
    if Outcome.FAIL in seen:
        return Outcome.FAIL
    unproven = GateState.UNPROVEN in gate_states(gates).values()
    return Outcome.UNKNOWN if unproven or Outcome.UNKNOWN in seen else Outcome.PASS


def _checks(verdicts: Iterable[VerdictView]) -> set[str]:
    return {verdict.check for verdict in verdicts}
