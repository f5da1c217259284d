"""Fail when a tune would be merged into other weights than those it was trained on.

Merging back "toward the base" heals only if it is the same base. Into the stock checkpoint of an
abliterated base it puts back what the abliteration took out, and the tune looks healthier for it
(playbook 3.12). A name is no evidence: what the tensors of the base held when the adapter was made
(`[provenance] base` at launch, or `pfid merge-check --record`) is held against what the target's
hold. Renamed modules, other shards and another precision are the same base.

Blind spot: a sample of each tensor is read, spread over it, unless `--full` is said: a change of a
few numbers may lie between. A record made after training says what the folder held then.

When it fires: merge into the base that was trained. Where nobody recorded it, record it while it
lies there untouched: `pfid merge-check --record BASE ADAPTER`. Where it is gone, train again on one
that is there: a target that only looks alike is another model.

If it says `lineage_unknown`, `record_unreadable`: record the base while it lies there untouched:
`pfid merge-check --record BASE ADAPTER`.

If it says `target_incomplete`, `target_unreadable`: complete the target's files, and look again.

If it says `not_comparable`: compare with a target of the base's own format, or record the base in
that of the target.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    NoLimits,
    Outcome,
    Scope,
    Stage,
    Verdict,
    World,
    hookimpl,
)
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.lineage import LineageFacts

UNREADABLE: Final = {
    "record_unreadable": "the record of the base cannot be read",
    "target_unreadable": "no weights of the target can be read",
}
ANSWERS: Final = Answers(
    {
        "same_base": (Outcome.PASS, "the target holds the weights that were trained on"),
        "same_base_cast": (
            Outcome.PASS,
            "the target is the base that was trained on, in another precision",
        ),
        "differs_as_abliterated": (
            Outcome.FAIL,
            "only what an abliteration changes differs from the base: merging would undo it",
        ),
        "weights_differ": (
            Outcome.FAIL,
            "the target has the base's shapes and other weights: the name is not evidence",
        ),
        "weights_missing": (Outcome.FAIL, "the target lacks weights that the base has"),
        "other_model": (Outcome.FAIL, "the target is another model than the base"),
        "lineage_unknown": (
            Outcome.UNKNOWN,
            "nobody recorded which weights were trained on; a name says nothing of them",
        ),
        "target_incomplete": (
            Outcome.UNKNOWN,
            "part of the target's weights is missing or cannot be read; what is there agrees",
        ),
        "not_comparable": (
            Outcome.UNKNOWN,
            "tensors are quantised or stacked otherwise on one side; what can be compared agrees",
        ),
        **{code: (Outcome.UNKNOWN, words) for code, words in UNREADABLE.items()},
        "no_merge": (Outcome.NOT_APPLICABLE, "no merge is meant: pfid merge-check ADAPTER TARGET"),
    }
)
_COUNTED: Final = (
    *("tensors", "same", "cast", "differing", "reshaped", "missing", "left_out", "regrouped"),
    *("uncomparable", "renamed", "extra"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    facts: LineageFacts | None


def observe(world: World) -> Seen:
    """Read; never decide."""
    return Seen(facts=world.lineage.facts())


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    facts = seen.facts
    if facts is None:
        return ANSWERS.say("no_merge")
    if facts.problem:
        return ANSWERS.say(facts.problem, evidence=_evidence(facts))
    if not facts.recorded:
        return ANSWERS.say("lineage_unknown", evidence=_evidence(facts))
    known = facts.same + facts.cast + facts.differing
    doubts = (
        ("other_model", not known and bool(facts.reshaped or facts.missing)),
        ("weights_differ", bool(facts.differing and not facts.residual) or facts.reshaped > 0),
        ("differs_as_abliterated", facts.differing > 0),
        ("target_incomplete", bool(facts.incomplete)),
        ("not_comparable", bool(facts.regrouped or facts.uncomparable) or not known),
        ("weights_missing", facts.missing > 0),
        ("same_base_cast", facts.cast > 0),
    )
    code = next((code for code, holds in doubts if holds), "same_base")
    precision = ", ".join(facts.precisions) if code == "same_base_cast" else ""
    return ANSWERS.say(
        code, precision, _how(facts), figures=_figures(facts), evidence=_evidence(facts)
    )


def _how(facts: LineageFacts) -> str:
    if facts.full:
        return "every byte was compared"
    return f"{facts.sampled_share:.2%} of the bytes were compared, some of every tensor"


def _figures(facts: LineageFacts) -> dict[str, tuple[float | None, str]]:
    counted = {name: (float(getattr(facts, name)), "1") for name in _COUNTED}
    return {**counted, "sampled_share": (facts.sampled_share, "ratio")}


def _evidence(facts: LineageFacts) -> tuple[str, ...]:
    name = f"the adapter calls its base {facts.named}: a name alone" if facts.named else ""
    return tuple(x for x in (facts.detail, name, *facts.examples, *facts.incomplete) if x)


def controls(_: NoLimits) -> Iterable[Control]:
    """The same base first, then every way to be another and every doubt."""
    base = LineageFacts(
        recorded="beside", sampled_share=0.01, tensors=291, same=291, named="acme/base"
    )
    yield _control("the same", "same_base", base)
    yield _control("renamed and whole", "same_base", replace(base, renamed=291, full=True))
    yield _control("without its tower", "same_base", replace(base, same=280, left_out=11))
    cast = replace(base, same=0, cast=291, precisions=("F32 to BF16",))
    yield _control("another precision", "same_base_cast", cast)
    undone = replace(base, same=226, differing=65, residual=True)
    yield _control("stock for abliterated", "differs_as_abliterated", undone)
    yield _control("one tensor", "differs_as_abliterated", replace(undone, same=290, differing=1))
    yield _control("another tune", "weights_differ", replace(undone, residual=False))
    yield _control("a cut vocabulary", "weights_differ", replace(base, same=289, reshaped=2))
    yield _control("layers left out", "weights_missing", replace(base, same=282, missing=9))
    yield _control("other shapes", "other_model", replace(base, same=0, reshaped=291))
    yield _control("nothing alike", "other_model", replace(base, same=0, missing=291))
    yield _control("never recorded", "lineage_unknown", replace(base, recorded=""))
    part = replace(base, same=200, missing=91, incomplete=("a shard is missing",))
    yield _control("a missing shard", "target_incomplete", part)
    refuted = replace(part, differing=1, residual=True)
    yield _control("a missing shard, another base", "differs_as_abliterated", refuted)
    yield _control("stacked experts", "not_comparable", replace(base, same=91, regrouped=200))
    yield _control("quantised", "not_comparable", replace(base, same=0, uncomparable=291))
    for code in UNREADABLE:
        yield _control(code, code, LineageFacts(problem=code))
    yield _control("no merge", "no_merge", None)


def _control(name: str, code: str, facts: LineageFacts | None) -> Control:
    return ANSWERS.control(name, code, model_world(lineage=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="merge_target_is_training_base",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("lineage",),
        runbook=__doc__ or "",
    )
