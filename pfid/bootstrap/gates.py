"""The gates of a daemon: found, proven, kept, proven again by age and on change."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from pfid.adapters.own_log import OwnLog
from pfid.bootstrap.daemon_joints import PluginJoint
from pfid.bootstrap.plugin_worker import Keeping, PluginWorker
from pfid.bootstrap.selftest import (
    Bench,
    dated,
    disabled,
    gate_facts,
    keyed,
    merged,
    page_end,
    proof_age_s,
    prove_gates,
    shipped_names,
    take_stock,
)
from pfid.config.model import Config
from pfid.daemon.core import BOX_SUBJECT, Checks, Core, Judgeable, judge_by
from pfid.daemon.messages import Message, PluginFault, PluginWorkerEnded
from pfid.daemon.plugins import CHECKS_HOOK
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.snapshot import PluginView
from pfid.host.plugins import PluginKind, PluginSource, Problem, Registry
from pfid.host.proofs import ProofBook
from pfid.policy.proof_age import renewed_after_s
from pfid.spec.check import Scope, Stage
from pfid.wire.plugins import CheckInfo
from pfid.workers.plugin_collect import source_digest

WORKER_WAIT_S: Final = 10.0
Leg = Literal["live", "alerts"]
ELSEWHERE: Final[tuple[Leg, ...]] = ("live", "alerts")
"""Legs that are walked outside the daemon, which is told what they came to."""


class Gates:
    """Finds and proves the checks of stage ``watch``."""

    def __init__(
        self, proofs: Path, log: OwnLog, post: Callable[[Message], None] = lambda _message: None
    ) -> None:
        """Keep proofs in the file ``proofs``; tell through ``post`` what plugins do wrong."""
        self._post = post
        self._proofs = proofs
        self._log = log
        self._worker: PluginWorker | None = None
        self._one_at_a_time = Lock()
        self._registry = Registry()
        self._foreign_digests: Mapping[str, str] = {}
        self._bench: Bench | None = None

    def prove(self, config: Config, *, afresh: bool = False) -> Checks:
        """Find and prove; what is kept and still good is not proven again unless ``afresh``.

        May be called from any thread; one proves at a time.
        """
        with self._one_at_a_time:
            return self._prove(config, afresh=afresh)

    def _prove(self, config: Config, *, afresh: bool) -> Checks:
        bench = Bench(config=config, book=None if afresh else ProofBook(self._proofs))
        registry = take_stock(config, (Stage.WATCH,))
        self._foreign_digests = _file_digests(registry.foreign)  # before the files are loaded
        before = ProofBook(self._proofs)
        gates = list(prove_gates(registry.checks, bench))
        checks: list[Judgeable] = [r.check for r in registry.checks]
        theirs, infos, refused = self._foreign(registry, bench)
        gates += theirs if afresh else [before.legs_of(g) for g in theirs]
        checks += infos
        gates += [p.gate() for p in (*registry.problems, *refused)]
        known = tuple(merged(gates, shipped_names(registry)))
        if theirs and bench.book is not None:
            self._say_unkept(bench.book.keep(known))
        self._say(known)
        self._registry, self._bench = registry, bench
        off = config.disabled_checks
        return Checks(
            run=tuple(c for c in checks if c.scope is Scope.RUN and c.name not in off),
            box=tuple(c for c in checks if c.scope is Scope.BOX and c.name not in off),
            gpu=tuple(c for c in checks if c.scope is Scope.GPU and c.name not in off),
            gates=known,
            facts=gate_facts(registry, known, bench),
            plugins=_views(registry),
            legs=_legs(known),
        )

    def again(self, core: Core, *, everything: bool) -> None:
        """Prove again, here and now: all of them, or only if that is due."""
        wanted = everything or self.due(core)
        self.take(core, self.prove(core.config, afresh=everything) if wanted else None)

    def due(self, core: Core) -> bool:
        """Whether a proof will soon be too old, or what it was made of changed."""
        return self._any_old(core) or self._any_changed()

    def take(self, core: Core, checks: Checks | None) -> None:
        """Judge by these checks from now on; None: by those that are there.

        What cannot be proven again without a restart (pfid itself was upgraded) stays as a fact
        that the check of proofs sees; that check is due at once.
        """
        if checks is not None:
            before = core.checks
            judge_by(core, checks)
            for leg in ELSEWHERE:
                self._carry(core, before, leg)
        if self._bench is not None:
            facts = gate_facts(self._registry, core.checks.gates, self._bench)
            core.checks = replace(core.checks, facts=facts)
        for judged in core.box.values():
            judged.due_s = 0.0
        core.due.set(("box", BOX_SUBJECT), core.monotonic_s())
        core.snapshot_stale = True

    def alerts(self, core: Core, by_key: Mapping[str, bool]) -> None:
        """Enter what alerts came to, where they were tried on the very checks that run here."""
        tried = {str(g.check): by_key[g.key] for g in core.checks.gates if g.key in by_key}
        if tried:
            self.enter(core, "alerts", tried, core.now_s())

    def enter(self, core: Core, leg: Leg, results: Mapping[str, bool], at_s: float | None) -> None:
        """Enter what a leg came to elsewhere; it is kept with the proof and void with its key.

        Args:
            core: of the daemon.
            leg: which.
            results: by check; others keep what they have.
            at_s: wall time of the trial; None if that is not known any more.
        """
        gates = tuple(
            replace(g, proven_to=_with(g.proven_to, leg, came=results[g.check]))
            if g.check in results
            else g
            for g in core.checks.gates
        )
        facts = tuple(
            replace(fact, gate=gate)
            for fact, gate in zip(core.checks.facts or (), gates, strict=False)
        )
        legs = dict(core.checks.legs)
        enabled = [g for g in gates if g.state is not GateState.DISABLED]
        if at_s is not None and all(getattr(g.proven_to, leg) for g in enabled):
            legs[leg] = at_s
        core.checks = replace(core.checks, gates=gates, facts=facts, legs=legs)
        self._say_unkept(ProofBook(self._proofs).keep(gates))
        core.snapshot_stale = True

    def _any_changed(self) -> bool:
        """Whether a check's own file is not what it was loaded from."""
        own = any(r.source != source_digest(r.file) for r in self._registry.checks)
        return own or self._foreign_digests != _file_digests(self._registry.foreign)

    def plugins(self, post: Callable[[Message], None]) -> PluginJoint:
        """Where third-party checks are evaluated: each time in the worker they were proven in."""
        return PluginJoint(lambda: self._worker, post)

    @property
    def foreign(self) -> tuple[PluginSource, ...]:
        """Plugins that are not pfid's own."""
        return self._registry.foreign

    def close(self) -> None:
        """End the plugin worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _carry(self, core: Core, before: Checks, leg: Leg) -> None:
        """A leg that was walked elsewhere holds as long as the key it was entered with."""
        held = {g.key: getattr(g.proven_to, leg) for g in before.gates if g.key}
        still: dict[str, bool] = {}
        for gate in core.checks.gates:
            if (came := held.get(gate.key)) is not None:
                still[gate.check] = came
        if still:
            self.enter(core, leg, still, before.legs.get(leg))

    def _say_unkept(self, problem: str) -> None:
        if problem:
            self._log.say("warning", "proofs", problem=problem)

    def _any_old(self, core: Core) -> bool:
        limit_s = renewed_after_s(proof_age_s(core.config))
        now_s = core.now_s()
        times = [g.proven_at_s for g in core.checks.gates if g.state is GateState.PROVEN]
        return any(at_s is None or not 0 <= now_s - at_s < limit_s for at_s in times)

    def _foreign(
        self, registry: Registry, bench: Bench
    ) -> tuple[list[Gate], list[CheckInfo], tuple[Problem, ...]]:
        config = bench.config
        if not registry.foreign:
            self.close()
            return [], [], ()
        taken = frozenset(r.check.name for r in registry.checks)
        worker = PluginWorker(
            registry.foreign,
            limits=config.limits,
            taken=taken,
            far_end=page_end(),
            keeping=_keeping(config, self._post),
        )
        worker.start()
        if worker.host.wait_settled(WORKER_WAIT_S):
            worker.let_go()
        # Until now the checks in force were evaluated in the one before.
        before, self._worker = self._worker, worker
        if before is not None:
            before.close()
        infos = [i for i in worker.host.checks if i.stage is Stage.WATCH]
        names = {i.name: i for i in infos}
        now_s = time.time()
        gates = [
            disabled(names[g.check])
            if g.check in config.disabled_checks
            else keyed(dated(g, now_s), names, bench)
            for g in worker.host.gates
            if g.check in names
        ]
        return gates, infos, worker.host.problems

    def _say(self, gates: tuple[Gate, ...]) -> None:
        for gate in gates:
            if gate.state is GateState.UNPROVEN:
                self._log.say("error", "gate unproven", check=gate.check, why=gate.why)


def _keeping(config: Config, post: Callable[[Message], None]) -> Keeping:
    return Keeping(
        memory_max_bytes=config.plugins.worker_memory_max_bytes,
        fault=lambda plugin, what: post(PluginFault(plugin=plugin, hook=CHECKS_HOOK, what=what)),
        ended=lambda end, plugin: post(
            PluginWorkerEnded(cause=end.cause.value, plugin=plugin, said=end.output_tail)
        ),
    )


def _with(proven_to: ProvenTo, leg: Leg, *, came: bool) -> ProvenTo:
    return replace(proven_to, **{leg: came})


def _views(registry: Registry) -> tuple[PluginView, ...]:
    wrong = {p.plugin: p.what for p in registry.problems}
    return tuple(
        PluginView(name=s.name, version=s.version, problem=wrong.get(s.name, ""))
        for s in registry.sources
    )


def _file_digests(sources: Sequence[PluginSource]) -> Mapping[str, str]:
    files = [s.place for s in sources if s.kind is PluginKind.FILE]
    return {place: source_digest(Path(place)) for place in files}


def _legs(gates: tuple[Gate, ...]) -> dict[str, float]:
    """When every enabled gate was proven last: the time of the oldest proof among them."""
    enabled = [g for g in gates if g.state is not GateState.DISABLED]
    times = [g.proven_at_s for g in enabled]
    if not times or any(t is None for t in times):
        return {}
    oldest = min(t for t in times if t is not None)
    return {"controls": oldest, "sabotage": oldest}
