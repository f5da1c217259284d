"""Fail when answers are not as long as they were meant to be, as a distribution.

Quartiles of each kind of prompt are held against stated targets. There is no floor for all: one
global floor of 15 words rejected "The capital of Portugal is Lisbon.", which is correct and
complete, and a floor that is too high is satisfied by moving the number (playbook 4.6.1, 4.6.3).
What an answer must have at least is a share of the shortest answer to *its own* prompt that is
known to be good.

An answer that the cap cut off is the same shift seen from its other end: its length is a lower
bound, and so is a quartile that falls among such answers. It is reported beside the quartiles.

Blind spot: a set of short-answer tasks holds no length to be seen, whatever the targets say
(``gate_sees_property``). Words are counted on what a reader sees, without reasoning.

When it fires: the training data has other lengths than the targets, or the targets were made from
another model. Decide which of both is meant; do not move the target to the figure.

If it says `too_few_items`: run more items of the family that is named; the figures say how many
there are.

If it says `cut_off`: raise the cap and run again: a length that was cut off is a lower bound only.

If it says `family_missing`, `no_targets`: name the families as the records call them
(`records.fields.family`), and state median, p25 and p75 of each.

If it says `tokens_not_told`: map `records.fields.output_tokens`, or state the targets in words.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from pfid.analysis.length_targets import (
    QUARTILES,
    Held,
    Length,
    floor_code,
    quartile_figures,
    quartiles_held,
    under_floor,
)
from pfid.analysis.percentiles import nearest_rank
from pfid.formats.answers.visible import visible
from pfid.formats.answers.words import word_count
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
from pfid.spec.ports.results import Arm, ResultRecord
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.length_conformance import FamilyLengths, LengthGate

ANSWERS: Final = Answers(
    {
        "conforms": (Outcome.PASS, "answers are as long as they were meant to be"),
        "shorter": (Outcome.FAIL, "answers are shorter than they were meant to be"),
        "longer": (Outcome.FAIL, "answers are longer than they were meant to be"),
        "wider": (Outcome.FAIL, "answers are both shorter and longer than they were meant to be"),
        "under_own_floor": (
            Outcome.FAIL,
            "answers are much shorter than what is known to be good for their own prompts",
        ),
        "too_few_items": (Outcome.UNKNOWN, "over so few items the quartiles cannot be told"),
        "cut_off": (Outcome.UNKNOWN, "a quartile falls among answers that the cap cut off"),
        "family_missing": (Outcome.UNKNOWN, "no record is of a kind that has targets"),
        "no_targets": (Outcome.UNKNOWN, "neither targets nor known-good answers are stated"),
        "tokens_not_told": (Outcome.UNKNOWN, "targets are in tokens and records do not count them"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec states no lengths"),
    }
)
NAMED_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a quartile may lie from its target, and an answer below what is known to be good."""

    within: float = limit(0.25, unit="ratio", factor=1.5)
    floor_share: float = limit(0.50, unit="ratio", factor=1.5)
    under_floor_share: float = limit(0.10, unit="ratio", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    targets: tuple[FamilyLengths, ...] | None
    lengths: tuple[Length, ...]
    baseline: tuple[Length, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Count; never decide."""
    facts = world.results.facts()
    gate = facts.gates.length_conformance
    if gate is None:
        return Seen(targets=None, lengths=())
    return Seen(
        targets=tuple(gate.families),
        lengths=_lengths(facts.candidate, gate),
        baseline=_lengths(facts.baseline, gate) if facts.baseline is not None else (),
    )


def _lengths(held: Arm, gate: LengthGate) -> tuple[Length, ...]:
    return tuple(_length(r, gate) for r in held.records)


def _length(one: ResultRecord, gate: LengthGate) -> Length:
    words = word_count(visible(one.output))
    known = list(gate.known_good.get(one.item, ()))
    if one.reference:
        known.append(one.reference)
    return Length(
        family=one.family,
        length=words if gate.unit == "words" else one.output_tokens,
        words=words,
        good_words=min(map(word_count, known), default=None),
        cut_off=one.cut_off is True,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    if seen.targets is None:
        return ANSWERS.say("not_configured")
    held = [
        h for target in seen.targets for h in quartiles_held(target, seen.lengths, limits.within)
    ]
    under, floored = under_floor(seen.lengths, limits.floor_share)
    codes = {h.code for h in held} | {floor_code(under, floored, limits.under_floor_share)} - {""}
    if {"shorter", "longer"} <= codes:
        codes.add("wider")
    order = ("tokens_not_told", "wider", "shorter", "longer", "under_own_floor", "family_missing")
    doubts = (*order, "cut_off", "too_few_items", "conforms")
    code = next((c for c in doubts if c in codes), "no_targets")
    cut = sum(one.cut_off for one in seen.lengths)
    figures = {
        "answers": (len(seen.lengths), "1"),
        "cut_off": (cut, "1"),
        "with_floor": (floored or None, "1"),
        "under_own_floor": (under if floored else None, "1"),
        **quartile_figures(held),
    }
    same = (
        f"{cut} of {len(seen.lengths)} were cut off at the cap, the same shift from its other end"
    )
    named = "; ".join(_said(h) for h in held if code in (h.code, "wider"))
    return ANSWERS.say(
        code,
        printable(named, 300),
        f"{under} of {floored} are under their own floor" if under else "",
        same if cut else "",
        figures=figures,
        evidence=_evidence(held, seen),
    )


def _said(held: Held) -> str:
    family = f"{held.family} " if held.family else ""
    return f"{family}{held.name} {held.found.seen:g}, target {held.target:g}"


def _evidence(held: Sequence[Held], seen: Seen) -> tuple[str, ...]:
    lines = []
    for h in held[:NAMED_MAX]:
        high = f"{h.found.high:g}" if h.found.high < inf else "?"
        line = f"{_said(h)}: {h.code}, between {h.found.low:g} and {high}"
        lines.append(printable(line, 200))
    return (*lines, *_others(seen))


def _others(seen: Seen) -> Iterable[str]:
    """Kinds without targets, and the other arm: shown, and nothing hangs on them."""
    arms = (("", seen.lengths), ("baseline ", seen.baseline))
    targets = {t.family for t in seen.targets or ()}
    for arm_name, lengths in arms:
        kinds: dict[str, list[float]] = defaultdict(list)
        for one in lengths:
            if one.length is not None and (arm_name or one.family not in targets):
                kinds[one.family].append(one.length)
        for family, known in sorted(kinds.items())[:NAMED_MAX]:
            quartiles = [f"{nearest_rank(sorted(known), p):g}" for _, p in QUARTILES]
            name = printable(family or "answers", 80)
            yield f"{arm_name}{name}: {len(known)}, p25 median p75 {' '.join(quartiles)}, no target"


_TARGET: Final = FamilyLengths(family="story", p25=300, median=400, p75=500)
_N: Final = 400


def controls(limits: Limits) -> Iterable[Control]:
    """As meant first; then each side of each limit, cut off, too few, and nothing to go by."""
    at = 400 * limits.within
    yield _control("as meant", "conforms", _spread(400))
    yield _control("six correct words", "conforms", [6] * 40, good=6, family="fact")
    yield _control("shorter, within", "conforms", _spread(400 - at * 0.7), only="median")
    yield _control("shorter", "shorter", _spread(400 - at * 1.35), only="median")
    yield _control("longer, within", "conforms", _spread(400 + at * 0.7), only="median")
    yield _control("longer", "longer", _spread(400 + at * 1.35), only="median")
    yield _control("both", "wider", [*_spread(90), *_spread(900)])
    yield _control("beyond, and few", "too_few_items", _spread(400 - at * 1.3, 8), only="median")
    yield _control("cut off", "cut_off", _spread(400), cut=200)
    yield _control("cut off above", "conforms", _spread(400), cut=60)
    yield _control("another kind", "family_missing", _spread(400), family="chat")
    good = 40
    low = int(good * limits.floor_share)
    few = int(limits.under_floor_share * _N)
    yield _control("at its floor", "conforms", [low + 1] * 40, good=good, family="fact")
    yield _control("under its floor", "under_own_floor", [low - 1] * 40, good=good, family="fact")
    for name, code, n in (("few under", "conforms", 0.9), ("many under", "under_own_floor", 1.5)):
        short = int(few * n)
        yield _control(name, code, [1] * short + [40] * (_N - short), good=good, family="fact")
    yield _control("some under", "too_few_items", [1] * 2 + [40] * 10, good=good, family="fact")
    tokens = LengthGate(unit="tokens", families=[_TARGET])
    yield _control("no tokens", "tokens_not_told", _spread(400), gate=tokens)
    yield _control("no targets", "no_targets", _spread(400), gate=LengthGate())
    bare = result_world(result_facts(arm([record(1, "a b c")])))
    yield ANSWERS.control("not configured", "not_configured", bare)


def _spread(median: float, n: int = _N) -> list[int]:
    """Lengths spread evenly from half of the median to one and a half times it."""
    return [round(median * (0.5 + i / n)) for i in range(n)]


def _control(name: str, code: str, lengths: Sequence[int], **more: Any) -> Control:
    cut, good = more.get("cut", 0), more.get("good")
    records = [
        record(
            n,
            "word " * words,
            family=more.get("family", "story"),
            finish_reason="length" if n >= len(lengths) - cut else "stop",
            reference="good " * good if good else None,
        )
        for n, words in enumerate(lengths)
    ]
    only = more.get("only")
    target = FamilyLengths(family="story", median=400) if only else _TARGET
    stated = LengthGate() if good else LengthGate(families=[target])
    gates = Gates(length_conformance=more.get("gate", stated))
    return ANSWERS.control(name, code, result_world(result_facts(arm(records), gates=gates)))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="length_conformance",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        deadline_s=30.0,
        reads=("results",),
        runbook=__doc__ or "",
    )
