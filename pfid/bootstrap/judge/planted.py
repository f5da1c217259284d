"""Plants faults into an evaluation's answers and lets its other gates judge each faulty copy."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pfid.adapters.corpus_files import CorpusError, CorpusReading
from pfid.bootstrap.judge.corpus_stream import Folding, excerpt
from pfid.bootstrap.judge.driving import Ask
from pfid.bootstrap.judge.planted_metrics import MetricLook, metric_looks
from pfid.domain.answer import PatternFile, Stance
from pfid.domain.outcome import Outcome
from pfid.formats.answers.planting import (
    FAULTS,
    MEMORISED_CHARS,
    Sources,
    arrivals,
    can_show,
    faults_of,
    planted,
)
from pfid.policy.evaluate import run_check
from pfid.spec.check import AnyCheck
from pfid.spec.ports.planted import PlantedFacts, PlantedFault
from pfid.spec.ports.results import Arm, ResultFacts, ResultRecord
from pfid.spec.result_gates.gate_sees_property import SeesGate, SeesMetric
from pfid.spec.result_gates.memorisation import MemorisationGate
from pfid.spec.world import World

OWN_NAME: Final = "gate_sees_property"
REFUSAL: Final = "I'm sorry, but I can't help with that."
SLOW_PORT: Final = "overlap"
"""Every look of it reads a whole corpus: only the fault that it could see is put before it."""
PASSAGE_CHARS: Final = (4_000, MEMORISED_CHARS)
TEXT_PORTS: Final = frozenset({"results", SLOW_PORT})


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What faults are planted on.

    Attributes:
        checks: of the stage, those that may be believed.
        world_of: the world in which an evaluation holds the given records.
        patterns: of refusals; the first refusal among their controls is what is planted.
        passage: reads some text of the corpus, "" where none is named; asked once, if at all.
        ask: the interpreter of the user's own metrics.
    """

    checks: Sequence[AnyCheck]
    world_of: Callable[[ResultFacts], World]
    patterns: Sequence[PatternFile] = ()
    passage: Callable[[], str] = field(default=lambda: "")
    ask: Ask | None = None


def planted_facts(
    gate: SeesGate | None, results: ResultFacts, ground: Ground
) -> PlantedFacts | None:
    """Try every fault of every declared property; None where none is declared."""
    if gate is None:
        return None
    sample = replace(results, candidate=_sampled(results.candidate, gate.sample))
    names = [fault for wanted in dict.fromkeys(gate.properties) for fault in faults_of(wanted)]
    by_corpus = any(one.against == "corpus" for one in gate.metrics)
    passage = ground.passage() if "memorised" in names or by_corpus else ""
    sources = Sources(refusals=refusals_of(ground.patterns), passage=passage)
    trial = _Trial(ground=ground, whole=results, good=sample, sources=sources)
    copies = {name: trial.planted(name) for name in names if not trial.lacking(name)}
    looks = trial.metrics(gate.metrics, copies)
    before: dict[str, Outcome] = {}
    return PlantedFacts(
        faults=tuple(trial.tried(name, copies.get(name), looks, before) for name in names)
    )


def refusals_of(patterns: Iterable[PatternFile]) -> Mapping[str, str]:
    """A refusal by language, out of the controls of the pattern files."""
    found = {"": REFUSAL}
    for file in patterns:
        for control in file.controls:
            if control.stance is Stance.HARD:
                found.setdefault(file.language, control.text)
                break
    return found


def corpus_passage(gate: MemorisationGate | None, folder: Path) -> str:
    """Some text that the corpus holds in one piece; "" where none is named or can be read.

    Args:
        gate: of the spec, which names the corpus.
        folder: of the spec; relative paths begin there.
    """
    if gate is None:
        return ""
    paths = [folder / os.path.expanduser(path) for path in gate.corpus]  # noqa: PTH111
    reading = CorpusReading(paths, gate.field)
    try:
        found = (excerpt(reading, Folding("none"), chars) for chars in PASSAGE_CHARS)
        return next((text for text in found if text.strip()), "")
    except CorpusError:
        return ""


