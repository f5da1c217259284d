"""Proves the checks of a stage, lets each look at one world, and says what may be believed.

Third-party checks are among them; theirs are proven and run in the plugin worker.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from pfid.adapters.bounded_process import end_all
from pfid.bootstrap.foreign_judging import ForeignChecks
from pfid.bootstrap.remedies import paragraph_of, remedy_for, remedy_of
from pfid.bootstrap.selftest import Bench, merged, prove_gates, shipped_names, take_stock
from pfid.config.model import Config
from pfid.domain.errors import ConfigError
from pfid.domain.gate import Gate, GateState
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.domain.verdict import Verdict
from pfid.host.plugins import UNKNOWN_STAGE, Registry
from pfid.host.proofs import ProofBook
from pfid.policy.evaluate import run_check
from pfid.policy.masking import mask_text
from pfid.policy.views import Graded
from pfid.spec.check import Severity, Stage
from pfid.spec.reasons import UNPROVEN
from pfid.spec.world import World

AT_ONCE: Final = 4
LOST: Final = (
    "When it fires: mend or remove the plugin, or name it in the spec's `optional` if it is not"
    " about this."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One check's verdict.

    Attributes:
        view: as every command shows it.
        evidence: lines for the owner.
        remedy: what to do, "" where nothing is wrong.
        required: whether UNKNOWN keeps the whole from being called good.
        blind_spot: what the check cannot see.
    """

    view: VerdictView
    evidence: tuple[str, ...]
    remedy: str
    required: bool
    blind_spot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How a stage is judged.

    Attributes:
        stage: whose checks.
        config: limits, and which checks are disabled.
        proofs: file in which proofs are kept between two looks.
        optional: checks whose UNKNOWN does not count.
        told: called with each verdict as it comes, from its thread.
        only: names of the checks that are asked; all of the stage if empty.
        amended: has the last word on the verdict of a check, by its name.
        remedies: what to do by reason, where that is the same whichever check gives it.
    """

    stage: Stage
    config: Config
    proofs: Path
    optional: Collection[str] = ()
    told: Callable[[Judged], None] = lambda _: None
    only: Collection[str] = ()
    amended: Callable[[str, Verdict], Verdict] = lambda _, verdict: verdict
    remedies: Mapping[str, str] = field(default_factory=dict)

    def asks(self, name: str) -> bool:
        """Whether that check is asked."""
        return not self.only or name in self.only


class Explained(Graded, Protocol):
    """A check, or the description of one that runs elsewhere."""

    @property
    def runbook(self) -> str:
        """What it fails on and what to do."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """One check that is enabled.

    Attributes:
        check: what it is.
        gate: whether it may be believed.
        look: lets it look at the world.
    """

    check: Explained
    gate: Gate
    look: Callable[[World], Verdict]


def judge_stage(world: World, how: Judging) -> tuple[Judged, ...]:
    """Let every enabled check of the stage look; in order of their names.

    Raises:
        ConfigError: if ``how.optional`` speaks of a check that does not exist.
    """
    registry = take_stock(how.config, (how.stage,))
    with ForeignChecks(registry, how.stage, how.config) as foreign:
        chosen = [*_own(registry, how), *_theirs(foreign, how)]
        lost = _unusable(registry, foreign, how.stage)
        _refuse_unknown(how.optional, chosen, lost)

        def judge(one: _Chosen) -> Judged:
            proven = one.gate.state is GateState.PROVEN
            verdict = one.look(world) if proven else _unproven(one.gate)
            verdict = how.amended(str(one.check.name), verdict)
            judged = _judged(one.check, verdict, world, proven=proven, how=how)
            how.told(judged)
            return judged

        enabled = [one for one in chosen if one.gate.state is not GateState.DISABLED]
        pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"pfid-{how.stage.value}")
        waits = True
        try:
            judged = [*pool.map(judge, enabled)]
        except KeyboardInterrupt:
            end_all()
            waits = False
            raise
        finally:
            pool.shutdown(wait=waits, cancel_futures=not waits)
    for gate in (gate for gate in lost if how.asks(str(gate.check))):
        stand_in = _Lost(gate, how.stage)
        judged.append(_judged(stand_in, _unproven(gate), world, proven=False, how=how))
        how.told(judged[-1])
    return tuple(sorted(judged, key=lambda j: str(j.view.check)))


def _own(registry: Registry, how: Judging) -> Iterator[_Chosen]:
    bench = Bench(config=how.config, book=ProofBook(how.proofs))
    asked = [r for r in registry.checks if how.asks(r.check.name)]
    gates = {str(g.check): g for g in prove_gates(asked, bench)}
    for registered in asked:
        check = registered.check
        yield _Chosen(check=check, gate=gates[check.name], look=partial(run_check, check))


def _theirs(foreign: ForeignChecks, how: Judging) -> Iterator[_Chosen]:
    for info, gate in foreign.checks:
        if how.asks(info.name):
            yield _Chosen(check=info, gate=gate, look=partial(foreign.evaluate, info.name))


def _unusable(registry: Registry, foreign: ForeignChecks, stage: Stage) -> tuple[Gate, ...]:
    """What cannot even be tried: it may have been the one check that matters."""
    problems = (*registry.problems, *foreign.problems)
    gates = [p.gate() for p in problems if p.stage in (UNKNOWN_STAGE, stage.value)]
    return tuple(merged(gates, shipped_names(registry)))


def _refuse_unknown(
    optional: Collection[str], chosen: Sequence[_Chosen], lost: Sequence[Gate]
) -> None:
    known = {str(one.check.name) for one in chosen} | {str(gate.check) for gate in lost}
    wrong = [name for name in optional if name not in known]
    if wrong:
        raise ConfigError(tuple(f"optional: there is no check {name}" for name in wrong))


@dataclass(frozen=True, slots=True)
class _Lost:
    """Stands for a check that cannot be loaded."""

    gate: Gate
    stage: Stage
    severity: Severity = Severity.CRITICAL
    milder: Mapping[str, Severity] = field(default_factory=dict)
    runbook: str = LOST

    @property
    def name(self) -> str:
        """What it would have been called."""
        return self.gate.check


def _judged(
    check: Explained, verdict: Verdict, world: World, *, proven: bool, how: Judging
) -> Judged:
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
        severity=check.milder.get(verdict.reason, check.severity).value,
        label=verdict.label,
        figures=verdict.figures,
        counts=proven,
    )
    wrong = verdict.outcome in (Outcome.FAIL, Outcome.UNKNOWN)
    return Judged(
        view=view,
        evidence=tuple(mask_text(line) for line in verdict.evidence),
        remedy=_remedy(check, verdict.reason, how) if wrong else "",
        required=check.name not in how.optional,
        blind_spot=paragraph_of(check.runbook, "Blind spot:").replace("``", "`"),
    )


def _remedy(check: Explained, reason: str, how: Judging) -> str:
    if isinstance(check, _Lost):
        return how.remedies.get(reason, remedy_of(check.runbook))
    return remedy_for(check.name, check.runbook, reason, how.remedies)


def _unproven(gate: Gate) -> Verdict:
    """What a check says that cannot be shown to fire counts for nothing."""
    return Verdict(
        outcome=Outcome.UNKNOWN,
        reason=UNPROVEN,
        summary="the check itself is not proven, so nothing it says counts",
        evidence=(gate.why,),
    )


def ready(judged: Sequence[Judged]) -> Outcome:
    """FAIL if anything fails, UNKNOWN if something required cannot be told, else PASS.

    Where nothing passes nothing was seen to be good: that is UNKNOWN.
    """
    outcomes = [(j.view.outcome, j.required) for j in judged]
    if any(outcome is Outcome.FAIL for outcome, _ in outcomes):
        return Outcome.FAIL
    unknown = any(outcome is Outcome.UNKNOWN and required for outcome, required in outcomes)
    passes = any(outcome is Outcome.PASS for outcome, _ in outcomes)
    return Outcome.PASS if passes and not unknown else Outcome.UNKNOWN
