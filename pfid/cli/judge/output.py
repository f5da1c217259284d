"""How a judgement looks: JSON, a table, and below it what was seen, and what cannot be."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import click

from pfid.analysis.lost_items import expected_scores, lacks_score
from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.stage_judging import Judged
from pfid.cli.judged_text import print_figures, print_judged, print_outcome
from pfid.cli.output import facts, say, table
from pfid.cli.shapes import verdict_json, verdicts_json
from pfid.cli.times import rfc3339
from pfid.domain.outcome import Outcome
from pfid.spec.ports.results import Arm, PreviousResult, ResultFacts, compared

NAMES_SHOWN: Final = 8
SCORES_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOfArm:
    """One metric over an arm.

    Attributes:
        mean: over the records that have it; None if none has.
        n: how many have it.
        unscored: how many should and do not.
    """

    mean: float | None
    n: int
    unscored: int


def judge_json(evaluation: Evaluation, judged: Sequence[Judged]) -> dict[str, Any]:
    """The object that ``pfid judge --json`` prints."""
    results = evaluation.results
    base = results.baseline
    shown = verdicts_json(j.view for j in judged)
    return {
        "name": evaluation.name,
        "formats": list(evaluation.formats),
        "candidate": _arm_json(results.candidate, results),
        "baseline": base and _arm_json(base, results),
        "previous": _previous_json(results.previous),
        "previous_problem": results.previous_problem or None,
        "verdicts": [
            {
                **verdict_json(j.view),
                "required": j.required,
                "cannot_see": j.blind_spot,
                "remedy": j.remedy,
                "evidence": list(j.evidence),
            }
            for j in judged
        ],
        "summary": shown["summary"],
    }


def _arms(results: ResultFacts) -> list[Arm]:
    return [results.candidate, *([results.baseline] if results.baseline is not None else [])]


def _arm_json(arm: Arm, results: ResultFacts) -> dict[str, Any]:
    return {
        "name": arm.name,
        "records": len(arm.records),
        "declared": arm.declared,
        "bad": arm.bad_total,
        "bad_records": [
            {"place": b.place, "reason": b.reason, "detail": b.detail} for b in arm.bad
        ],
        "families": sorted({r.family for r in arm.records if r.family}),
        "seeds": sorted({r.seed for r in arm.records if r.seed is not None}),
        "repeats": len({r.repeat for r in arm.records}),
        "instrument": arm.instrument,
        "digest": arm.digest,
        "scores": scores_of(arm, results),
    }


def _previous_json(previous: PreviousResult | None) -> dict[str, Any] | None:
    if previous is None:
        return None
    return {
        "name": previous.name,
        "judged": rfc3339(previous.judged_at_s),
        "digest": previous.digest,
        "records": previous.records,
    }


def print_judgement(evaluation: Evaluation, judged: Sequence[Judged]) -> None:
    """Print what was judged, the verdicts, and what they cannot see."""
    facts([(name, value) for name, value in judged_facts(evaluation) if value])
    click.echo()
    print_judged(judged)
    print_figures(judged)
    _print_scores(evaluation.results)
    seeing = [j for j in judged if j.view.outcome is not Outcome.NOT_APPLICABLE and j.blind_spot]
    if seeing:
        click.echo()
        say("What these verdicts cannot see:")
    for j in seeing:
        say(f"{j.view.check}: {j.blind_spot}", begin="  ", indent="    ")
    print_outcome(judged, good="nothing: this evaluation passed all that its spec asks")


def _print_scores(results: ResultFacts) -> None:
    """What the records themselves say, an arm a column; no verdict.

    Below the verdicts: what each arm lost is said before anything is compared.
    """
    arms = _arms(results)
    scores = [scores_of(arm, results) for arm in arms]
    names = sorted({name for of in scores for name in of})
    if not names:
        return
    click.echo()
    rows = [(name, *(_score_text(of.get(name)) for of in scores)) for name in names[:SCORES_SHOWN]]
    table(("MEAN SCORE", *(arm.name for arm in arms)), rows)
    if len(names) > SCORES_SHOWN:
        say(f"and {len(names) - SCORES_SHOWN} more, which --json has")


def scores_of(arm: Arm, results: ResultFacts) -> dict[str, ScoreOfArm]:
    """Each metric over an arm; what any record of a kind of prompt has, each of it should have."""
    expected = expected_scores(one for of in _arms(results) for one in of.records)
    values: dict[str, list[float]] = {}
    lacking: Counter[str] = Counter()
    for record in arm.records:
        for name in sorted({*record.scores, *expected[record.family]}):
            value = record.scores.get(name)
            found = values.setdefault(name, [])
            if value is not None:
                found.append(value)
            else:
                lacking[name] += lacks_score(record, expected, (name,))
    return {
        name: ScoreOfArm(mean=fmean(of) if of else None, n=len(of), unscored=lacking[name])
        for name, of in sorted(values.items())
    }


def _score_text(score: ScoreOfArm | None) -> str:
    if score is None:
        return "-"
    mean = "-" if score.mean is None else f"{score.mean:.4g}"
    lacking = f", {score.unscored} without" if score.unscored else ""
    return f"{mean} (n={score.n}{lacking})"


def judged_facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What was judged, a line a thing; "" where there is nothing to say."""
    results = evaluation.results
    base, previous = results.baseline, results.previous
    return [
        ("evaluation", evaluation.name),
        ("candidate", arm_text(results.candidate)),
        ("baseline", arm_text(base) if base is not None else "none given"),
        ("families", _families(results.candidate)),
        ("instruments", _instruments(results.candidate, base)),
        ("run before", _before(previous, results.previous_problem)),
    ]


def arm_text(arm: Arm) -> str:
    """Counts of an arm."""
    declared = "nobody says of how many" if arm.declared is None else f"of {arm.declared}"
    seeds = len({r.seed for r in arm.records if r.seed is not None})
    repeats = len({r.repeat for r in arm.records})
    return ", ".join(
        part
        for part in (
            f"{arm.name}: {len(arm.records)} records {declared}",
            f"{arm.bad_total} bad" if arm.bad_total else "",
            f"{seeds} seeds" if seeds else "",
            f"{repeats} repeats" if repeats > 1 else "",
        )
        if part
    )


def _families(arm: Arm) -> str:
    names = sorted({r.family for r in arm.records if r.family})
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _instruments(candidate: Arm, base: Arm | None) -> str:
    if base is None:
        return ""
    found = compared(candidate.instrument, base.instrument)
    if found.differs:
        return f"not the same: {', '.join(found.differs)}"
    return (
        f"cannot be compared, unknown: {', '.join(found.unknown)}" if found.unknown else "the same"
    )


def _before(previous: PreviousResult | None, problem: str) -> str:
    if problem:
        return f"cannot be told: {problem}"
    if previous is None:
        return "none of this name was judged before"
    return f"judged {rfc3339(previous.judged_at_s)}, {previous.records} records"
