"""Fail when one arm loses more items to truncation, flags or missing scores than the other.

What is lost is not lost at random: the longest answers hit the cap, the shortest are flagged, the
strangest cannot be scored. A comparison over what is left compares different questions, so this is
said before any comparison.
18 of 192 against 2 was carried through two runs, and called new the second time, because nobody
had read the record of the first (playbook 4.6.3): the earlier record is looked up here, and nothing
is called new without it.

An answer of which nobody says how it ended may have been cut off: unless the verdict is the same
whether it was or not, it is unknown.

Blind spot: items lost alike in both arms, and lost for opposite reasons, look balanced. A metric
that no record of a kind of prompt has, in neither arm, is not missed.

When it fires: compare over the items both arms kept, or raise the cap and run both again. It is a
property of the recipe rather than of this run where the earlier record has it too.

If it says `cannot_tell`: run more items, until the interval of the difference lies on one side of
the limit.

If it says `losses_not_told`: map `records.fields.finish_reason`, or `output_tokens` and
`cap_tokens`; where an answer that the cap ended is not lost, say `truncation = false`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.lost_before import against, earlier_losses
from pfid.analysis.lost_items import (
    Expected,
    Losses,
    expected_scores,
    lost_items,
)
from pfid.analysis.lost_sides import Counts, Gaps, Side, side_however_ended, side_of
from pfid.analysis.proportion import difference
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
from pfid.spec.ports.results import Arm, Instrument, PreviousResult
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
            "too many records of an arm say neither how they ended nor what took them out",
        ),
        "one_arm": (Outcome.NOT_APPLICABLE, "there is one arm and nothing to compare it with"),
    }
)
DOUBTS: Final = {
    Side.NEITHER: "balanced",
    Side.CANNOT_TELL: "cannot_tell",
    Side.NOT_TOLD: "losses_not_told",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far the shares of lost items may lie apart, and how well that must be known."""

    gap_share: float = limit(0.02, unit="ratio", factor=1.5)
    unknown_gap_share: float = limit(0.10, unit="ratio", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at: lost and all items of each arm, now and in the earlier record."""

    told: bool
    candidate: Losses
    baseline: Losses | None
    earlier: Counts | None
    history: str = reported(default="")


def observe(world: World) -> Seen:
    """Count; never decide."""
    facts = world.results.facts()
    gate = facts.gates.exclusions_balanced or ExclusionsGate()
    baseline = facts.baseline
    arms = (facts.candidate,) if baseline is None else (facts.candidate, baseline)
    expected = expected_scores(one for arm in arms for one in arm.records)
    earlier = earlier_losses(facts, NAME)
    return Seen(
        told=all(arm.records and _told(arm, gate, expected) for arm in arms),
        candidate=lost_items(facts.candidate.records, gate, expected),
        baseline=lost_items(baseline.records, gate, expected) if baseline is not None else None,
        earlier=earlier.counts,
        history=earlier.said,
    )


def _told(arm: Arm, gate: ExclusionsGate, expected: Expected) -> bool:
    """Whether its records could have said that an item was lost."""
    ends = gate.truncation and any(r.cut_off is not None for r in arm.records)
    scores = gate.unscored and any(expected.values())
    return ends or scores or any(r.flags for r in arm.records)


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    ours, theirs = seen.candidate, seen.baseline
    if theirs is None:
        return ANSWERS.say("one_arm")
    if not seen.told:
        return ANSWERS.say("losses_not_told")
    counts = (ours.lost, ours.items, theirs.lost, theirs.items)
    gap = difference(counts[:2], counts[2:])
    figures = {
        **_figures("candidate", ours),
        **_figures("baseline", theirs),
        "gap_low": (gap.low, "ratio"),
        "gap": (ours.lost / ours.items - theirs.lost / theirs.items, "ratio"),
        "gap_high": (gap.high, "ratio"),
    }
    details = (against(counts), _why(ours, theirs), seen.history)
    code = _code(ours, theirs, seen.earlier, limits)
    evidence = (f"candidate: {ours.said}", f"baseline: {theirs.said}")
    return ANSWERS.say(code, *details, figures=figures, evidence=evidence)


def _figures(arm: str, losses: Losses) -> dict[str, tuple[float | None, str]]:
    return {
        f"{arm}_lost": (losses.lost, "1"),
        f"{arm}_items": (losses.items, "1"),
        f"{arm}_unscored": (losses.unscored, "1"),
        f"{arm}_untold": (losses.untold, "1"),
    }


def _code(ours: Losses, theirs: Losses, earlier: Counts | None, limits: Limits) -> str:
    gaps = Gaps(told=limits.gap_share, unknown=limits.unknown_gap_share)
    side = side_however_ended(ours, theirs, gaps)
    if side in DOUBTS:
        return DOUBTS[side]
    if earlier is None:
        return "lopsided"
    return "lopsided_again" if side_of(earlier, gaps) is side else "lopsided_since"


def _why(ours: Losses, theirs: Losses) -> str:
    """What is said of items that other checks leave out in silence."""
    said = []
    if ours.unscored or theirs.unscored:
        said.append(f"without a score {ours.unscored} against {theirs.unscored}")
    if ours.untold or theirs.untold:
        said.append(f"of {ours.untold} against {theirs.untold} nobody says how they ended")
    return ", ".join(said)


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
    yield _control(
        "endings do not count", "losses_not_told", (0, 192), (0, 192), told=False, truncation=False
    )
    yield _control("few without a score", "balanced", (2, 192), (1, 192), by="score")
    yield _control("18 without a score", "lopsided", (18, 192), (2, 192), by="score")
    yield _control("2 of both do not say how they ended", "balanced", (3, 192), (2, 192), untold=2)
    yield _control("38 do not say", "losses_not_told", (3, 192), (2, 192), untold=38)
    yield _control(
        "18 flagged, 150 do not say", "lopsided", (18, 192), (2, 192), by="flag", untold=150
    )
    yield _control(
        "18 cut off, 150 do not say", "losses_not_told", (18, 192), (2, 192), by="cap", untold=150
    )
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
    measured = more.pop("earlier_with", INSTRUMENT)
    gate = ExclusionsGate(flags=["too_short"], truncation=more.pop("truncation", True))
    facts = result_facts(
        _arm(*candidate, **more),
        _arm(*baseline, name="baseline", **more),
        previous=_previous(earlier, measured) if earlier else None,
        gates=Gates(exclusions_balanced=gate),
    )
    return ANSWERS.control(name, code, result_world(facts))


_LOST: Final[Mapping[str, dict[str, Any]]] = {
    "cap": {"finish_reason": "length"},
    "flag": {"flags": ("too_short",)},
    "score": {"scores": {"f1": None}},
}


def _arm(
    lost: int,
    items: int,
    *,
    name: str = "candidate",
    told: bool = True,
    by: str = "",
    untold: int = 0,
) -> Arm:
    """Half of what is lost was cut off, half flagged; a flag that does not count loses nothing."""
    whole: dict[str, Any] = {"finish_reason": "stop", "flags": ("noted",), "scores": {"f1": 0.5}}
    if not told:
        whole = {}
    ways = [by or ("cap" if n < lost // 2 else "flag") for n in range(lost)]
    gone = [record(n, **{**whole, **_LOST[way]}) for n, way in enumerate(ways)]
    silent = [record(n, **{**whole, "finish_reason": None}) for n in range(lost, lost + untold)]
    kept = [record(n, **whole) for n in range(lost + untold, items)]
    return arm([*gone, *silent, *kept], name)


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
