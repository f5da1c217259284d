"""Fail when a recipe card was written for another kind of checkpoint than this one.

A card is an artefact of one checkpoint. Dense or MoE, stock or abliterated, size, chat template and
precision are axes on which its findings do not carry over; a card for a dense, stock 31 B was once
followed on an abliterated MoE of 26 B because both bear one family's name (playbook 3.12). "Same
family" is no axis and no answer.

Blind spot: the card is believed about itself. Whether a checkpoint is abliterated stands in no
file: it is what `--alignment` says.

When it fires: take from the card only what does not hang on the axes that differ, and measure the
rest. An axis that is unknown wants a line in the card or `--alignment`.

If it says `axes_unknown`, `checkpoint_not_stated`: add the axis that is named to the card, or say
it of the model with `--alignment`.

If it says `card_unreadable`: mend the card where its lines say; it is TOML.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

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
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.viability import RecipeAxis, RecipeFacts

ANSWERS: Final = Answers(
    {
        "applies": (Outcome.PASS, "the recipe was written for a checkpoint of this very kind"),
        "axes_differ": (Outcome.FAIL, "the recipe was written for another kind of checkpoint"),
        "axes_unknown": (Outcome.UNKNOWN, "not every axis of the recipe can be compared"),
        "checkpoint_not_stated": (
            Outcome.UNKNOWN,
            "the recipe does not say for which checkpoint it was written",
        ),
        "card_unreadable": (Outcome.UNKNOWN, "the recipe card cannot be read"),
        "no_card": (Outcome.NOT_APPLICABLE, "no recipe card is given"),
    }
)
_AXES: Final = (
    ("architecture", "moe"),
    ("alignment", "abliterated"),
    ("template", "sha256:0a"),
    ("precision", "bfloat16"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a size may differ."""

    size_differs_max: float = limit(0.1, unit="ratio", factor=1.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    given: bool
    problem: str
    checkpoint: str
    axes: tuple[RecipeAxis, ...]
    card_parameters: float
    our_parameters: float
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.recipe.facts()
    known = facts or RecipeFacts()
    return Seen(
        given=facts is not None,
        problem=known.problem,
        checkpoint=known.checkpoint,
        axes=known.axes,
        card_parameters=known.card_parameters,
        our_parameters=known.our_parameters,
        detail=known.detail,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    if not seen.given:
        return ANSWERS.say("no_card")
    if seen.problem:
        return ANSWERS.say("card_unreadable", evidence=(seen.detail,) if seen.detail else ())
    differing = [a.name for a in seen.axes if a.card and a.ours and a.card != a.ours]
    unknown = [a.name for a in seen.axes if not (a.card and a.ours)]
    card, ours = seen.card_parameters, seen.our_parameters
    if not (card > 0 and ours > 0):
        unknown.append("size")
    elif abs(card - ours) > limits.size_differs_max * max(card, ours):
        differing.append("size")
    doubts = (
        ("axes_differ", differing),
        ("checkpoint_not_stated", [] if seen.checkpoint else [""]),
        ("axes_unknown", unknown),
    )
    code, named = next(((code, names) for code, names in doubts if names), ("applies", []))
    figures = {
        "axes_differing": (len(differing), "1"),
        "axes_unknown": (len(unknown), "1"),
        "card_parameters": (card or None, "1"),
        "our_parameters": (ours or None, "1"),
    }
    return ANSWERS.say(code, ", ".join(named), figures=figures, evidence=_evidence(seen))


def _evidence(seen: Seen) -> tuple[str, ...]:
    written = f"written for {seen.checkpoint}" if seen.checkpoint else ""
    axes = [f"{a.name}: card {a.card or '?'}, ours {a.ours or '?'}" for a in seen.axes]
    return tuple(line for line in (written, *axes) if line)


def controls(limits: Limits) -> Iterable[Control]:
    """The same kind first, then each axis apart, both sides of the size, and every doubt."""
    yield _control("same kind", "applies", _card())
    for name, _ in _AXES:
        yield _control(f"other {name}", "axes_differ", _card(**{name: "other"}))
        yield _control(f"untold {name}", "axes_unknown", _card(**{name: ""}))
    base = _card()
    inside = base.our_parameters * (1 - limits.size_differs_max * 0.97)
    outside = base.our_parameters * (1 - limits.size_differs_max * 1.03)
    yield _control("size alike", "applies", replace(base, card_parameters=inside))
    yield _control("other size", "axes_differ", replace(base, card_parameters=outside))
    yield _control("untold size", "axes_unknown", replace(base, card_parameters=0.0))
    yield _control("uncounted model", "axes_unknown", replace(base, our_parameters=0.0))
    yield _control("no checkpoint", "checkpoint_not_stated", replace(base, checkpoint=""))
    yield _control("cut off", "card_unreadable", RecipeFacts(problem="card_unreadable"))
    yield _control("none", "no_card", None)


def _card(**changed: str) -> RecipeFacts:
    axes = tuple(RecipeAxis(name=n, card=changed.get(n, own), ours=own) for n, own in _AXES)
    return RecipeFacts(
        checkpoint="control/26b-moe", axes=axes, card_parameters=25.8e9, our_parameters=25.8e9
    )


def _control(name: str, code: str, facts: RecipeFacts | None) -> Control:
    return ANSWERS.control(name, code, model_world(recipe=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="recipe_applies",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("recipe",),
        runbook=__doc__ or "",
    )
