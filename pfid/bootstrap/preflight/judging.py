"""Proves the pre-launch checks, lets each look at the project, and says what may be believed."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.preflight.world import project_world
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
PROOFS: Final = "preflight-proofs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One check's verdict on a project.

    Attributes:
        view: as every command shows it.
        evidence: lines for the project's owner.
        remedy: what to do, "" where nothing is wrong.
        required: whether UNKNOWN keeps the launch from being called ready.
    """

    view: VerdictView
    evidence: tuple[str, ...]
    remedy: str
    required: bool


def unknown_optional(project: Project, config: Config) -> list[str]:
    """Names in the spec's ``optional`` that no check has."""
    known = {r.check.name for r in take_stock(config, (Stage.PREFLIGHT,)).checks}
    return [name for name in project.spec.optional if name not in known]


def judge_project(
    project: Project,
    config: Config,
    *,
    run_tests: bool = True,
    told: Callable[[Judged], None] = lambda _: None,
) -> tuple[Judged, ...]:
    """Let every enabled pre-launch check look; in order of their names.

    Args:
        project: what is asked about.
        config: limits, and which checks are disabled.
        run_tests: whether the project's tests may be run.
        told: called with each verdict as it comes, from its thread.
    """
    registry = take_stock(config, (Stage.PREFLIGHT,))
    bench = Bench(config=config, book=ProofBook(project.state / PROOFS))
    gates = {str(g.check): g for g in prove_gates(registry.checks, bench)}
    world = project_world(project, run_tests=run_tests)

    def judge(registered: Registered) -> Judged:
        judged = _judged(registered, gates[registered.check.name], world, project)
        told(judged)
        return judged

    enabled = [r for r in registry.checks if gates[r.check.name].state is not GateState.DISABLED]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pfid-preflight") as pool:
        return tuple(pool.map(judge, enabled))


def _judged(registered: Registered, gate: Gate, world: World, project: Project) -> Judged:
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
        required=check.name not in project.spec.optional,
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
