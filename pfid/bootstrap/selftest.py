"""Joins the gate: registry, proofs that are kept, page, and the plugin worker for third parties."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end
from pfid.bootstrap.plugin_worker import Keeping, PluginWorker
from pfid.config.model import Config
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName
from pfid.host.plugins import UNKNOWN_STAGE, Problem, Registered, Registry
from pfid.host.proofs import ProofBook, proof_key, proven, surroundings
from pfid.host.registry import Where, discover, unknown_checks
from pfid.policy.control_drive import FarEnd
from pfid.policy.proof import prove
from pfid.policy.proof_age import renewed_after_s
from pfid.spec.check import AnyCheck, Stage
from pfid.spec.ports.gates import GateFacts
from pfid.wire.plugins import CheckInfo, check_info
from pfid.workers.plugin_collect import source_digest

PLUGIN_WAIT_S: Final = 60.0
_DAY_S: Final = 86_400.0
OF_PROOFS: Final = "gate_proof_stale"
"""The check that judges how old proofs are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the gates of one configuration are proven with.

    Attributes:
        config: limits, disabled checks, plugin directories, age of proofs.
        book: proofs that are kept; None to prove everything now.
        rests_on: see :func:`pfid.host.proofs.surroundings`.
    """

    config: Config
    book: ProofBook | None = None
    rests_on: str = field(default_factory=surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Every gate, and what belongs to it.

    Attributes:
        gates: one a check, and one for each plugin that cannot be used.
        infos: descriptions of the checks that loaded, by name.
        problems: of plugins.
        registry: the shipped checks and where plugins were found.
    """

    gates: tuple[Gate, ...]
    infos: Mapping[str, CheckInfo]
    problems: tuple[Problem, ...]
    registry: Registry

    @property
    def proven(self) -> frozenset[CheckName]:
        """Names of the checks that may be believed."""
        return frozenset(g.check for g in self.gates if g.state is GateState.PROVEN)

    @property
    def unproven(self) -> tuple[Gate, ...]:
        """Gates that are enabled and not proven."""
        return tuple(g for g in self.gates if g.state is GateState.UNPROVEN)


@lru_cache(maxsize=1)
def page_end() -> FarEnd:
    """Return the far end over the page that Prometheus scrapes, showing what is synthetic."""
    return far_end(Page(synthetic=True).render)


def take_stock(config: Config, stages: Sequence[Stage] = tuple(Stage)) -> Registry:
    """Find every check of these stages under this configuration."""
    where = Where(stages=stages, directories=config.plugins.directories)
    return discover(where, _with_proof_age(config))


def proof_age_s(config: Config) -> float:
    """Seconds that a proof is good for."""
    return config.proof.age_days * _DAY_S


def _with_proof_age(config: Config) -> dict[str, dict[str, float]]:
    """Limits by check; proofs are judged by the age at which they are made again."""
    limits = config.limits
    own = limits.get(OF_PROOFS, {})
    return {**limits, OF_PROOFS: {"age_s": proof_age_s(config), **own}}


def selftest(
    bench: Bench, stages: Sequence[Stage] = tuple(Stage), only: str | None = None
) -> Standing:
    """Prove every check of these stages, third-party ones in the plugin worker.

    Args:
        bench: what to prove with.
        stages: which checks.
        only: one check by name; others are left out.
    """
    registry = take_stock(bench.config, stages)
    chosen = [r for r in registry.checks if only in (None, r.check.name)]
    gates = list(prove_gates(chosen, bench))
    infos = {r.check.name: check_info(r.check, r.source) for r in chosen}
    problems = registry.problems
    if registry.foreign and only not in infos:
        taken = frozenset(r.check.name for r in registry.checks)
        theirs, foreign, refused = _foreign(registry, bench, taken)
        found = [i for i in foreign if i.stage in stages and only in (None, i.name)]
        infos.update({i.name: i for i in found})
        gates += [g for g in theirs if g.check in infos]
        problems = (*problems, *refused)
    problems = (*problems, *_misspelt(bench.config, registry, infos, stages))
    gates += [p.gate() for p in problems if only in (None, p.check, p.plugin)]
    known = tuple(merged(gates, shipped_names(registry)))
    return Standing(gates=known, infos=infos, problems=problems, registry=registry)


def shipped_names(registry: Registry) -> frozenset[str]:
    """Names of the checks that are pfid's own."""
    return frozenset(r.check.name for r in registry.checks)


