"""The world of an evaluation: every subject is looked at when a check asks for it, and once."""

from typing import TYPE_CHECKING

from pfid.adapters.clocks import SystemClock
from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.judge.planted import Ground, planted_facts
from pfid.bootstrap.preflight.world import LookedAtOnce
from pfid.bootstrap.selftest import Bench, prove_gates, take_stock
from pfid.domain.gate import GateState
from pfid.domain.verdict import Entity, EntityKind
from pfid.host.proofs import ProofBook
from pfid.spec.check import AnyCheck, Stage
from pfid.spec.fakes_facts import FixedFacts
from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.ports.facts import FactsPort
from pfid.spec.ports.known_answers import KnownAnswersFacts
from pfid.spec.ports.overlap import OverlapFacts
from pfid.spec.ports.planted import PlantedFacts
from pfid.spec.ports.refusals import RefusalFacts
from pfid.spec.ports.results import ResultFacts
from pfid.spec.world import World

if TYPE_CHECKING:
    from pfid.bootstrap.judge.overlap import Overlaps

PROOFS = "result-proofs.json"


class Looking:
    """Worlds over records of one evaluation, changed ones among them."""

    def __init__(self, evaluation: Evaluation) -> None:
        """Do not look yet."""
        self._of = evaluation
        self._answers: FactsPort[KnownAnswersFacts] = LookedAtOnce(self._known_answers)
        self._corpus: FactsPort[CorpusFacts | None] = LookedAtOnce(self._corpus_facts)
        self._overlaps: LookedAtOnce[Overlaps | None] = LookedAtOnce(self._open_overlaps)

    def world(self) -> World:
        """The world of the records as they are."""
        return self._over(self._of.results)

    def _over(self, results: ResultFacts) -> World:
        return World(
            subject=Entity(EntityKind.RESULT, self._of.name),
            clock=SystemClock(),
            results=FixedFacts(results),
            known_answers=self._answers,
            corpus=self._corpus,
            overlap=LookedAtOnce(lambda: self._overlap(results)),
            refusals=LookedAtOnce(lambda: self._refusals(results)),
            planted=LookedAtOnce(lambda: self._planted(results)),
        )

    def _known_answers(self) -> KnownAnswersFacts:
        from pfid.bootstrap.judge.known_answers import known_answers_facts

        results = self._of.results
        gates, base = results.gates, results.baseline
        from pfid.bootstrap.judge.planted import corpus_passage

        return known_answers_facts(
            gates.null_has_positive_control,
            self._of.ask,
            [*results.candidate.records, *(base.records if base is not None else ())],
            lambda: corpus_passage(gates.memorisation, self._of.folder),
        )

    def _corpus_facts(self) -> CorpusFacts | None:
        from pfid.bootstrap.judge.corpus import corpus_facts

        gates = self._of.results.gates
        return corpus_facts(gates.rate_bound_to_corpus, self._of.folder, self._of.told)

    def _overlap(self, results: ResultFacts) -> OverlapFacts | None:
        held = self._overlaps.facts()
        return None if held is None else held.facts(results)

    def _open_overlaps(self) -> "Overlaps | None":
        """One for all copies, so that a text is held against the corpus once."""
        from pfid.bootstrap.judge.overlap import Overlaps

        gate = self._of.results.gates.memorisation
        return None if gate is None else Overlaps(gate, self._of.folder, self._of.told)

    def _refusals(self, results: ResultFacts) -> RefusalFacts | None:
        from pfid.bootstrap.judge.refusals import refusal_facts

        gate = results.gates.refusal_retention
        directories = self._of.config.plugins.directories
        return refusal_facts(gate, self._of.folder, results, directories)

    def _planted(self, results: ResultFacts) -> PlantedFacts | None:
        gates = results.gates
        if gates.gate_sees_property is None:
            return None
        from pfid.bootstrap.judge.planted import corpus_passage

        read = self._refusals(results)
        ground = Ground(
            checks=self._proven(),
            world_of=self._over,
            patterns=read.files if read is not None else (),
            passage=lambda: corpus_passage(gates.memorisation, self._of.folder),
            ask=self._of.ask,
        )
        return planted_facts(gates.gate_sees_property, results, ground)

    def _proven(self) -> list[AnyCheck]:
        """The checks of the stage that may be believed."""
        config = self._of.config
        checks = take_stock(config, (Stage.RESULT,)).checks
        bench = Bench(config=config, book=ProofBook(self._of.state / PROOFS))
        gates = {str(g.check): g.state for g in prove_gates(checks, bench)}
        return [r.check for r in checks if gates[r.check.name] is GateState.PROVEN]
