"""Fail when the gates of an evaluation cannot see a property that it claims to see.

Faults are planted into the good answers: truncated, padded, looped, refused, memorised. Every other
check that the spec asks judges the faulty copy, and so does each metric of yours that the section
names with where the evaluation fails by it; a property one of whose faults makes none of them fail
is a blind spot, named here. A gate set of short-answer tasks cannot see length behaviour, neither
collapse nor a learned length, whatever gates look at it; because nobody had tried, the same effect
went through two full runs (playbook 4.6.3). Cutting "The capital of Portugal is Lisbon." to two
words would show that a gate can count, not that it would notice a model whose stories became short:
faults of length and collapse are planted into long answers alone, and where there are none the
property is not seen.

Each fault is read back through the seam that checks read, and counted where it is found: one that
did not arrive proves nothing and is UNKNOWN.

A metric that cannot be driven, or does not give the good answers the scores that their records
hold, sees nothing and hides nothing: what only it might have seen is unknown.

Blind spot: these are gross faults; gates that see them may miss finer ones. A metric that the
section does not name is not driven.

When it fires: add prompts whose good answers have the property (long ones for length), or a section
for the check that looks at it, or mend the metric that could not be driven: the lines say why. If
the evaluation is not meant to see it, do not declare it.

If it says `not_planted`, `not_delivered`: there are too few good answers that can hold the fault:
its lines say which property; add prompts with longer answers, or do not declare it.

If it says `answers_not_good`: mend first what the gate named in its lines fails on: over answers
that fail as they are a fault shows nothing.

If it says `metric_undriven`: its lines say why the metric could not be driven: mend its function,
or name the interpreter under `python`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pfid.formats.untrusted import printable
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.planted import PlantedFacts, PlantedFault

ANSWERS: Final = Answers(
    {
        "seen": (Outcome.PASS, "every declared property is seen: its faults make a gate fail"),
        "blind": (Outcome.FAIL, "the gates cannot see a property that the evaluation declares"),
        "short_answers": (
            Outcome.FAIL,
            "no good answer is long enough to show a property that the evaluation declares",
        ),
        "not_planted": (Outcome.UNKNOWN, "a fault could not be planted into the answers"),
        "not_delivered": (
            Outcome.UNKNOWN,
            "a fault was planted and not found again in enough answers",
        ),
        "answers_not_good": (
            Outcome.UNKNOWN,
            "a gate fails on the answers as they are, so nothing can be seen by it",
        ),
        "metric_undriven": (
            Outcome.UNKNOWN,
            "a metric of yours could not be put before a fault that nothing else sees",
        ),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec declares no property to be seen"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In how many answers a fault must have arrived."""

    delivered_share: float = limit(0.80, unit="ratio", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was tried; None where nothing is declared."""

    faults: tuple[PlantedFault, ...] | None
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.planted.facts()
    if facts is None:
        return Seen(faults=None)
    return Seen(faults=facts.faults, said=tuple(_said(f) for f in facts.faults))


def _said(fault: PlantedFault) -> str:
    by = ", ".join(fault.seen_by) or "none"
    problem = f", {fault.problem} {fault.detail}" if fault.problem else ""
    short = fault.answers - fault.able
    arrived = f"{fault.delivered} of {fault.able}" + (f" ({short} are too short)" if short else "")
    failing = f", fails already: {', '.join(fault.failing)}" if fault.failing else ""
    undriven = f", not driven: {'; '.join(fault.undriven)}" if fault.undriven else ""
    line = f"{fault.property}/{fault.name}: in {arrived}, seen by {by}{failing}{undriven}{problem}"
    return printable(line, 300)


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    if seen.faults is None:
        return ANSWERS.say("not_configured")
    codes = [_code(fault, limits) for fault in seen.faults]
    doubts = ("not_planted", "not_delivered", "metric_undriven", "answers_not_good")
    order = ("blind", "short_answers", *doubts, "seen")
    code = next((c for c in order if c in codes), "not_planted")
    named = [f for f, its in zip(seen.faults, codes, strict=True) if its == code]
    properties = {f.property for f in seen.faults}
    unseen = ("blind", "short_answers")
    blind = {f.property for f, its in zip(seen.faults, codes, strict=True) if its in unseen}
    figures = {
        "faults": (len(codes), "1"),
        "faults_seen": (codes.count("seen"), "1"),
        "properties": (len(properties), "1"),
        "properties_blind": (len(blind), "1"),
    }
    words = "" if code == "seen" else ", ".join(f"{f.property} ({f.name})" for f in named)
    return ANSWERS.say(code, words, figures=figures, evidence=seen.said)


def _code(fault: PlantedFault, limits: Limits) -> str:
    if fault.problem:
        return "not_planted"
    if fault.able < 1:
        return "short_answers"
    if fault.delivered < limits.delivered_share * fault.able:
        return "not_delivered"
    if fault.seen_by:
        return "seen"
    if fault.undriven:
        return "metric_undriven"
    return "answers_not_good" if fault.failing else "blind"


_PAIRS: Final = (
    ("length", "truncated"),
    ("length", "padded"),
    ("collapse", "looped"),
    ("refusal", "refused"),
    ("memorisation", "memorised"),
)


def controls(limits: Limits) -> Iterable[Control]:
    """All seen first; then each fault unseen, and each way not to know."""
    yield _control("all seen", "seen")
    for _, name in _PAIRS:
        yield _control(f"{name} unseen", "blind", name, seen_by=())
    edge = round(1000 * limits.delivered_share)
    yield _control("arrived in enough", "seen", "padded", able=1000, delivered=edge + 10)
    yield _control("arrived in too few", "not_delivered", "padded", able=1000, delivered=edge - 10)
    yield _control("short answers", "short_answers", "truncated", able=0, delivered=0, seen_by=())
    yield _control("one long answer", "seen", "truncated", able=1, delivered=1)
    yield _control("no corpus", "not_planted", "memorised", problem="no_corpus")
    yield _control("a gate fails already", "answers_not_good", "looped", seen_by=(), failing=("x",))
    silent = {"seen_by": (), "undriven": ("metric f1: python_hung",)}
    yield _control("a metric hangs", "metric_undriven", "truncated", **silent)
    yield _control("a metric hangs, a check sees", "seen", "truncated", undriven=("m: raised",))
    yield ANSWERS.control("nothing tried", "not_planted", _world(PlantedFacts(faults=())))
    yield ANSWERS.control("not configured", "not_configured", _world(None))


def _control(name: str, code: str, changed: str = "", **more: Any) -> Control:
    faults = []
    for harmed, fault in _PAIRS:
        fine = {"answers": 40, "able": 40, "delivered": 40, "seen_by": (f"{harmed}_gate",)}
        known = {**fine, **more} if fault == changed else fine
        faults.append(PlantedFault(name=fault, property=harmed, **known))
    return ANSWERS.control(name, code, _world(PlantedFacts(faults=tuple(faults))))


def _world(planted: PlantedFacts | None) -> World:
    return result_world(result_facts(arm([record(1)])), planted=planted)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gate_sees_property",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        deadline_s=900.0,
        reads=("planted",),
        runbook=__doc__ or "",
    )
