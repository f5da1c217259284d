"""Fail when outputs repeat a corpus word for word, at length.

Every output, and the reasoning beside it, is held against the whole corpus: the longest run of
characters that stands there exactly, most whole words in one such run, and the share of all text in
any. In the same pass go texts whose overlap is known: an excerpt of the corpus, half of one, one
that was put behind its last byte, an unrelated one, an empty one. Unless all of them come out
right, a zero counts for nothing (playbook 4.6.2).

Blind spot: text that was changed by a letter or a blank is another text unless the spec asks for
``case_and_blanks``; a prompt that quotes the corpus and is repeated in the answer counts; runs
below the floor are not looked for. Sayings and licences stand in every corpus: look at the place.

When it fires: its lines name the output, the run and where in the corpus it stands. Look
whether that text occurs many times there (deduplicate), and what the untuned model does: its
figures stand beside.

If it says `scan_not_trusted`: this is a fault of the scan, not of the model: report it.

If it says `floor_over_limit`: lower `min_chars`, or raise the limit.

If it says `corpus_unreadable`, `corpus_empty`: see that `corpus` names files that can be read, and
`field` the key that holds their text.

If it says `too_slow`: give it more time (`deadline_s`), or a part of the corpus.

If it says `no_outputs`: there is no answer to look at: see whether `records.fields.output` names
the field that holds it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

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
from pfid.spec.ports.overlap import ArmOverlap, KnownOverlap, OverlapFacts, Quoted
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.memorisation import MemorisationGate

PROBLEMS: Final = {
    "corpus_unreadable": "the corpus cannot be read",
    "corpus_empty": "the corpus holds no text, or too little to try the scan on itself",
    "too_slow": "the corpus was not read to its end before the deadline",
}
KINDS: Final = frozenset({"identical", "half", "last", "unrelated", "empty"})
ANSWERS: Final = Answers(
    {
        "little_verbatim": (Outcome.PASS, "no output repeats the corpus at length"),
        "long_verbatim": (Outcome.FAIL, "an output repeats the corpus word for word, at length"),
        "much_verbatim": (Outcome.FAIL, "much of the outputs stands in the corpus word for word"),
        "scan_not_trusted": (
            Outcome.UNKNOWN,
            "texts whose overlap is known did not come out right: no zero of this scan counts",
        ),
        "floor_over_limit": (
            Outcome.UNKNOWN,
            "runs as long as the limit are not looked for: lower min_chars, or raise the limit",
        ),
        **{code: (Outcome.UNKNOWN, sentence) for code, sentence in PROBLEMS.items()},
        "no_outputs": (Outcome.UNKNOWN, "there is no text to hold against the corpus"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no corpus"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is long, and what is much."""

    longest_max_chars: int = limit(200, unit="characters", factor=1.5)
    share_max: float = limit(0.05, unit="share", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the scan found.

    Attributes:
        asked: whether a corpus is named.
        problem: why there is nothing to judge.
        trusted: whether every known overlap was found as it is.
        floor_chars: shorter runs were not looked for.
        chars: of all outputs.
        longest_chars: the longest run.
        share: of all text that stands in the corpus.
        rest: further figures.
        said: where, and what was read.
    """

    asked: bool
    problem: str
    trusted: bool
    floor_chars: int
    chars: int
    longest_chars: int
    share: float
    rest: Mapping[str, tuple[float | None, str]] = reported(default_factory=dict)
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read; never decide."""
    asked = world.results.facts().gates.memorisation is not None
    looked = world.overlap.facts()
    facts = looked if looked is not None else OverlapFacts(problem="corpus_unreadable")
    here, there = facts.candidate, facts.baseline
    known = {one.kind for one in facts.known}
    return Seen(
        asked=asked,
        problem=facts.problem,
        trusted=known >= KINDS and all(k.found_chars == k.expected_chars for k in facts.known),
        floor_chars=facts.min_chars,
        chars=here.chars,
        longest_chars=_longest(here),
        share=_share(here),
        rest={
            "longest_words": (float(max((q.words for q in here.worst), default=0)), "words"),
            "quoting_outputs": (float(here.quoting), "1"),
            "outputs": (float(here.outputs), "1"),
            "baseline_longest_chars": (None if there is None else float(_longest(there)), "1"),
            "baseline_share": (None if there is None else _share(there), "share"),
            "corpus_bytes": (float(facts.corpus_bytes), "bytes"),
            "bad_bytes": (float(facts.bad_bytes), "1"),
            "bad_lines": (float(facts.bad_lines), "1"),
        },
        said=tuple(_said(facts)),
    )


def _longest(held: ArmOverlap) -> int:
    return max((one.chars for one in held.worst), default=0)


def _share(held: ArmOverlap) -> float:
    return held.covered_chars / held.chars if held.chars else 0.0


def _said(facts: OverlapFacts) -> Iterable[str]:
    if facts.detail:
        yield facts.detail
    for one in facts.candidate.worst:
        yield f"{one.item}: {one.chars} characters, {one.words} whole words: {one.place}"
    for known in facts.known:
        if known.found_chars != known.expected_chars:
            yield f"known text {known.kind}: {known.found_chars}, not {known.expected_chars}"
    how = "as it stands" if facts.normalise == "none" else "in lower case, one blank for many"
    yield (
        f"{facts.files} files, {facts.corpus_bytes} bytes, compared {how}; "
        f"runs of {facts.min_chars} characters and more; left out: {facts.left_out} files that are "
        f"no text, {facts.bad_lines} lines; {facts.bad_bytes} places that are no UTF-8"
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.asked),
        (seen.problem, bool(seen.problem)),
        ("no_outputs", seen.chars < 1),
        ("scan_not_trusted", not seen.trusted),
        ("floor_over_limit", seen.floor_chars > limits.longest_max_chars),
        ("long_verbatim", seen.longest_chars > limits.longest_max_chars),
        ("much_verbatim", seen.share > limits.share_max),
    )
    code = next((code for code, holds in doubts if holds), "little_verbatim")
    if not seen.asked:
        return ANSWERS.say(code)
    figures = {
        "longest_chars": (float(seen.longest_chars), "characters"),
        "share": (seen.share, "share"),
        "floor_chars": (float(seen.floor_chars), "characters"),
        **seen.rest,
    }
    return ANSWERS.say(code, figures=figures, evidence=seen.said)


