"""Drive controls all the way: runner, hysteresis, and the page at the far end, on a fake clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pfid.domain.gate import ControlResult
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, Verdict
from pfid.policy.evaluate import attempt
from pfid.policy.hysteresis import Settling, settle
from pfid.policy.sabotage import as_declared
from pfid.policy.views import Graded
from pfid.spec.check import AnyCheck
from pfid.spec.control import Control

MAX_SAMPLES: Final = 5_000
"""A hysteresis that needs more samples than this to believe a control can never fire."""
START_S: Final = 1_788_000_000.0
LEGS: Final = (Outcome.PASS, Outcome.FAIL, Outcome.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a reader of the page sees of one check about one entity."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()


FarEnd = Callable[[Graded, Settling, Entity, float], Shown | None]
"""Takes check, settled state, an entity and the wall time; announces, shows, renders, reads back.

Returns what the text of the page says about that entity; None if it says nothing. Raises if what
must be announced was not.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a control is driven with.

    Attributes:
        check: the check under proof.
        far_end: see :data:`FarEnd`.
        monotonic_s: a real clock, to notice a control that ran past the check's deadline.
        took_s: what the last evaluation of each control took, by its name.
    """

    check: AnyCheck
    far_end: FarEnd
    monotonic_s: Callable[[], float]
    took_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The settled state at a moment of the fake clock, which starts at 0 and at START_S."""

    settling: Settling = field(default_factory=Settling)
    at_s: float = 0.0


def drive_controls(bench: Bench, controls: Sequence[Control]) -> tuple[ControlResult, ...]:
    """Every control by itself, then good, bad, good for every FAIL control."""
    driven = [_alone(bench, control) for control in controls]
    alone = tuple(result for result, _ in driven)
    if not all(r.ok for r in alone):
        return alone
    goods = [
        Good(control=c, believed=belief)
        for c, (_, belief) in zip(controls, driven, strict=True)
        if c.expect is Outcome.PASS
    ]
    fails = [c for c in controls if c.expect is Outcome.FAIL]
    return (*alone, *(_three_legs(bench, goods, bad) for bad in fails))


@dataclass(frozen=True, slots=True, kw_only=True)
class Good:
    """A PASS control that has arrived on the page from nothing: every walk's first leg."""

    control: Control
    believed: Belief


def _alone(bench: Bench, control: Control) -> tuple[ControlResult, Belief]:
    verdict, result = _judged(bench, control)
    if not result.ok:
        return result, Belief()
    belief, trouble = _verdict_arrives(bench, Belief(), verdict)
    return replace(result, ok=not trouble, error=trouble), belief


def _judged(bench: Bench, control: Control) -> tuple[Verdict, ControlResult]:
    """Put the control's world before the check once, through the real runner."""
    began_s = bench.monotonic_s()
    got = attempt(bench.check, control.world)
    took_s = bench.took_s[control.name] = bench.monotonic_s() - began_s
    error = got.error
    if took_s > bench.check.deadline_s:
        error = f"took {took_s:.1f} s, over the check's deadline of {bench.check.deadline_s:g} s"
    entity = "" if got.error else _wrong_entity(control, got.verdict)
    return got.verdict, ControlResult(
        name=control.name,
        expect=control.expect.value,
        got="" if error else got.verdict.outcome.value,
        reason="" if error else got.verdict.reason,
        ok=as_declared(control, got) and not error,
        error=error or entity,
    )


def _wrong_entity(control: Control, verdict: Verdict) -> str:
    wanted = control.entity or control.world.subject
    if verdict.entity == wanted:
        return ""
    got = verdict.entity or BOX
    return f"about {got.kind.value} {got.id}, not {wanted.kind.value} {wanted.id}"


def _believe(bench: Bench, belief: Belief, verdict: Verdict) -> Belief | None:
    """Repeat a raw verdict every cadence until it is settled; None if it never is."""
    settling, at_s = belief.settling, belief.at_s
    for _ in range(MAX_SAMPLES):
        at_s += bench.check.cadence_s
        settling = settle(settling, verdict, bench.check.hysteresis, at_s, START_S + at_s)
        settled = settling.settled
        if settled is not None and (settled.outcome, settled.reason) == (
            verdict.outcome,
            verdict.reason,
        ):
            return Belief(settling=settling, at_s=at_s)
    return None


def _verdict_arrives(bench: Bench, belief: Belief, verdict: Verdict) -> tuple[Belief, str]:
    """Let a verdict settle and read it back from the page; say what is wrong if anything is."""
    after = _believe(bench, belief, verdict)
    if after is None:
        why = f"hysteresis does not let {verdict.outcome.value} settle in {MAX_SAMPLES} samples"
        return belief, why
    try:
        entity = verdict.entity or BOX
        shown = bench.far_end(bench.check, after.settling, entity, START_S + after.at_s)
    except Exception as error:  # noqa: BLE001 - whatever broke on the way, it did not arrive
        return after, f"lost on the way to the page: {error!r}"
    return after, _misread(verdict, shown)


def _misread(verdict: Verdict, shown: Shown | None) -> str:
    """Compare a verdict with what the page shows of it. NOT_APPLICABLE shows nothing."""
    if verdict.outcome is Outcome.NOT_APPLICABLE:
        return "" if shown is None else "the page shows a verdict where none applies"
    if shown is None:
        return "the verdict never reached the page"
    if shown.outcome is not verdict.outcome:
        return f"the page says {shown.outcome.value}"
    named = () if verdict.outcome is Outcome.PASS else (verdict.reason,)
    return "" if shown.reasons == named else f"the page names the reasons {shown.reasons}"


def _three_legs(bench: Bench, goods: Sequence[Good], bad: Control) -> ControlResult:
    """Good, bad, good: a check that cannot return to PASS is as broken as one that cannot fail."""
    good = next((g for g in goods if g.control.world.subject == bad.world.subject), None)
    result = ControlResult(
        name=f"{bad.name}: good, bad, good",
        expect=",".join(leg.value for leg in LEGS),
        got="",
        reason=str(bad.reason),
        ok=False,
    )
    if good is None:
        return replace(result, error="no PASS control has the same subject, so none can follow")
    return _walk(bench, good, bad, result)


def _walk(bench: Bench, good: Good, bad: Control, result: ControlResult) -> ControlResult:
    """Walk on from the good leg, which this control has already walked by itself."""
    belief, got = good.believed, [LEGS[0].value]
    for control in (bad, good.control):
        verdict, judged = _judged(bench, control)
        if not judged.ok:
            got.append(judged.got or "invalid")
            why = judged.error or f"{control.name!r} came out as {judged.got} {judged.reason}"
            return replace(result, got=",".join(got), error=f"leg {len(got)}: {why}")
        belief, trouble = _verdict_arrives(bench, belief, verdict)
        if trouble:
            return replace(result, got=",".join(got), error=f"leg {len(got) + 1}: {trouble}")
        got.append(verdict.outcome.value)
    return replace(result, got=",".join(got), ok=True)
