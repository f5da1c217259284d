"""Fail when a check is believed on a proof that has aged or belongs to other code.

A proof is keyed to the check's source, its configuration, pfid's version and the driver, and it is
good for ``proof.age_days`` (seven) unless ``age_s`` is configured. pfid proves again by itself when
either changes and at nine tenths of the age; a stale proof therefore means that this did not happen
or did not succeed. Checks that are disabled, or that are openly
unproven and so not believed, are not counted here; ``pfid selftest`` names them.

Blind spot: this check judges its own proof too, with the code that the proof is about. The age is
told by the wall clock: one that was set back makes proofs younger, and only a proof from the
future gives it away.

When it fires: ``pfid selftest`` says which check cannot be proven and which control let it down.
Until it is proven again, do not believe its PASS.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName
from pfid.spec import (
    BOX,
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes import FixedClock, FixedGates
from pfid.spec.ports.gates import GateFacts

NOW_S: Final = 1_788_000_000.0
ANSWERS: Final = Answers(
    {
        "fresh": (Outcome.PASS, "every check that is believed has a proof that holds"),
        "proof_expired": (Outcome.FAIL, "a proof is older than allowed"),
        "proof_of_other_code": (Outcome.FAIL, "a proof is about other code or configuration"),
        "proof_from_future": (Outcome.UNKNOWN, "a proof is dated in the future: a clock is wrong"),
        "nothing_proven": (Outcome.UNKNOWN, "no check has been proven"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a proof holds (DESIGN section 10).

    Attributes:
        age_s: seconds a proof is good for; ``proof.age_days`` where it is not configured.
        ahead_s: seconds by which a proof may seem to lie ahead, as clocks are corrected.
    """

    age_s: float = limit(7 * 86_400.0, unit="s", factor=1.1)
    ahead_s: float = limit(300.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Proofs that are believed.

    Attributes:
        ages_s: name of the check and age of its proof; None if it has no date.
        other_code: names of checks whose proof has another key than it would get today.
    """

    ages_s: tuple[tuple[str, float | None], ...]
    other_code: tuple[str, ...]


def observe(world: World) -> Seen:
    """Read the standing of every gate that is open."""
    now_s = world.clock.now_s()
    believed = [g for g in world.gates.gates() or () if g.gate.state is GateState.PROVEN]
    dated = ((g.gate.check, g.gate.proven_at_s) for g in believed)
    return Seen(
        ages_s=tuple((name, None if at_s is None else now_s - at_s) for name, at_s in dated),
        other_code=tuple(g.gate.check for g in believed if g.gate.key != g.current_key),
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Name the proofs that do not hold any more."""
    expired = [name for name, age_s in seen.ages_s if age_s is None or age_s > limits.age_s]
    ahead = [name for name, age_s in seen.ages_s if age_s is not None and age_s < -limits.ahead_s]
    known = [age_s for _, age_s in seen.ages_s if age_s is not None]
    code, names = "fresh", []
    for sign, about in (
        ("proof_of_other_code", list(seen.other_code)),
        ("proof_expired", expired),
        ("proof_from_future", ahead),
    ):
        if about:
            code, names = sign, about
            break
    if not seen.ages_s:
        code = "nothing_proven"
    figures = {"believed": (len(seen.ages_s), "1"), "stale": (len(names), "1")}
    return ANSWERS.say(
        code, ", ".join(names), figures={**figures, "oldest": (max(known, default=None), "s")}
    )


def controls(limits: Limits) -> Iterable[Control]:
    """Just young enough and just too old, and what is not believed anyway."""
    fresh, day = _proof(limits.age_s * 0.99), _proof(0.5 * limits.age_s, "other_check")
    old = _proof(limits.age_s * 1.01)
    yield _control("young", "fresh", fresh, day)
    yield _control("too_old", "proof_expired", day, old)
    yield _control("undated", "proof_expired", day, _gate(fresh, proven_at_s=None))
    yield _control("other_code", "proof_of_other_code", day, replace(fresh, current_key="k2"))
    yield _control("little_ahead", "fresh", _proof(-limits.ahead_s * 0.99))
    yield _control("far_ahead", "proof_from_future", day, _proof(-limits.ahead_s * 1.01))
    for state in (GateState.UNPROVEN, GateState.DISABLED):
        yield _control(f"old_but_{state.value}", "fresh", day, _gate(old, state=state))
        yield _control(f"all_{state.value}", "nothing_proven", _gate(fresh, state=state))
    yield _control("no_gates", "nothing_proven")
    yield _control("not_run_yet", "nothing_proven", standing=False)


def _proof(age_s: float, name: str = "some_check") -> GateFacts:
    gate = Gate(
        check=CheckName(name),
        stage="watch",
        state=GateState.PROVEN,
        proven_to=ProvenTo(controls=True, sabotage=True),
        key="k1",
        proven_at_s=NOW_S - age_s,
    )
    return GateFacts(gate=gate, current_key="k1")


def _gate(facts: GateFacts, **changes: object) -> GateFacts:
    return replace(facts, gate=replace(facts.gate, **changes))  # type: ignore[arg-type]


def _control(name: str, code: str, *gates: GateFacts, standing: bool = True) -> Control:
    world = World(
        subject=BOX,
        clock=FixedClock(wall_s=NOW_S),
        gates=FixedGates(standing=gates if standing else None),
    )
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gate_proof_stale",
        stage=Stage.WATCH,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=60.0,
        reads=("clock", "gates"),
        runbook=__doc__,
    )
