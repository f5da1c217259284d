"""Fail when a trip point lies where the serving stack's own jitter reaches, or seeds do nothing.

The same seeds, weights and settings, run again, give another rate: batching changes with load. A
guard whose trip point sits inside that band flips from run to run, and honest observers disagree
(playbook 4.6.3.1). Runs of one seed give the stack's jitter, runs of other seeds the model's own
spread; the two are never pooled, and what chance alone would make stands beside them.

Whether seeds were taken is asked of the outputs (pfid.analysis.seed_effect): seeds that never were
pass with a chance of one in a thousand at most. Where that cannot be shown, nor the opposite, the
verdict is unknown and says how many items would tell.

Blind spot: a jitter measured at one load says nothing about another. Three runs know a standard
deviation poorly; more repeats know it better. An output cut to a few words hides whether a seed
was taken. One seed alone cannot show that it was: there is no other to hold its runs against, and
only repeats that part at their very first letters show that it was not. Repeats that were all made
at one time, each seed at its own, look alike for that reason too.

When it fires: move the trip point by the distance named, away from the rate; do not try to make the
guard deterministic. If seeds were not taken, look whether the flag is handed on to the engine, and
whether decoding is greedy: then other seeds are no further samples.

If it says `seed_not_taken`: look whether the seed is handed on to the engine, and whether decoding
is greedy: then other seeds are no further samples.

If it says `too_few_repeats`: run the same seed again: three runs of it, each in its own file.

If it says `seeds_untold`: its lines say how many more items would tell whether the seeds were
taken.

If it says `runs_differ`: run again with one cap, one decoding and one serving stack.

If it says `records_left_out`, `rate_missing`: see that every record names its seed
(`records.fields.seed`) and has a score of the metric (`records.fields.scores`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Final

from pfid.analysis.rates import Count, spread
from pfid.analysis.result_rates import SINGLE_SEED_ITEMS_MIN, seed_margin
from pfid.analysis.seed_effect import LEVEL, SeedEffect, Seeds, outputs_by_seed, seed_effect
from pfid.analysis.trip_points import counted, pp, words_of
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
from pfid.spec.result_gates.trip_point_outside_jitter import TripPoint, TripPointGate

ANSWERS: Final = Answers(
    {
        "outside_jitter": (Outcome.PASS, "every trip point is outside the stack's own jitter"),
        "inside_jitter": (Outcome.FAIL, "a trip point is inside the stack's own jitter: it flips"),
        "seed_not_taken": (
            Outcome.FAIL,
            "outputs do not depend on the seed: runs of other seeds are no further samples",
        ),
        "seeds_untold": (
            Outcome.UNKNOWN,
            "the outputs do not show whether the seeds were taken",
        ),
        "too_few_repeats": (Outcome.UNKNOWN, "too few runs of the same seed to know the jitter"),
        "runs_differ": (
            Outcome.UNKNOWN,
            "the runs were not measured alike: their spread is not the stack's jitter",
        ),
        "records_left_out": (
            Outcome.UNKNOWN,
            "too many records have no score or no seed: the rate is that of the others",
        ),
        "rate_missing": (Outcome.UNKNOWN, "no record that names its seed has a rate's metric"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no trip points"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far away is far enough, and what it takes to know that."""

    jitter_sds: float = limit(3.0, unit="sd", factor=1.5)
    repeats_min: int = limit(3, unit="runs", delta=1)
    seed_margin_min: float = limit(0.05, unit="share", factor=1.5)
    left_out_share: float = limit(0.05, unit="share", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was counted.

    Attributes:
        points: trip points that are named.
        mixed: fields of the instrument in which the runs were not measured alike.
        missing: those whose rate cannot be counted.
        repeats: runs of the same seed, in effect: one more than its degrees of freedom.
        distance_sds: from a rate to its trip point, in jitters, of the nearest; 0 if it is on it.
        seed_margin: of one seed alone, how alike its repeats begin; 1 if not known. Of several,
            how much more alike one seed's outputs are than two seeds'; ``seeds`` decides there.
        seeds: whether the outputs of several seeds show that they were taken: taken, not_taken,
            untold; "" for one seed alone.
        left_out: share of the records that a rate should be over and is not; the largest.
        figures: of the nearest.
        said: of each.
    """

    points: int
    mixed: tuple[str, ...]
    missing: int
    repeats: int
    distance_sds: float
    seed_margin: float
    seeds: str = ""
    left_out: float = 0.0
    figures: Mapping[str, tuple[float | None, str]] = reported(default_factory=dict)
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Count; never decide."""
    facts = world.results.facts()
    gate = facts.gates.trip_point_outside_jitter
    records = facts.candidate.records
    named = gate.points if gate is not None else []
    points = [counted(at, records) for at in named]
    known = [point for point in points if point.runs]
    nearest = min(known, key=lambda point: point.distance_sds, default=None)
    margin = seed_margin(records)
    effect = seed_effect(outputs_by_seed(records))
    return Seen(
        points=len(points),
        mixed=facts.candidate.mixed,
        missing=len(points) - len(known),
        repeats=min((p.repeats for p in known), default=0),
        distance_sds=nearest.distance_sds if nearest is not None else 0.0,
        seed_margin=1.0 if margin is None else margin,
        seeds=effect.seeds.value if effect is not None else "",
        left_out=max((p.left_out.rate for p in known), default=0.0),
        figures=nearest.figures if nearest is not None else {},
        said=(*(words_of(p) for p in points), *_untold(records, margin), *_told(effect)),
    )


def _untold(records: Iterable[ResultRecord], margin: float | None) -> Iterable[str]:
    """That nothing tells whether seeds were taken is said, where records name any."""
    if margin is None and any(one.seed is not None for one in records):
        yield (
            "whether the seed was taken cannot be told: it needs items answered under two seeds, "
            f"or {SINGLE_SEED_ITEMS_MIN} of them again under one"
        )


def _told(effect: SeedEffect | None) -> Iterable[str]:
    """What the outputs of several seeds say of them, and what would say more."""
    if effect is None:
        return
    yield (
        f"seeds {effect.seeds.value.replace('_', ' ')}: {effect.telling} of {effect.items} items "
        f"have outputs that differ; two seeds give the same text in {effect.same_share:.1%}; "
        f"seeds that were never taken would look so with a chance of {effect.chance:.2g} at most"
    )
    if effect.seeds is Seeds.UNTOLD:
        needed = "more" if effect.items_needed is None else f"about {effect.items_needed}"
        yield (
            f"to get below {LEVEL:g}: {needed} items whose outputs differ, under every seed, "
            "and two runs or more of at least one of them"
        )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("seed_not_taken", seen.seeds == Seeds.NOT_TAKEN.value),
        (
            "seed_not_taken",
            not seen.seeds and seen.seed_margin < limits.seed_margin_min,
        ),
        ("not_configured", seen.points < 1),
        ("runs_differ", bool(seen.mixed)),
        ("rate_missing", seen.missing > 0),
        ("records_left_out", seen.left_out > limits.left_out_share),
        ("too_few_repeats", seen.repeats < limits.repeats_min),
        ("inside_jitter", seen.distance_sds <= limits.jitter_sds),
        ("seeds_untold", seen.seeds == Seeds.UNTOLD.value),
    )
    code = next((code for code, holds in doubts if holds), "outside_jitter")
    figures = dict(seen.figures)
    jitter = figures.get("jitter_sd", (None, ""))[0]
    if jitter is not None:
        figures["distance_needed"] = (limits.jitter_sds * jitter, "share")
    what = ", ".join(seen.mixed) if code == "runs_differ" else _needs(code, figures)
    return ANSWERS.say(code, what, figures=figures, evidence=seen.said)