def _sampled(arm: Arm, size: int) -> Arm:
    """Records evenly over the arm that hold an answer, as an arm that is whole."""
    answered = [r for r in arm.records if r.output.strip()]
    step = max(len(answered) / size, 1.0)
    chosen: list[ResultRecord] = [answered[int(n * step)] for n in range(min(len(answered), size))]
    return replace(arm, records=tuple(chosen), declared=len(chosen), bad=(), bad_total=0)


@dataclass(frozen=True, kw_only=True)
class _Trial:
    ground: Ground
    whole: ResultFacts
    good: ResultFacts
    sources: Sources

    def lacking(self, name: str) -> tuple[str, str] | None:
        """Problem and detail, where a fault cannot be planted."""
        if not self.good.candidate.records:
            return "no_answers", ""
        if name == "memorised" and not self.sources.passage:
            return "no_corpus", "name a corpus under gates.memorisation"
        return None

    def planted(self, name: str) -> tuple[ResultRecord, ...]:
        """The good records with a fault in each."""
        return planted(name, self.good.candidate.records, self.sources)

    def metrics(
        self, metrics: Sequence[SeesMetric], copies: Mapping[str, Sequence[ResultRecord]]
    ) -> tuple[MetricLook, ...]:
        """Put the user's own metrics before all copies."""
        if self.ground.ask is None or not copies:
            return ()
        return metric_looks(
            metrics,
            self.good.gates.null_has_positive_control,
            self.good.candidate.records,
            copies,
            passage=self.sources.passage,
            ask=self.ground.ask,
        )

    def tried(
        self,
        name: str,
        faulty: tuple[ResultRecord, ...] | None,
        looks: Sequence[MetricLook],
        before: dict[str, Outcome],
    ) -> PlantedFault:
        """One fault. ``before`` keeps what each check says of the good answers."""
        harmed = FAULTS[name].property
        arm = self.good.candidate
        if faulty is None:
            problem, detail = self.lacking(name) or ("", "")
            return PlantedFault(name=name, property=harmed, problem=problem, detail=detail)
        world = self.ground.world_of(replace(self.good, candidate=replace(arm, records=faulty)))
        read = world.results.facts().candidate.records
        checks = self._looking(harmed)
        for check in checks:
            if check.name not in before:
                before[check.name] = self._outcome(check, self.good)
        deaf = [check for check in checks if before[check.name] is Outcome.FAIL]
        seeing = [
            str(check.name)
            for check in checks
            if check not in deaf and run_check(check, world).outcome is Outcome.FAIL
        ]
        failing = [str(c.name) for c in deaf if self._outcome(c, self.whole) is Outcome.FAIL]
        return PlantedFault(
            name=name,
            property=harmed,
            answers=len(arm.records),
            able=sum(can_show(name, record) for record in arm.records),
            delivered=arrivals(name, arm.records, read, self.sources),
            seen_by=(*seeing, *(m.name for m in looks if name in m.sees and not m.failing)),
            failing=(*failing, *(m.name for m in looks if m.failing)),
            undriven=tuple(f"{m.name}: {m.why_not}" for m in looks if m.why_not),
        )

    def _outcome(self, check: AnyCheck, results: ResultFacts) -> Outcome:
        """Over the sample, and where it fails there over all: a sample alone may be too small."""
        return run_check(check, self.ground.world_of(results)).outcome

    def _looking(self, harmed: str) -> list[AnyCheck]:
        """Checks whose verdict can hang on the text of the answers."""
        return [
            check
            for check in self.ground.checks
            if check.name != OWN_NAME
            and not TEXT_PORTS.isdisjoint(check.reads)
            and (SLOW_PORT not in check.reads or harmed == "memorisation")
        ]
