"""Proves the checks of a stage, lets each look at one world, and says what may be believed."""

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.bootstrap.selftest import Bench, prove_gates, take_stock
from pfid.config.model import Config
from pfid.domain.gate import Gate, GateState
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.domain.verdict import Verdict
from pfid.host.plugins import Registered
from pfid.host.proofs import ProofBook
from pfid.policy.evaluate import run_check
from pfid.spec.check import Stage
from pfid.spec.reasons import UNPROVEN
from pfid.spec.world import World

AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One check's verdict.

    Attributes:
        view: as every command shows it.
        evidence: lines for the owner.
        remedy: what to do, "" where nothing is wrong.
        required: whether UNKNOWN keeps the whole from being called good.
    """

    view: VerdictView
    evidence: tuple[str, ...]
    remedy: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How a stage is judged.

    Attributes:
        stage: whose checks.
        config: limits, and which checks are disabled.
        proofs: file in which proofs are kept between two looks.
        optional: checks whose UNKNOWN does not count.
        told: called with each verdict as it comes, from its thread.
    """

    stage: Stage
    config: Config
    proofs: Path
    optional: Collection[str] = ()
    told: Callable[[Judged], None] = lambda _: None


def judge_stage(world: World, how: Judging) -> tuple[Judged, ...]:
    """Let every enabled check of the stage look; in order of their names."""
    registry = take_stock(how.config, (how.stage,))
    bench = Bench(config=how.config, book=ProofBook(how.proofs))
    gates = {str(g.check): g for g in prove_gates(registry.checks, bench)}

    def judge(registered: Registered) -> Judged:
        judged = _judged(registered, gates[registered.check.name], world, how)
        how.told(judged)
        return judged

    enabled = [r for r in registry.checks if gates[r.check.name].state is not GateState.DISABLED]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"pfid-{how.stage.value}") as pool:
        return tuple(pool.map(judge, enabled))


def _judged(registered: Registered, gate: Gate, world: World, how: Judging) -> Judged:
    check = registered.check
    proven = gate.state is GateState.PROVEN
    verdict = run_check(check, world) if proven else _unproven(gate)
    now_s = time.time()
    view = VerdictView(
        check=CheckName(check.name),
        stage=check.stage.value,
        entity=verdict.entity or world.subject,
        outcome=verdict.outcome,
        reason=verdict.reason,
        summary=verdict.summary,
        since_s=now_s,
        last_run_s=now_s,
        severity=check.severity.value,
        label=verdict.label,
        figures=verdict.figures,
        counts=proven,
    )
    wrong = verdict.outcome in (Outcome.FAIL, Outcome.UNKNOWN)
    return Judged(
        view=view,
        evidence=verdict.evidence,
        remedy=remedy_of(check.runbook) if wrong else "",
        required=check.name not in how.optional,
    )


def _unproven(gate: Gate) -> Verdict:
    """What a check says that cannot be shown to fire counts for nothing."""
    return Verdict(
        outcome=Outcome.UNKNOWN,
        reason=UNPROVEN,
        summary="the check itself is not proven, so nothing it says counts",
        evidence=(gate.why,),
    )


def remedy_of(runbook: str) -> str:
    """The paragraph of a runbook that says what to do, in one line."""
    _, _, after = runbook.partition("When it fires:")
    return " ".join(after.partition("\n\n")[0].split())


def ready(judged: Sequence[Judged]) -> Outcome:
    """FAIL if anything fails, UNKNOWN if something required cannot be told, else PASS."""
    outcomes = [(j.view.outcome, j.required) for j in judged]
    if any(outcome is Outcome.FAIL for outcome, _ in outcomes):
        return Outcome.FAIL
    unknown = any(outcome is Outcome.UNKNOWN and required for outcome, required in outcomes)
    return Outcome.UNKNOWN if unknown or not outcomes else Outcome.PASS
