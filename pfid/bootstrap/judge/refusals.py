"""What tells refusals from answers: pattern files, or a plugin's classifier in its process."""

from collections.abc import Sequence
from pathlib import Path

from pfid.adapters.refusal_classifier import classify
from pfid.adapters.refusal_patterns import own_patterns, shipped_patterns
from pfid.domain.answer import PatternFile
from pfid.host.foreign import foreign_plugins
from pfid.host.plugins import PluginKind
from pfid.spec.ports.refusals import ClassifierAnswer, ClassifierFacts, RefusalFacts
from pfid.spec.ports.results import Arm, ResultFacts
from pfid.spec.result_gates.refusal_retention import RefusalGate
from pfid.wire.gpu import PluginPlace
from pfid.wire.refusals import AskedAnswer, Classified, ClassifyOrder


def refusal_facts(
    gate: RefusalGate | None,
    folder: Path,
    results: ResultFacts,
    directories: Sequence[str] = (),
) -> RefusalFacts | None:
    """Read the pattern files, and ask the classifier if one is named; None where none is needed.

    Args:
        gate: of the spec.
        folder: of the spec; relative paths begin there.
        results: whose answers the classifier is asked.
        directories: configured folders of plugins.
    """
    if gate is None:
        return None
    files, problems = pattern_files(gate, folder)
    told = _asked(gate, results, directories) if gate.classifier else None
    return RefusalFacts(files=files, problems=problems, classifier=told)


def pattern_files(
    gate: RefusalGate, folder: Path
) -> tuple[tuple[PatternFile, ...], tuple[str, ...]]:
    """The files the spec wants, and what is wrong with those that cannot be read."""
    own, problems = own_patterns([folder / path for path in gate.patterns])
    shipped = shipped_patterns() if gate.shipped else ()
    return (*shipped, *own), problems


def _asked(gate: RefusalGate, results: ResultFacts, directories: Sequence[str]) -> ClassifierFacts:
    plugins, refused = foreign_plugins(directories)
    order = ClassifyOrder(
        name=gate.classifier,
        plugins=tuple(
            PluginPlace(name=p.name, place=p.place, is_file=p.kind is PluginKind.FILE)
            for p in plugins
        ),
        asked=(*_answers(results.candidate), *_answers(results.baseline)),
    )
    answer = classify(order, deadline_s=gate.classifier_deadline_s)
    trouble = "; ".join((answer.detail, *(f"{p.plugin}: {p.what}" for p in refused)))
    return _facts(gate.classifier, answer, trouble, len(results.candidate.records))


def _answers(arm: Arm | None) -> tuple[AskedAnswer, ...]:
    records = arm.records if arm is not None else ()
    return tuple(
        AskedAnswer(prompt=_text(r.prompt), output=_text(r.output), language=r.language)
        for r in records
    )


def _text(text: str) -> str:
    """Half of a character pair has no UTF-8, and a plugin is not what should find out."""
    return text.encode("utf-8", "replace").decode()


def _facts(name: str, answer: Classified, trouble: str, candidates: int) -> ClassifierFacts:
    return ClassifierFacts(
        name=name,
        problem=answer.problem,
        detail=trouble.strip("; ") if answer.problem else "",
        controls=tuple(
            ClassifierAnswer(name=c.name, stance=c.stance, got=c.got) for c in answer.controls
        ),
        candidate=answer.stances[:candidates],
        baseline=answer.stances[candidates:],
    )
