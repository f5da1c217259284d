"""Fail when a merge or a first save did not change what it should, or changed what it should not.

An adapter whose names do not fit the class that merges is applied to nothing, and the merged
checkpoint is the base under a new name: it loads, it answers, and every gate measures the base
(playbook 3.11). So tensors that the adapter targets must differ from the base and all others must
not. A difference that rounding explains is none.

Blind spot: whether the difference is the right one (a wrong scaling changes every target), and,
unless every byte is read, a change between the sampled numbers of a tensor.

When it fires: compare the adapter's names with the modules of the class that merged it, and merge
again; what other tensors hold must come from the same base (`merge_target_is_training_base`).
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
from pfid.spec.ports.lineage import ChangedFacts

UNREADABLE: Final = {
    "adapter_unreadable": "the adapter's tensors cannot be read",
    "base_unreadable": "no weights of the base can be read",
    "merged_unreadable": "no weights of what was saved can be read",
}
ANSWERS: Final = Answers(
    {
        "as_told": (Outcome.PASS, "what should differ from the base differs, and nothing else"),
        "adapter_trained": (Outcome.PASS, "no module of the saved adapter is zero"),
        "adapter_zero": (Outcome.FAIL, "modules of the adapter are zero: they change nothing"),
        "nothing_changed": (Outcome.FAIL, "no target differs from the base: nothing was merged"),
        "rounding_only": (
            Outcome.FAIL,
            "targets differ by rounding alone: nothing was merged, or the precision swallowed it",
        ),
        "some_unchanged": (Outcome.FAIL, "only some of the targets differ from the base"),
        "untouched_changed": (
            Outcome.FAIL,
            "tensors that nothing should have touched differ from the base",
        ),
        "targets_unmatched": (
            Outcome.UNKNOWN,
            "modules of the adapter belong to no tensor of base and merged",
        ),
        "incomplete": (
            Outcome.UNKNOWN,
            "part of the weights is missing or cannot be read; what is there is as it should be",
        ),
        "not_comparable": (
            Outcome.UNKNOWN,
            "tensors are quantised, missing or stacked otherwise on one side",
        ),
        **{code: (Outcome.UNKNOWN, words) for code, words in UNREADABLE.items()},
        "nothing_saved": (
            Outcome.NOT_APPLICABLE,
            "nothing merged or saved is given: pfid merge-check ADAPTER TARGET --merged DIR",
        ),
    }
)
_COUNTED: Final = (
    *("modules", "zero", "unmatched", "targets", "changed", "partial", "rounded", "untouched"),
    *("untouched_changed", "untouched_rounded", "uncomparable"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    facts: ChangedFacts | None


def observe(world: World) -> Seen:
    """Read; never decide."""
    return Seen(facts=world.changed.facts())


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    facts = seen.facts
    if facts is None:
        return ANSWERS.say("nothing_saved")
    evidence = tuple(x for x in (facts.detail, *facts.examples, *facts.incomplete) if x)
    if facts.problem:
        return ANSWERS.say(facts.problem, evidence=evidence)
    doubts = _of_adapter(facts) if facts.kind == "adapter" else _of_merge(facts)
    code = next(code for code, holds in doubts if holds)
    also = "the rest was saved in another precision" if facts.untouched_rounded else ""
    return ANSWERS.say(code, also, figures=_figures(facts), evidence=evidence)


def _of_adapter(facts: ChangedFacts) -> tuple[tuple[str, bool], ...]:
    return (
        ("adapter_unreadable", not facts.modules),
        ("adapter_zero", facts.zero > 0),
        ("adapter_trained", True),
    )


def _of_merge(facts: ChangedFacts) -> tuple[tuple[str, bool], ...]:
    still = facts.targets - facts.changed
    return (
        ("adapter_zero", bool(facts.modules) and facts.zero == facts.modules),
        ("untouched_changed", facts.untouched_changed > 0),
        ("rounding_only", bool(facts.rounded) and facts.rounded == still == facts.targets),
        ("nothing_changed", bool(facts.targets) and still == facts.targets),
        ("some_unchanged", still > 0 or facts.partial > 0),
        ("targets_unmatched", facts.unmatched > 0 or not facts.targets),
        ("incomplete", bool(facts.incomplete)),
        ("not_comparable", facts.uncomparable > 0),
        ("as_told", True),
    )


def _figures(facts: ChangedFacts) -> dict[str, tuple[float | None, str]]:
    return {
        **{name: (float(getattr(facts, name)), "1") for name in _COUNTED},
        "relative_change": (facts.relative_median or None, "ratio"),
    }


def controls(_: NoLimits) -> Iterable[Control]:
    """A merge that took first, then every way not to, and every doubt."""
    took = ChangedFacts(modules=224, targets=224, changed=224, untouched=67, relative_median=0.01)
    yield _control("merged", "as_told", took)
    yield _control("recast", "as_told", replace(took, untouched_rounded=67))
    yield _control("nothing", "nothing_changed", replace(took, changed=0))
    yield _control("rounding", "rounding_only", replace(took, changed=0, rounded=224))
    yield _control("part rounding", "nothing_changed", replace(took, changed=0, rounded=3))
    yield _control("all but one", "some_unchanged", replace(took, changed=223))
    yield _control("half the experts", "some_unchanged", replace(took, partial=1))
    yield _control("beyond its targets", "untouched_changed", replace(took, untouched_changed=1))
    yield _control("never trained", "adapter_zero", replace(took, zero=224))
    yield _control("names that fit nowhere", "targets_unmatched", replace(took, unmatched=1))
    yield _control("no target", "targets_unmatched", replace(took, targets=0, changed=0, modules=0))
    yield _control("a missing shard", "incomplete", replace(took, incomplete=("gone",)))
    yield _control("quantised", "not_comparable", replace(took, uncomparable=3))
    saved = ChangedFacts(kind="adapter", modules=224)
    yield _control("a first save", "adapter_trained", saved)
    yield _control("a first save of zeros", "adapter_zero", replace(saved, zero=1))
    for code in UNREADABLE:
        yield _control(code, code, ChangedFacts(problem=code))
    yield _control("an adapter of nothing", "adapter_unreadable", replace(saved, modules=0))
    yield _control("nothing saved", "nothing_saved", None)


def _control(name: str, code: str, facts: ChangedFacts | None) -> Control:
    return ANSWERS.control(name, code, model_world(changed=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="targets_changed",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("changed",),
        runbook=__doc__ or "",
    )
