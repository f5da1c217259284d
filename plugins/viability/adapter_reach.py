"""Fail when adapters on every linear module would reach more than the text decoder.

A checkpoint that calls itself a base may bring a vision tower and a head that predicts further
tokens; `all-linear` puts adapters on all of them and trains those on pure text (playbook 3.11: 153
modules of a vision tower in a 0.8 B). Named targets fail where a tower has modules of such a name:
PEFT matches them by the end of their path. Modules are counted by the names of the tensors, else by
the tower's shapes: those bound their number (`tower_modules_low`, `tower_modules_high`) and do not
tell how they are called.

Blind spot: which class loads the checkpoint. One for text alone drops both and renames modules, so
that an adapter's keys no longer fit the class that serves; the prefix is told beside the verdict.

When it fires: name the modules of the text decoder as targets, or load the class for text alone and
prove the serving path with its names.

If it says `names_not_listed`: give the index of the weights with the configuration: it lists the
modules.

If it says `targets_not_told`: say where adapters go with `--targets`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.model import ModelShape, Tower
from pfid.domain.training_plan import Method, Plan
from pfid.domain.weights import Weights
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    NoLimits,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_viability import DENSE, ON_DISK, PLAN, model, model_world
from pfid.spec.model_answers import BY_FILES, MODEL_ANSWERS, model_controls
from pfid.spec.ports.viability import ModelFacts

EVERY: Final = "all-linear"
ANSWERS: Final = Answers(
    {
        "text_only": (Outcome.PASS, "the checkpoint holds nothing beside the text decoder"),
        "targets_named": (Outcome.PASS, "adapters go to named modules and not to every one"),
        "reaches_beyond": (
            Outcome.FAIL,
            "adapters on every linear module reach what sees, hears or predicts further tokens",
        ),
        "named_beyond": (
            Outcome.FAIL,
            "modules of the named kind are in what sees or hears as well, and get adapters there",
        ),
        "names_not_listed": (
            Outcome.UNKNOWN,
            "nobody lists the modules beside the text, which may be called as the named ones are",
        ),
        "targets_not_told": (
            Outcome.UNKNOWN,
            "there is more than a text decoder and nobody says where adapters go: --targets",
        ),
        "no_adapter": (Outcome.NOT_APPLICABLE, "the whole model is trained"),
        **{code: MODEL_ANSWERS[code] for code in BY_FILES},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    weights: Weights
    plan: Plan
    detail: str = reported(default="")


@dataclass(frozen=True, slots=True)
class Modules:
    """A number between bounds."""

    least: int
    most: int


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.model.facts()
    return Seen(
        problem=facts.problem,
        shape=facts.shape,
        weights=facts.weights,
        plan=world.plan.facts(),
        detail=facts.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        return ANSWERS.say(code, evidence=(seen.detail,) if seen.detail else ())
    towers, further = _beyond(seen.shape, seen.weights)
    listed = seen.weights.vision_linears is not None
    doubts = (
        ("no_adapter", seen.plan.method is Method.FULL),
        ("text_only", not towers.most and not further),
        ("targets_not_told", not seen.plan.targets),
        ("reaches_beyond", seen.plan.targets.casefold() == EVERY),
        ("names_not_listed", towers.most > 0 and not listed),
        ("named_beyond", bool(_named_beyond(seen))),
    )
    code = next((code for code, holds in doubts if holds), "targets_named")
    figures = {
        **_figures(towers, further, listed=listed),
        "named_tower_modules": (sum(count for _, count in _named_beyond(seen)), "1"),
    }
    return ANSWERS.say(code, figures=figures, evidence=_evidence(seen))


def _figures(towers: Modules, further: int, *, listed: bool) -> dict[str, tuple[float, str]]:
    """Counted where tensors are listed; else bounds, and layers in the place of their tensors."""
    if listed:
        return {"tower_modules": (towers.least, "1"), "further_token_tensors": (further, "1")}
    return {
        "tower_modules_low": (towers.least, "1"),
        "tower_modules_high": (towers.most, "1"),
        "further_token_layers": (further, "1"),
    }


def _beyond(shape: ModelShape, weights: Weights) -> tuple[Modules, int]:
    """Linear modules of towers, and further-token heads: by tensors if listed, else by shapes."""
    counted, further = weights.vision_linears, weights.mtp_tensors
    least = sum(tower.linears for tower in shape.towers) if counted is None else counted
    most = sum(tower.linears_most for tower in shape.towers) if counted is None else counted
    return Modules(least, most), shape.mtp_layers if further is None else further


def _named_beyond(seen: Seen) -> list[tuple[str, int]]:
    """Modules of towers that a named target matches, as PEFT does: by the end of their path."""
    names = [f".{name.strip()}" for name in seen.plan.targets.split(",") if name.strip()]
    return [
        (path, count)
        for path, count in seen.weights.tower_modules
        if any(f".{path}".endswith(name) for name in names)
    ]


def _evidence(seen: Seen) -> tuple[str, ...]:
    said = (
        [f"{tower.key} stands beside the text" for tower in seen.shape.towers] if seen.shape else []
    )
    said += [f"{count} x {path}" for path, count in _named_beyond(seen)[:5]]
    prefix = seen.weights.text_prefix
    if "language_model" in prefix:
        said.append(
            f"layers are stored as {prefix}; a class for text alone calls them model.layers"
        )
    return tuple(said)


def controls(_: NoLimits) -> Iterable[Control]:
    """A text model first, then towers by tensors and by shapes, and further-token heads."""
    tower = Tower(
        key="vision_config", parameters_low=1, parameters_high=2, linears=153, linears_most=171
    )
    seeing = replace(DENSE, towers=(tower,))
    every = replace(PLAN, targets=EVERY)
    unlisted = replace(ON_DISK, vision_linears=None, mtp_tensors=None)
    yield _control("text", "text_only", model(), every)
    listed = model(seeing, replace(ON_DISK, vision_linears=153))
    yield _control("tower by tensors", "reaches_beyond", listed, every)
    yield _control("tower by shapes", "reaches_beyond", model(seeing, unlisted), every)
    yield _control("tower left out", "text_only", model(seeing), every)
    further = model(DENSE, replace(ON_DISK, mtp_tensors=12))
    yield _control("further tokens", "reaches_beyond", further, every)
    yield _control("named", "targets_named", listed, replace(PLAN, targets="q_proj,v_proj"))
    blocks = (("visual.blocks.#.attn.qkv", 24), ("visual.blocks.#.attn.q_proj", 24))
    sighted = model(seeing, replace(ON_DISK, vision_linears=48, tower_modules=blocks))
    named = replace(PLAN, targets="q_proj,v_proj")
    yield _control("named in the tower too", "named_beyond", sighted, named)
    yield _control("named apart", "targets_named", sighted, replace(PLAN, targets="proj,k_proj"))
    within = replace(PLAN, targets="self_attn.q_proj")
    yield _control("named by more of the path", "targets_named", sighted, within)
    yield _control("tower's names unknown", "names_not_listed", model(seeing, unlisted), named)
    yield _control("not told", "targets_not_told", listed, PLAN)
    yield _control("whole", "no_adapter", listed, replace(every, method=Method.FULL))
    yield from model_controls(ANSWERS, lambda facts: model_world(model=facts, plan=every))


def _control(name: str, code: str, facts: ModelFacts, plan: Plan) -> Control:
    return ANSWERS.control(name, code, model_world(model=facts, plan=plan))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="adapter_reach",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("model", "plan"),
        runbook=__doc__ or "",
    )