def controls(limits: Limits) -> Iterable[Control]:
    """Either side of both limits, a scan that cannot be trusted, and every way not to look."""
    most, much = limits.longest_max_chars, limits.share_max
    fine = OverlapFacts(
        corpus_bytes=9_000_000,
        files=3,
        min_chars=50,
        known=tuple(_known()),
        candidate=_arm(0, 0.0),
        baseline=_arm(0, 0.0),
    )
    cases: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("never saw it", "little_verbatim", {}),
        ("as long as may be", "little_verbatim", {"candidate": _arm(most, 0.9 * much)}),
        ("longer", "long_verbatim", {"candidate": _arm(most + 1, 0.9 * much)}),
        ("much in short runs", "much_verbatim", {"candidate": _arm(most, 1.1 * much)}),
        ("all memorised", "long_verbatim", {"candidate": _arm(100_000, 1.0)}),
        ("floor at the limit", "little_verbatim", {"min_chars": most}),
        ("floor over the limit", "floor_over_limit", {"min_chars": most + 1}),
        ("empty answers", "no_outputs", {"candidate": ArmOverlap(outputs=5)}),
        ("excerpt not found", "scan_not_trusted", {"known": tuple(_known(identical=0))}),
        ("not read to its end", "scan_not_trusted", {"known": tuple(_known(last=0))}),
        ("finds what is not there", "scan_not_trusted", {"known": tuple(_known(unrelated=60))}),
        ("tried on nothing", "scan_not_trusted", {"known": ()}),
        ("not tried to its end", "scan_not_trusted", {"known": tuple(_known())[:2]}),
        *((code, code, {"problem": code}) for code in PROBLEMS),
    )
    for name, code, changed in cases:
        yield _control(name, code, replace(fine, **changed))
    yield _control("not configured", "not_configured", None)


def _known(**found: int) -> Iterable[KnownOverlap]:
    expected = {"identical": 400, "half": 200, "last": 400, "unrelated": 0, "empty": 0}
    for kind, chars in expected.items():
        yield KnownOverlap(kind=kind, expected_chars=chars, found_chars=found.get(kind, chars))


def _arm(longest: int, share: float) -> ArmOverlap:
    worst = (Quoted(item="7", chars=longest, words=longest // 6, place="book.txt:120"),)
    covered = round(share * 1_000_000)
    return ArmOverlap(
        outputs=500,
        chars=1_000_000,
        covered_chars=covered,
        quoting=3,
        worst=worst if longest else (),
    )


def _control(name: str, code: str, overlap: Any) -> Control:
    gates = Gates(memorisation=None if overlap is None else MemorisationGate(corpus=["books"]))
    world = result_world(result_facts(arm([record(1)]), gates=gates), overlap=overlap)
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="memorisation",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("results", "overlap"),
        runbook=__doc__ or "",
    )