def merged(gates: Sequence[Gate], shipped: Collection[str]) -> Iterator[Gate]:
    """One gate a name: whatever is wrong under a name lets all of it down.

    Args:
        gates: of checks and of what is no check.
        shipped: names of pfid's own checks; what is wrong with a plugin that is called like one of
            them goes under a name of its own, so that nobody can switch a shipped check off.
    """
    by_name: dict[str, list[Gate]] = {}
    for gate in gates:
        stranger = gate.stage == UNKNOWN_STAGE and gate.check in shipped
        name = f"plugin_{gate.check}" if stranger else gate.check
        by_name.setdefault(name, []).append(replace(gate, check=CheckName(name)))
    for same in by_name.values():
        wrong = [g for g in same if g.state is GateState.UNPROVEN]
        if len(same) == 1 or not wrong:
            yield same[0]
        else:
            yield replace(wrong[0], why="; ".join(g.why for g in wrong))


def prove_gates(checks: Sequence[Registered], bench: Bench) -> tuple[Gate, ...]:
    """Prove shipped checks, or recall their proofs; keeps what it proved."""
    now_s = time.time()
    gates = tuple(_gate(r, bench, now_s) for r in checks)
    if bench.book is not None:
        bench.book.keep(gates)
    return gates


def current_key(registered: Registered, bench: Bench) -> str:
    """Return the key a proof of this check needs today."""
    return proof_key(registered.check, registered.source, bench.rests_on)


def gate_facts(registry: Registry, gates: Sequence[Gate], bench: Bench) -> tuple[GateFacts, ...]:
    """Set beside every gate the key its proof would need for what lies on disk now.

    After an upgrade under a running daemon the two differ: the proof is about code that is not
    there any more. Third-party checks are loaded afresh with every proof and have no other key.
    """
    today = replace(bench, rests_on=surroundings(on_disk=True))
    keys = {
        r.check.name: current_key(replace(r, source=source_digest(r.file)), today)
        for r in registry.checks
    }
    return tuple(GateFacts(gate=g, current_key=keys.get(g.check, g.key)) for g in gates)


def _gate(registered: Registered, bench: Bench, now_s: float) -> Gate:
    check = registered.check
    key = current_key(registered, bench)
    if check.name in bench.config.disabled_checks:
        return disabled(check, key)
    max_age_s = renewed_after_s(proof_age_s(bench.config))
    recalled = bench.book.recall(key, now_s, max_age_s) if bench.book is not None else None
    return recalled or proven(check, key, _prove, now_s)


def _prove(check: AnyCheck) -> Gate:
    return prove(check, far_end=page_end(), monotonic_s=time.monotonic)


def disabled(check: AnyCheck | CheckInfo, key: str = "") -> Gate:
    """Return the gate of a check that configuration switched off: it says nothing."""
    return Gate(
        check=CheckName(check.name),
        stage=check.stage.value,
        state=GateState.DISABLED,
        proven_to=ProvenTo(),
        why="disabled by configuration",
        key=key,
        severity=check.severity.value,
    )


def _foreign(
    registry: Registry, bench: Bench, taken: frozenset[str]
) -> tuple[tuple[Gate, ...], tuple[CheckInfo, ...], tuple[Problem, ...]]:
    worker = PluginWorker(
        registry.foreign,
        limits=bench.config.limits,
        taken=taken,
        far_end=page_end(),
        keeping=Keeping(memory_max_bytes=bench.config.plugins.worker_memory_max_bytes),
    )
    with worker:
        worker.host.wait_settled(PLUGIN_WAIT_S)
        infos, problems = worker.host.checks, worker.host.problems
        gates = worker.host.gates
    off = bench.config.disabled_checks
    known = {i.name: i for i in infos}
    now_s = time.time()
    said = tuple(
        disabled(known[g.check]) if g.check in off else keyed(dated(g, now_s), known, bench)
        for g in gates
    )
    return said, infos, problems


def keyed(gate: Gate, infos: Mapping[str, CheckInfo], bench: Bench) -> Gate:
    """Return a third-party check's gate with the key that its proof has today."""
    info = infos[gate.check]
    return replace(gate, key=proof_key(info, info.source, bench.rests_on))


def dated(gate: Gate, now_s: float) -> Gate:
    """Return the gate as proven at a wall time, if it is proven."""
    return replace(gate, proven_at_s=now_s) if gate.state is GateState.PROVEN else gate


def _misspelt(
    config: Config, registry: Registry, infos: Mapping[str, CheckInfo], stages: Sequence[Stage]
) -> tuple[Problem, ...]:
    """A check that configuration speaks of and that does not exist: only where all are known."""
    if set(stages) != set(Stage):
        return ()
    missing = [n for n in unknown_checks(config.checks, registry) if n not in infos]
    return tuple(
        Problem(plugin="configuration", what=f"there is no check {name}", check=name)
        for name in missing
    )
