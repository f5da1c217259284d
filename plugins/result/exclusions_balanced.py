"""Fail when one arm loses more items to truncation or flags than the other.

What is lost is not lost at random: the longest answers hit the cap, the shortest are flagged. A
comparison over what is left compares different questions, so this is said before any comparison.
18 of 192 against 2 was carried through two runs, and called new the second time, because nobody
had read the record of the first (playbook 4.6.3): the earlier record is looked up here, and nothing
is called new without it.

Blind spot: items lost alike in both arms, and lost for opposite reasons, look balanced. A record
that tells neither how it ended nor any flag cannot be counted.

When it fires: compare over the items both arms kept, or raise the cap and run both again. It is a
property of the recipe rather than of this run where the earlier record has it too.
"""

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.proportion import Interval, difference
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
from pfid.spec.fakes_results import INSTRUMENT, arm, record, result_facts, result_world
from pfid.spec.ports.results import Arm, Instrument, PreviousResult, ResultFacts, compared
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.exclusions_balanced import ExclusionsGate

NAME: Final = "exclusions_balanced"
ANSWERS: Final = Answers(
    {
        "balanced": (Outcome.PASS, "both arms lost about as many items"),
        "lopsided": (
            Outcome.FAIL,
            "one arm lost more items than the other; no earlier record says whether that is new",
        ),
        "lopsided_again": (
            Outcome.FAIL,
            "one arm lost more items than the other, as the earlier record has it: nothing new",
        ),
        "lopsided_since": (
            Outcome.FAIL,
            "one arm lost more items than the other, and did not in the earlier record",
        ),
        "cannot_tell": (Outcome.UNKNOWN, "over so few items the arms cannot be told apart"),
        "losses_not_told": (
            Outcome.UNKNOWN,
            "the records of an arm say neither how answers ended nor what was flagged",
        ),
        "one_arm": (Outcome.NOT_APPLICABLE, "there is one arm and nothing to compare it with"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far the shares of lost items may lie apart, and how well that must be known."""

    gap_share: float = limit(0.02, unit="ratio", factor=1.5)
    unknown_gap_share: float = limit(0.10, unit="ratio", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at: lost and all items of each arm, now and in the earlier record."""

    told: bool
    candidate: tuple[int, int]
    baseline: tuple[int, int] | None
    earlier: tuple[int, int, int, int] | None
    earlier_at_s: float = reported(default=0.0)
    earlier_problem: str = reported(default="")
    earlier_foreign: str = reported(default="")


def observe(world: World) -> Seen:
    """Count; never decide."""
    facts = world.results.facts()
    gate = facts.gates.exclusions_balanced or ExclusionsGate()
    baseline = facts.baseline
    arms = (facts.candidate,) if baseline is None else (facts.candidate, baseline)
    foreign = _foreign(facts)
    return Seen(
        told=all(arm.records and _told(arm, gate) for arm in arms),
        candidate=_lost(facts.candidate, gate),
        baseline=_lost(baseline, gate) if baseline is not None else None,
        earlier=None if foreign else _earlier(facts),
        earlier_at_s=facts.previous.judged_at_s if facts.previous else 0.0,
        earlier_problem=facts.previous_problem,
        earlier_foreign=foreign,
    )


def _lost(arm: Arm, gate: ExclusionsGate) -> tuple[int, int]:
    lost = 0
    for held in arm.records:
        cut = gate.truncation and held.cut_off is True
        lost += cut or _flagged(held.flags, gate.flags)
    return lost, len(arm.records)


def _flagged(flags: Collection[str], counting: Collection[str]) -> bool:
    return any(f in counting for f in flags) if counting else bool(flags)


def _told(arm: Arm, gate: ExclusionsGate) -> bool:
    """Whether its records could have said that an item was lost."""
    ends = gate.truncation and any(r.cut_off is not None for r in arm.records)
    return ends or any(r.flags for r in arm.records)


def _foreign(facts: ResultFacts) -> str:
    """What the earlier record was measured with otherwise: another cap loses other items."""
    earlier, base = facts.previous, facts.baseline
    pairs = (
        (earlier.candidate if earlier else None, facts.candidate.instrument),
        (earlier.baseline if earlier else None, base.instrument if base else None),
    )
    differs = [name for a, b in pairs if a and b for name in compared(a, b).differs]
    return f"another instrument ({', '.join(dict.fromkeys(differs))})" if differs else ""


def _earlier(facts: ResultFacts) -> tuple[int, int, int, int] | None:
    held = facts.previous.figures.get(NAME, {}) if facts.previous is not None else {}
    names = ("candidate_lost", "candidate_items", "baseline_lost", "baseline_items")
    counts = [int(held.get(name, -1)) for name in names]
    sound = 0 <= counts[0] <= counts[1] and 0 <= counts[2] <= counts[3] and counts[1] and counts[3]
    return (counts[0], counts[1], counts[2], counts[3]) if sound else None


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    baseline = seen.baseline
    if baseline is None:
        return ANSWERS.say("one_arm")
    if not seen.told:
        return ANSWERS.say("losses_not_told")
    gap = difference(seen.candidate, baseline)
    share = _gap(seen.candidate, baseline)
    figures = {
        "candidate_lost": (seen.candidate[0], "1"),
        "candidate_items": (seen.candidate[1], "1"),
        "baseline_lost": (baseline[0], "1"),
        "baseline_items": (baseline[1], "1"),
        "gap_low": (gap.low, "ratio"),
        "gap": (share, "ratio"),
        "gap_high": (gap.high, "ratio"),
    }
    details = (_against(*seen.candidate, *baseline), _history(seen))
    return ANSWERS.say(_code(seen.earlier, gap, share, limits), *details, figures=figures)


def _code(
    earlier: tuple[int, int, int, int] | None, gap: Interval, share: float, limits: Limits
) -> str:
    if _apart(gap, limits):
        if earlier is None:
            return "lopsided"
        before = difference(earlier[:2], earlier[2:])
        same_side = (before.low > 0) == (gap.low > 0)
        return "lopsided_again" if _apart(before, limits) and same_side else "lopsided_since"
    unknown = max(-gap.low, gap.high) > limits.unknown_gap_share
    return "cannot_tell" if abs(share) > limits.gap_share or unknown else "balanced"


def _apart(gap: Interval, limits: Limits) -> bool:
    return gap.low > limits.gap_share or gap.high < -limits.gap_share


def _gap(one: tuple[int, int], other: tuple[int, int]) -> float:
    return one[0] / one[1] - other[0] / other[1]


def _against(lost: int, items: int, base_lost: int, base_items: int) -> str:
    return f"{lost} of {items} against {base_lost} of {base_items}"


def _history(seen: Seen) -> str:
    if seen.earlier_problem:
        return "the earlier record cannot be read, so nothing here can be called new"
    if seen.earlier_foreign:
        return f"the earlier record is of {seen.earlier_foreign} and is not compared with"
    if seen.earlier is None:
        return "no earlier record of this evaluation counts losses"
    day = dt.datetime.fromtimestamp(seen.earlier_at_s, dt.UTC).date()
    return f"earlier record of {day.isoformat()}: {_against(*seen.earlier)}"


def controls(limits: Limits) -> Iterable[Control]:
    """The playbook's 18 against 2 of 192, with and without a record of the run before."""
    many = 4000
    edge = int(limits.gap_share * many)
    yield _control("few in both", "balanced", (3, 192), (2, 192))
    yield _control("18 against 2", "lopsided", (18, 192), (2, 192))
    yield _control("1 against 17", "lopsided", (1, 192), (17, 192))
    yield _control("18 again", "lopsided_again", (18, 192), (2, 192), earlier=(18, 192, 1, 192))
    yield _control("18 the first time", "lopsided_since", (18, 192), (2, 192), (2, 192, 2, 192))
    yield _control("on the other side", "lopsided_since", (18, 192), (2, 192), (2, 192, 18, 192))
    yield _control("lost before, and not now", "balanced", (3, 192), (2, 192), (18, 192, 2, 192))
    far = replace(INSTRUMENT, max_tokens=9_000)
    yield _control(
        "18 of another cap", "lopsided", (18, 192), (2, 192), (18, 192, 2, 192), earlier_with=far
    )
    yield _control("just within", "balanced", (edge + 40, many), (40, many))
    yield _control("just beyond", "cannot_tell", (edge + 48, many), (40, many))
    yield _control("beyond all doubt", "lopsided", (int(1.6 * edge) + 40, many), (40, many))
    for name, code, n in (("enough items", "balanced", 1.1), ("five items", "cannot_tell", 0.8)):
        items = round(3.84 * (1 / limits.unknown_gap_share - 1) * n)
        yield _control(name, code, (0, items), (0, items))
    yield _control("nothing told", "losses_not_told", (0, 192), (2, 192), told=False)
    alone = result_world(result_facts(_arm(18, 192)))
    yield ANSWERS.control("one arm", "one_arm", alone)


def _control(
    name: str,
    code: str,
    candidate: tuple[int, int],
    baseline: tuple[int, int],
    earlier: tuple[int, int, int, int] | None = None,
    **more: Any,
) -> Control:
    measured = more.get("earlier_with", INSTRUMENT)
    facts = result_facts(
        _arm(*candidate, told=more.get("told", True)),
        _arm(*baseline, name="baseline"),
        previous=_previous(earlier, measured) if earlier else None,
        gates=Gates(exclusions_balanced=ExclusionsGate(flags=["too_short"])),
    )
    return ANSWERS.control(name, code, result_world(facts))


def _arm(lost: int, items: int, *, name: str = "candidate", told: bool = True) -> Arm:
    """Half of what is lost was cut off, half flagged; a flag that does not count loses nothing."""
    ended = "stop" if told else None
    cut = [record(n, finish_reason="length") for n in range(lost // 2)]
    short = [record(n, finish_reason=ended, flags=("too_short",)) for n in range(lost // 2, lost)]
    kept = [record(n, finish_reason=ended) for n in range(lost, items - 1)]
    noted = record(items, finish_reason=ended, flags=("noted",) if told else ())
    return arm([*cut, *short, *kept, noted], name)


def _previous(counts: tuple[int, int, int, int], measured: Instrument) -> PreviousResult:
    names = ("candidate_lost", "candidate_items", "baseline_lost", "baseline_items")
    figures = {NAME: dict(zip(names, map(float, counts), strict=True))}
    return PreviousResult(
        name="control",
        judged_at_s=1_787_000_000.0,
        figures=figures,
        candidate=measured,
        baseline=measured,
    )


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name=NAME,
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        deadline_s=20.0,
        reads=("results",),
        runbook=__doc__ or "",
    )
