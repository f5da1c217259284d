"""Fail when answers collapse in more than a budgeted share of a seed block: the block is void.

Collapse is repetition (trigrams that stood there before, a special token over and over, letters
that pack to nothing) and letters of an alphabet nobody expects. Nothing else: an answer that is
short, or that the cap cut off, is a matter of length and no collapse. Pooled with it, one learnt
habit of short turns voided 6 of 8 blocks of a model that never collapsed once (playbook 4.6.3).

Lists, tables and code share a frame between lines that differ; they are told apart from loops, also
from loops that count. What a pooled budget would have done is among the figures.

Blind spot: fluent nonsense; a loop over paragraphs that are reworded each time; a table whose rows
are meant to be the same counts as a loop.

When it fires: look at the answers that its lines name. If they are what was asked for, name the
alphabet or leave the family out in the spec; do not raise the budget. If they are loops, the run is
void.

If it says `no_text`: there is no answer to look at: see whether `records.fields.output` names the
field that holds it, and whether the file is the right one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.repetition import repetition, squeezed
from pfid.analysis.scripts import expected_scripts, unexpected_share
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
from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.collapse import CollapseGate

ANSWERS: Final = Answers(
    {
        "steady": (Outcome.PASS, "answers collapse in no block beyond the budget"),
        "void": (Outcome.FAIL, "answers collapse: at least one block is void"),
        "no_text": (Outcome.UNKNOWN, "no record holds a word: there is nothing to look at"),
    }
)
NAMED_MAX: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one answer, and one block of them, may do."""

    void_share: float = limit(0.10, unit="ratio", factor=1.5)
    repeated_trigrams: float = limit(0.50, unit="ratio", factor=1.3)
    unexpected_script: float = limit(0.05, unit="ratio", factor=1.5)
    squeezed: float = limit(12.0, unit="ratio", factor=1.5)
    special_run: int = limit(8, unit="1", delta=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was measured of one answer.

    Attributes:
        name: item, for the owner.
        block: seed it belongs to.
        words: whether it has any.
        flagged: whether an earlier tool said anything of it.
        repeated: share of repeated trigrams, of the whole or its end; 0 in a frame.
        squeezed: how many times shorter it packs; 1 in a frame.
        special_run: one special token in a row.
        unexpected: share of letters of an alphabet nobody expects.
    """

    name: str
    block: int | None
    words: bool
    flagged: bool
    repeated: float
    squeezed: float
    special_run: int
    unexpected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    answers: tuple[Answer, ...]
    left_out: int = reported(default=0)


def observe(world: World) -> Seen:
    """Measure every answer; never decide."""
    facts = world.results.facts()
    gate = facts.gates.collapse or CollapseGate()
    records = facts.candidate.records
    chosen = [r for r in records if not gate.families or r.family in gate.families]
    measured = tuple(_measured(r, gate.scripts) for r in chosen)
    return Seen(answers=measured, left_out=len(records) - len(chosen))


def _measured(record: ResultRecord, scripts: Sequence[str]) -> Answer:
    text = f"{record.reasoning}\n{record.output}" if record.reasoning else record.output
    found = repetition(text)
    unexpected = 0.0
    if not text.isascii():
        expected = expected_scripts((record.prompt, record.reference or ""), record.language)
        unexpected = unexpected_share(text, expected | set(scripts))
    return Answer(
        name=f"{record.family}/{record.item}",
        block=record.seed,
        words=bool(text) and not text.isspace(),
        flagged=bool(record.flags),
        repeated=0.0 if found.framed else max(found.repeated, found.tail_repeated),
        squeezed=1.0 if found.framed else found.squeezed,
        special_run=found.special_run,
        unexpected=unexpected,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    whys = [_why(answer, limits) for answer in seen.answers]
    blocks: dict[int | None, list[tuple[Answer, str]]] = defaultdict(list)
    for answer, why in zip(seen.answers, whys, strict=True):
        blocks[answer.block].append((answer, why))
    void = [_share(b) for b in blocks.values() if _share(b) > limits.void_share]
    pooled = sum(_share(b, pooled=True) > limits.void_share for b in blocks.values())
    collapsed = len(whys) - whys.count("")
    code = "void" if void else "steady" if any(a.words for a in seen.answers) else "no_text"
    figures = {
        "answers": (len(whys), "1"),
        "collapsed": (collapsed, "1"),
        "blocks": (len(blocks), "1"),
        "blocks_void": (len(void), "1"),
        "blocks_pooled_void": (pooled, "1"),
        "worst_block": (max((_share(b) for b in blocks.values()), default=None), "ratio"),
        "left_out": (seen.left_out or None, "1"),
    }
    details = (
        f"{collapsed} of {len(whys)}",
        f"{len(void)} of {len(blocks)} blocks void" if len(blocks) > 1 else "",
        f"a budget pooled with other flags would void {pooled}" if pooled > len(void) else "",
    )
    return ANSWERS.say(code, *details, figures=figures, evidence=_named(seen.answers, whys))


def _why(answer: Answer, limits: Limits) -> str:
    reasons = (
        ("loop", answer.repeated > limits.repeated_trigrams),
        ("special token", answer.special_run > limits.special_run),
        ("alphabet", answer.unexpected > limits.unexpected_script),
        ("packs to nothing", answer.squeezed > limits.squeezed),
    )
    return next((why for why, holds in reasons if holds), "")


def _share(block: Sequence[tuple[Answer, str]], *, pooled: bool = False) -> float:
    hit = sum(bool(why) or (pooled and answer.flagged) for answer, why in block)
    return hit / len(block)


def _named(answers: Sequence[Answer], whys: Sequence[str]) -> tuple[str, ...]:
    hit = [(a, why) for a, why in zip(answers, whys, strict=True) if why]
    kinds = Counter(why for _, why in hit)
    lines = [f"{why}: {n}" for why, n in kinds.most_common()]
    for a, why in hit[:NAMED_MAX]:
        where = printable(a.name, 80)
        lines.append(f"{where}, seed {a.block}: {why}, {a.repeated:.0%} repeated")
    return tuple(lines)


_WORDS: Final = tuple(f"word{n}" for n in range(400))
_GOOD: Final = " ".join(_WORDS[:60]) + "."
_CITIES: Final = (
    "Lisbon",
    "Porto",
    "Braga",
    "Faro",
    "Evora",
    "Coimbra",
    "Aveiro",
    "Leiria",
    "Beja",
)
_FRAME: Final = "\n".join(f"- {city} is one of the cities that I like a lot." for city in _CITIES)
_COUNTING: Final = "\n".join(f"{n}. I open the door and I look." for n in range(40))


def controls(limits: Limits) -> Iterable[Control]:
    """Good text and frames first, then each kind of collapse on both sides of its limit."""
    budget = int(limits.void_share * 20)
    yield _control("good", "steady", [_GOOD] * 20)
    yield _control("a list, a table, code", "steady", [_FRAME] * 20)
    yield _control("short and flagged", "steady", ["Lisbon."] * 20, flags=("too_short",))
    yield _control("within budget", "steady", _mixed(_COUNTING, budget))
    yield _control("over budget", "void", _mixed(_COUNTING, budget + 1))
    yield _control("repeats less", "steady", [_repeating(limits.repeated_trigrams - 0.03)] * 20)
    yield _control("repeats more", "void", [_repeating(limits.repeated_trigrams + 0.03)] * 20)
    for name, code, run in (("some", "steady", 0), ("too many", "void", 1)):
        text = f"{_GOOD}{'<pad>' * (limits.special_run + run)}"
        yield _control(f"{name} special tokens", code, [text] * 20)
    for name, code, share in (("few", "steady", 0.8), ("many", "void", 1.2)):
        yield _control(f"{name} strange letters", code, [_cyrillic(limits, share)] * 20)
        yield _control(f"{name} letters without blanks", code, [_packed(limits, share)] * 20)
    yield _control("asked in Russian", "steady", ["\u043c\u0438\u0440"] * 20, language="ru")
    yield _control("after good text", "void", [f"{' '.join(_WORDS)} {'and no more ' * 60}"] * 20)
    yield _control("nothing", "no_text", [""] * 20)
    allowed = Gates(collapse=CollapseGate(scripts=["cyrillic"]))
    yield _control("named alphabet", "steady", ["\u043c\u0438\u0440"] * 20, gates=allowed)


def _mixed(bad: str, count: int) -> list[str]:
    return [bad] * count + [_GOOD] * (20 - count)


def _repeating(share: float) -> str:
    """Text of which so many trigrams stood there before: a phrase between words that are new."""
    again = round(200 * share)
    return " ".join((*_WORDS[: 200 - again], *("so it is" for _ in range(again // 3))))


def _cyrillic(limits: Limits, share: float) -> str:
    strange = round(1000 * limits.unexpected_script * share)
    return " ".join(("\u0436" * strange, _latin(1000 - strange)))


def _latin(letters: int) -> str:
    alphabet = "etaoinshrdlucmfwypvbgk"
    return " ".join(
        alphabet[n % 22] + alphabet[n // 22 % 22] + alphabet[(n * 7 + 3) % 22] + alphabet[n % 19]
        for n in range(letters // 4)
    )


def _packed(limits: Limits, share: float) -> str:
    """A line without blanks that packs as many times shorter."""
    text = "".join(_WORDS[:40])
    while squeezed(text) < limits.squeezed * share:
        text += "!" * 50
    return text


def _control(name: str, code: str, outputs: Sequence[str], **more: Any) -> Control:
    gates = more.pop("gates", Gates())
    records = [record(n, text, seed=n // 20, **more) for n, text in enumerate(outputs)]
    facts = result_facts(arm(records), gates=gates)
    return ANSWERS.control(name, code, result_world(facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="collapse",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        deadline_s=60.0,
        reads=("results",),
        runbook=__doc__ or "",
    )
