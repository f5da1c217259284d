"""Fail when the records are not those of the evaluation that was declared: more, or not these.

A figure over the records that happened to arrive is a figure of another evaluation. Records are
counted against what the spec, or the log itself, says there should be. Fewer is unknown and keeps
every other judgement unknown; more means two runs in one file, or a record that came twice. Two
arms of which every answer is the same are one arm: no difference between them means anything. Nor
is one file that is given again a further run: it is read once, and what would be said of its
repeats is unknown. Another file that holds the same, byte for byte, may be either, a copy or a run
of a stack that answers the same each time: unknown too, unless its lines or the harness's results
file beside it say which run it is.

Blind spot: a count that nobody declared cannot be missed, and the right number of wrong records
looks whole. A copy in which one byte was changed passes for a run of its own.

When it fires: look at the bad records that its lines name. If repeats came without a number,
map `records.fields.seed` or `repeat`; if two runs were written into one file, give each its own; if
the evaluation was cut short, finish it. Then write the true count under `arms.candidate.declared`.
If both arms answer the same, look which file each is, and whether the adapter was loaded at all.

If it says `count_not_declared`: write how many records there should be under
`arms.candidate.declared`, or of one run under `declared_per_run`; of two arms under `arms.baseline`
too.

If it says `records_missing`: finish the evaluation, or give the files that are missing; records
that cannot be judged are named in its lines and count as missing.

If it says `records_bad`: mend what is named in its lines, then write how many records there should
be under `arms.candidate.declared`.

If it says `no_records`: see whether the file is the right one, and whether `records.fields` names
its fields.

If it says `file_given_twice`: give each file once: what is needed are runs that were really made
again, each with its own file.

If it says `files_alike`: if they are one run, give it once. If they are runs that were really made
again, the stack answers the same each time: its jitter is none, and one of the files says all. To
have them judged as runs, write into each line which run it is of and map `records.fields.repeat`;
of lm-evaluation-harness give the folder with its `results_DATE.json`.

If it says `arms_alike`: look which file each arm is, and whether the adapter was loaded at all.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
    reported,
)
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.results import Arm, BadRecord, Doubt, ResultFacts

ANSWERS: Final = Answers(
    {
        "records_complete": (Outcome.PASS, "every record that was declared is there"),
        "records_too_many": (
            Outcome.FAIL,
            "there are more records, good and bad, than were declared",
        ),
        "records_missing": (Outcome.UNKNOWN, "there are fewer good records than were declared"),
        "file_given_twice": (
            Outcome.UNKNOWN,
            "one and the same file was given more than once: its answers are no further run",
        ),
        "files_alike": (
            Outcome.UNKNOWN,
            "files are the same, byte for byte: one run given twice, or a stack that never varies",
        ),
        "records_bad": (
            Outcome.UNKNOWN,
            "some records cannot be judged, and no count was declared",
        ),
        "no_records": (Outcome.UNKNOWN, "there is not one record that can be judged"),
        "arms_alike": (
            Outcome.UNKNOWN,
            "every answer is the same in both arms: one file twice, or a change never applied",
        ),
        "count_not_declared": (Outcome.UNKNOWN, "nobody says how many records there should be"),
    }
)
ORDER: Final = (
    Doubt.COPIED,
    Doubt.TWINS,
    Doubt.TOO_MANY,
    Doubt.NO_RECORDS,
    Doubt.MISSING,
    Doubt.BAD,
    Doubt.NOT_DECLARED,
)
"""The one that says most first, of two arms."""
SHOWN: Final = 20
EVIDENCE_CHARS: Final = 300
ALIKE_MIN: Final = 2
"""One answer that is the same in both arms shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was counted, candidate first."""

    doubts: tuple[Doubt, ...]
    alike: bool
    counts: tuple[tuple[str, int, int, int | None], ...] = reported()
    bad: tuple[BadRecord, ...] = reported(default=())
    copies: tuple[str, ...] = reported(default=())
    swapped: bool = reported(default=False)


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.results.facts()
    arms = [facts.candidate, *([facts.baseline] if facts.baseline is not None else [])]
    return Seen(
        doubts=tuple(a.doubt for a in arms),
        alike=facts.baseline is not None and _alike(facts.candidate, facts.baseline),
        swapped=_swapped(facts),
        counts=tuple((a.name, len(a.records), a.bad_total, a.declared) for a in arms),
        bad=tuple(bad for a in arms for bad in a.bad),
        copies=tuple(copy for a in arms for copy in (*a.copies, *a.twins)),
    )


def _alike(candidate: Arm, baseline: Arm) -> bool:
    """Whether every question of both was answered word for word the same."""
    ours, theirs = _answers(candidate), _answers(baseline)
    both = ours.keys() & theirs.keys()
    return len(both) >= ALIKE_MIN and all(ours[key] == theirs[key] for key in both)


def _answers(held: Arm) -> dict[tuple[str, str, int | None, int], tuple[str, str]]:
    return {(r.family, r.item, r.seed, r.repeat): (r.reasoning, r.output) for r in held.records}


def _swapped(facts: ResultFacts) -> bool:
    """Whether what is the candidate now was the baseline of the earlier judgement, and back."""
    base = facts.baseline
    if base is None or facts.previous is None:
        return False
    return facts.previous.digest == f"{base.digest}+{facts.candidate.digest}"


def judge(seen: Seen, limits: object) -> Verdict:
    """Decide, purely."""
    del limits
    doubt = next((d for d in ORDER if d in seen.doubts), Doubt.NONE)
    code = doubt.value or "records_complete"
    if seen.alike and doubt in (Doubt.NONE, Doubt.NOT_DECLARED):
        code = "arms_alike"
    figures: dict[str, tuple[float | None, str]] = {}
    for place, (_, good, bad, declared) in zip(
        ("candidate", "baseline"), seen.counts, strict=False
    ):
        figures |= {
            f"{place}_records": (good, "1"),
            f"{place}_bad": (bad, "1"),
            f"{place}_declared": (declared, "1"),
        }
    said = [
        f"{name or 'arm'}: {good} of {'?' if declared is None else declared}, {bad} bad"
        for name, good, bad, declared in seen.counts
    ]
    if seen.swapped:
        said.append("the arms stand the other way round than in the earlier judgement")
    return ANSWERS.say(code, *said, figures=figures, evidence=_evidence(seen))


def _evidence(seen: Seen) -> tuple[str, ...]:
    """How many of each kind, then the first of them with their places."""
    kinds = Counter(bad.reason for bad in seen.bad)
    lines = [printable(copy, EVIDENCE_CHARS) for copy in seen.copies[:SHOWN]]
    lines += [f"{n} x {printable(reason, 60)}" for reason, n in kinds.most_common()]
    for bad in seen.bad[:SHOWN]:
        detail = f": {bad.detail}" if bad.detail else ""
        lines.append(printable(f"{bad.place}: {bad.reason}{detail}", EVIDENCE_CHARS))
    left = sum(bad for _, _, bad, _ in seen.counts) - min(len(seen.bad), SHOWN)
    return (*lines, *((f"and {left} more",) if left > 0 else ()))


def controls(limits: object) -> Iterable[Control]:
    """A whole evaluation first, then each doubt of the candidate, and of the baseline."""
    del limits
    ten = [record(i) for i in range(10)]
    bad = BadRecord(place="r.jsonl:3", reason="not_json", detail="Expecting value")
    yield _control("whole", "records_complete", arm(ten))
    yield _control("one more", "records_too_many", arm([*ten, record(10)], declared=10))
    twice = BadRecord(place="r.jsonl:11", reason="duplicate")
    yield _control("one twice", "records_too_many", arm(ten, bad=(twice,), bad_total=1))
    again = "r2.jsonl holds, byte for byte, what r1.jsonl holds"
    yield _control("a copy as a run", "file_given_twice", arm(ten, copies=(again,)))
    yield _control("the same under two names", "files_alike", arm(ten, twins=(again,)))
    yield _control("both", "file_given_twice", arm(ten, copies=(again,), twins=(again,)))
    yield _control("a copy, and bad", "file_given_twice", arm(
        ten, declared=20, copies=(again,), bad=(bad,), bad_total=1))  # fmt: skip
    copied = arm(ten, "baseline", copies=(again,))
    yield _control("a copy in the baseline", "file_given_twice", arm(ten), copied)
    yield _control("one less", "records_missing", arm(ten[:9], declared=10))
    broken = arm(ten[:9], declared=10, bad=(bad,), bad_total=1)
    yield _control("one broken", "records_missing", broken)
    unsaid = arm(ten, declared=None, bad=(bad,), bad_total=1)
    yield _control("broken and undeclared", "records_bad", unsaid)
    yield _control("nothing", "no_records", arm([], declared=10))
    yield _control("undeclared", "count_not_declared", arm(ten, declared=None))
    other = arm([record(i, f"Porto {i}.") for i in range(10)], "baseline")
    yield _control("both arms", "records_complete", arm(ten), other)
    nine = arm([*ten[:9], record(9, "Porto.")], "baseline")
    yield _control("both arms but for one answer", "records_complete", arm(ten), nine)
    yield _control("one file twice", "arms_alike", arm(ten), arm(ten, "baseline"))
    unsaid = arm(ten, "baseline", declared=None)
    yield _control("one file twice, undeclared", "arms_alike", arm(ten), unsaid)
    yield _control("one lone answer", "records_complete", arm(ten[:1]), arm(ten[:1], "baseline"))
    yield _control("baseline short", "records_missing", arm(ten), arm(ten[:9], declared=10))


def _control(name: str, code: str, candidate: Arm, baseline: Arm | None = None) -> Control:
    return ANSWERS.control(name, code, result_world(result_facts(candidate, baseline)))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="records_complete",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("results",),
        runbook=__doc__ or "",
    )