def _needs(code: str, figures: Mapping[str, tuple[float | None, str]]) -> str:
    if code != "inside_jitter" or "distance_needed" not in figures:
        return ""
    needed, rate = figures["distance_needed"][0] or 0.0, figures["rate"][0] or 0.0
    less, more = floor(1e4 * (rate - needed)) / 1e4, ceil(1e4 * (rate + needed)) / 1e4
    below = f"{less:.2%} or less, or " if less > 0 else ""
    return (
        f"it is {pp(figures['distance'][0])} from the rate and needs more than {pp(needed)}: "
        f"{below}{more:.2%} or more"
    )


def controls(limits: Limits) -> Iterable[Control]:
    """The playbook's own runs, and either side of each limit."""
    again = _PLAYBOOK * -(-limits.repeats_min // len(_PLAYBOOK))
    far = (spread([[Count(*run) for run in again]]) or 0.0) * limits.jitter_sds
    steady = ((25, 100),) * limits.repeats_min
    for name, code, threshold, runs in (
        ("playbook, far away", "outside_jitter", 0.25, again),
        ("just outside", "outside_jitter", _RATE + 1.02 * far, again),
        ("just inside", "inside_jitter", _RATE + 0.98 * far, again),
        ("playbook's own budget", "inside_jitter", 0.10, again),
        ("on it, without jitter", "inside_jitter", 0.25, steady),
        ("far, without jitter", "outside_jitter", 0.10, steady),
    ):
        yield _control(name, code, threshold, _runs(runs))
    for name, code, repeats in (
        ("as many as needed", "outside_jitter", limits.repeats_min),
        ("one too few", "too_few_repeats", limits.repeats_min - 1),
    ):
        yield _control(name, code, 0.9, _runs([(9 + 3 * (i % 2), 94) for i in range(repeats)]))
    yield from _seed_controls(limits)
    facts = result_facts(arm(_runs(_PLAYBOOK)), gates=_gates(0.9, "nobody_scored_this"))
    yield ANSWERS.control("metric nobody has", "rate_missing", result_world(facts))
    facts = result_facts(arm(_runs(_PLAYBOOK), mixed=("max_tokens",)), gates=_gates(0.9))
    yield ANSWERS.control("another cap in one run", "runs_differ", result_world(facts))
    facts = result_facts(arm(_runs(_PLAYBOOK)))
    yield ANSWERS.control("not configured", "not_configured", result_world(facts))


def _seed_controls(limits: Limits) -> Iterable[Control]:
    repeats = max(limits.repeats_min, 2)
    least = limits.seed_margin_min
    for name, code, same in (
        ("seeds differ", "outside_jitter", 1.0),
        ("hardly more alike than two seeds, in every item", "outside_jitter", 0.21),
    ):
        yield _control(name, code, 0.9, _seeded(repeats, same))
    for name, code, share in (
        ("one seed, runs just alike", "outside_jitter", 1.1),
        ("one seed, runs with nothing in common", "seed_not_taken", 0.9),
    ):
        lone = _one_seed(repeats, round(200 * share * least), 200)
        yield _control(name, code, 0.9, lone)
    yield from _untold_controls(max(repeats, 3))
    alike = [replace(one, output="word for word") for one in _seeded(repeats, 1.0)]
    yield _control("every seed says the same", "seed_not_taken", 0.9, alike)
    bare = result_world(result_facts(arm(alike)))
    yield ANSWERS.control("every seed says the same, no trip point", "seed_not_taken", bare)
    for name, code, share in (
        ("a few without a score", "outside_jitter", 0.9),
        ("more than a few", "records_left_out", 1.1),
    ):
        for what, lacking in (("score", {"scores": {"short": None}}), ("seed", {"seed": None})):
            held = _runs([(9, 1000), (12, 1000), (9, 1000)] * repeats)
            none = round(share * limits.left_out_share * len(held))
            less = [replace(one, **lacking) for one in held[-none:]]
            yield _control(f"{name}: {what}", code, 0.9, [*held[:-none], *less])


def _untold_controls(repeats: int) -> Iterable[Control]:
    """Most answers are one for all seeds; and an engine that draws by itself."""
    for name, code, differ in (
        ("one item of twenty depends on the seed", "seeds_untold", 1),
        ("nineteen of twenty do", "outside_jitter", 19),
    ):
        held = [one if int(one.item) < differ else replace(one, output="word for word")
                for one in _seeded(repeats, 1.0)]  # fmt: skip
        yield _control(name, code, 0.9, held)
    drawn = [replace(one, output=f"{chr(97 + (one.seed or 0) + 2 * one.repeat)} says")
             for one in _seeded(repeats, 1.0)]  # fmt: skip
    yield _control("every run says another thing", "seed_not_taken", 0.9, drawn)
    flips = [replace(one, output="flip" if (int(one.item), one.seed, one.repeat) == (3, 1, 0)
                     else "word for word") for one in drawn]  # fmt: skip
    yield _control("one answer of them all flips", "seed_not_taken", 0.9, flips)


_PLAYBOOK: Final = ((9, 94), (12, 95), (9, 94))
_RATE: Final = 30 / 283


def _runs(runs: Iterable[tuple[int, int]]) -> list[ResultRecord]:
    """Runs of one seed."""
    return [
        record(item, f"answer {item}", seed=7, repeat=repeat, scores={"short": float(item < hits)})
        for repeat, (hits, n) in enumerate(runs)
        for item in range(n)
    ]


def _seeded(repeats: int, same: float) -> list[ResultRecord]:
    """Two seeds whose outputs begin with the same letters; one seed's share ``same`` of them."""
    size, common = 1_000, 200
    return [
        record(
            item,
            "=" * common
            + (str(seed) * (round(same * size) - common)).ljust(size - common, chr(97 + repeat)),
            seed=seed,
            repeat=repeat,
            scores={"short": float(item < 3)},
        )
        for seed in (1, 2)
        for repeat in range(repeats)
        for item in range(20)
    ]


def _one_seed(repeats: int, alike: int, items: int) -> list[ResultRecord]:
    """Repeats that part far behind their beginning in so many items, and at once in the others."""
    return [
        record(
            item,
            ("=" * 50 if item < alike else "") + chr(97 + repeat) * 1_000,
            seed=1,
            repeat=repeat,
            scores={"short": float(item < 30)},
        )
        for repeat in range(repeats)
        for item in range(items)
    ]


def _gates(threshold: float, metric: str = "short") -> Gates:
    point = TripPoint(name="under_floor", metric=metric, threshold=threshold)
    return Gates(trip_point_outside_jitter=TripPointGate(points=[point]))


def _control(name: str, code: str, threshold: float, records: Iterable[ResultRecord]) -> Control:
    facts = result_facts(arm(records), gates=_gates(threshold))
    return ANSWERS.control(name, code, result_world(facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="trip_point_outside_jitter",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("results",),
        runbook=__doc__ or "",
    )
