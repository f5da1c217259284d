"""Fail when a merge or a first save did not change what it should, or changed what it should not.

An adapter whose names do not fit the class that merges is applied to nothing, and the merged
checkpoint is the base under a new name: it loads, it answers, and every gate measures the base
(playbook 3.11). So tensors that the adapter targets must differ from the base and all others must
not. A difference that rounding explains is none. Of low-rank adapters (LoRA, rsLoRA, DoRA, modules
saved whole, stacked experts, single experts of a stack) each target must also differ by what the
factors and their scaling make: alpha over the rank read as alpha over its root moves everything by
one wrong factor.

Blind spot: by how much other kinds of adapters move a target (DoRA on single experts of a stack is
one), a wrong scaling by less than a hundredth, and, unless every byte is read, a change between the
sampled numbers of a tensor.

When it fires: compare the adapter's names with the modules of the class that merged it, and merge
again; what other tensors hold must come from the same base (`merge_target_is_training_base`). A
share that was meant is told with `--share`. Experts that no token reached have factors of zero: see
whether the training data reaches them, or leave them out.

If it says `experts_unreached`: see whether the training data reaches these experts, or leave them
out.

If it says `amount_untold`, `adapter_unreadable`: give the adapter with its configuration and all of
its tensors.

If it says `targets_unmatched`: compare the adapter's names with the modules of the class that
merged it.

If it says `incomplete`, `base_unreadable`, `merged_unreadable`, `not_comparable`: complete the
files that its lines name, in the format that was trained.
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
        "wrong_factor": (
            Outcome.FAIL,
            "targets moved by another factor than the adapter's scaling",
        ),
        "another_change": (
            Outcome.FAIL,
            "targets moved otherwise than this adapter moves them",
        ),
        "experts_unreached": (
            Outcome.UNKNOWN,
            "experts did not change and others of their layer did: no token may have reached them",
        ),
        "amount_untold": (
            Outcome.UNKNOWN,
            "targets differ and nothing else does; whether by the right amount is not told",
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
    *("untouched_changed", "untouched_rounded", "uncomparable", "unreached", "idle"),
    *("right", "scaled", "otherwise"),
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
    said = (facts.detail, *facts.examples, *facts.incomplete, facts.amount_untold)
    evidence = tuple(text for text in said if text)
    if facts.problem:
        return ANSWERS.say(facts.problem, evidence=evidence)
    doubts = _of_adapter(facts) if facts.kind == "adapter" else _of_merge(facts)
    code = next(code for code, holds in doubts if holds)
    return ANSWERS.say(code, *_also(code, facts), figures=_figures(facts), evidence=evidence)


def _also(code: str, facts: ChangedFacts) -> tuple[str, ...]:
    said = []
    if code == "wrong_factor" and facts.factor is not None:
        said.append(f"{facts.factor:.3g} times what it makes")
    if facts.untouched_rounded:
        said.append("the rest was saved in another precision")
    return tuple(said)


def _of_adapter(facts: ChangedFacts) -> tuple[tuple[str, bool], ...]:
    return (
        ("adapter_unreadable", not facts.modules),
        ("adapter_zero", facts.zero > 0),
        ("experts_unreached", facts.unreached > 0),
        ("adapter_trained", True),
    )


def _of_merge(facts: ChangedFacts) -> tuple[tuple[str, bool], ...]:
    still = facts.targets - facts.changed
    decided = facts.right + facts.scaled + facts.otherwise
    faint = facts.modules > 0 and decided * 2 < facts.changed
    return (
        ("adapter_zero", bool(facts.modules) and facts.zero == facts.modules),
        ("untouched_changed", facts.untouched_changed > 0),
        ("rounding_only", bool(facts.rounded) and facts.rounded == still == facts.targets),
        ("nothing_changed", bool(facts.targets) and still == facts.targets),
        ("some_unchanged", still > 0 or facts.partial > 0),
        ("wrong_factor", facts.scaled > facts.otherwise),
        ("another_change", facts.otherwise > 0),
        ("targets_unmatched", facts.unmatched > 0 or not facts.targets),
        ("incomplete", bool(facts.incomplete)),
        ("not_comparable", facts.uncomparable > 0),
        ("amount_untold", bool(facts.amount_untold) or faint),
        ("experts_unreached", facts.unreached > 0),
        ("as_told", True),
    )


def _figures(facts: ChangedFacts) -> dict[str, tuple[float | None, str]]:
    return {
        **{name: (float(getattr(facts, name)), "1") for name in _COUNTED},
        "relative_change": (facts.relative_median or None, "ratio"),
        "factor": (facts.factor, "ratio"),
    }


def controls(_: NoLimits) -> Iterable[Control]:
    """A merge that took first, then every way not to, and every doubt."""
    took = ChangedFacts(
        modules=224, targets=224, changed=224, right=224, untouched=67, relative_median=0.01
    )
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
    scaled = replace(took, right=0, scaled=224, factor=4.0)
    yield _control("alpha over the rank's root", "wrong_factor", scaled)
    yield _control("one scaled", "wrong_factor", replace(took, right=223, scaled=1, factor=0.5))
    yield _control("another adapter", "another_change", replace(took, right=0, otherwise=224))
    yield _control("mostly other", "another_change", replace(scaled, scaled=100, otherwise=124))
    yield _control("faint", "amount_untold", replace(took, right=111))
    yield _control("just told", "as_told", replace(took, right=112))
    yield _control("another kind", "amount_untold", replace(took, amount_untold="no LORA"))
    full = replace(took, kind="full", modules=0, right=0)
    yield _control("a save of the whole", "as_told", full)
    yield _control("experts not reached", "experts_unreached", replace(full, unreached=3))
    saved = ChangedFacts(kind="adapter", modules=224)
    yield _control("a first save, experts", "experts_unreached", replace(saved, unreached=3))
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
