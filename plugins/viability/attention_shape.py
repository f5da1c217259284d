"""Fail when the shape of attention rules out the fast paths for layers that carry the cost.

Uniform heads of at most 128 without a window reach flash attention and cuDNN alike. A head wider
than 256 is beyond flash attention, so the whole square is computed; with a window beside it, a
dense mask is built for every layer (playbook 3.11: 65 % of a step). Keys and values of other widths
shut out some of the kernels.

Blind spot: what a kernel of another library can do, and whether the window is honoured at all: the
mask probe counts that (`pfid probe mask`).

When it fires: train at short sequences, where the square is small, or look for a kernel that takes
the shape (flex attention). `window_needs_care` passes with flash attention, not with a padded mask.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.attention_paths import Paths, paths_of
from pfid.domain.model import Attention, Mixer, ModelShape
from pfid.domain.training_plan import Plan
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
from pfid.spec.fakes_viability import DENSE, DENSE_LAYER, HYBRID, PLAN, model, model_world
from pfid.spec.model_answers import MODEL_ANSWERS, model_controls

ANSWERS: Final = Answers(
    {
        "every_path": (Outcome.PASS, "flash attention and cuDNN are reachable for every layer"),
        "flash_only": (
            Outcome.PASS,
            "flash attention is reachable for every layer; cuDNN takes no head so wide",
        ),
        "window_needs_care": (
            Outcome.PASS,
            "windows or chunks are carried by a flag of flash attention, else by a dense mask",
        ),
        "dense_square": (
            Outcome.FAIL,
            "layers have heads wider than flash attention takes, so the whole square is computed",
        ),
        "no_attention": (Outcome.NOT_APPLICABLE, "no layer attends over positions"),
        **MODEL_ANSWERS,
    }
)
_ATTENTION: Final = Attention(heads=32, kv_heads=8, head_dim=128, value_dim=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the kernels take."""

    flash_head_max: int = limit(256, unit="1", delta=1)
    cudnn_head_max: int = limit(128, unit="1", delta=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    plan: Plan
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.model.facts()
    return Seen(
        problem=facts.problem, shape=facts.shape, plan=world.plan.facts(), detail=facts.detail
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        return ANSWERS.say(code, evidence=(seen.detail,) if seen.detail else ())
    found = paths_of(seen.shape, seen.plan.sequence, limits.flash_head_max, limits.cudnn_head_max)
    code = _code(seen.shape, found)
    figures = {
        "layers": (found.attending, "1"),
        "flash_layers": (found.flash, "1"),
        "cudnn_layers": (found.cudnn, "1"),
        "windowed_layers": (found.windowed, "1"),
        "head_dim_max": (found.widest, "1"),
        "grouped_queries": (found.grouped, "1"),
    }
    return ANSWERS.say(code, figures=figures, evidence=found.said)


def _code(shape: ModelShape, found: Paths) -> str:
    if shape.count(Mixer.UNKNOWN):
        return "shapes_unknown"
    if not found.attending:
        return "no_attention"
    if found.flash < found.attending:
        return "dense_square"
    if found.windowed:
        return "window_needs_care"
    return "every_path" if found.cudnn == found.attending else "flash_only"


def controls(limits: Limits) -> Iterable[Control]:
    """An ordinary shape first, both sides of each limit, and the playbook's."""
    flash, cudnn = limits.flash_head_max, limits.cudnn_head_max
    yield _control("ordinary", "every_path", DENSE)
    yield _control("cuDNN's widest", "every_path", _of(head_dim=cudnn, value_dim=cudnn))
    yield _control("wider", "flash_only", _of(head_dim=cudnn + 1, value_dim=cudnn + 1))
    yield _control("unequal", "flash_only", _of(head_dim=cudnn, value_dim=cudnn // 2))
    yield _control("flash's widest", "flash_only", _of(head_dim=flash, value_dim=flash))
    yield _control("too wide", "dense_square", _of(head_dim=flash + 1, value_dim=flash + 1))
    yield _control("mixed", "dense_square", _mixed())
    yield _control("window", "window_needs_care", _of(window=1024))
    yield _control("window beyond the sequence", "every_path", _of(window=4096))
    short = model_world(model=model(_of(window=1024)), plan=replace(PLAN, sequence=1024))
    yield ANSWERS.control("sequence within the window", "every_path", short)
    recurrent = replace(DENSE, layers=HYBRID.layers[:3])
    yield _control("recurrent alone", "no_attention", recurrent)
    unknown = replace(DENSE, layers=(replace(DENSE_LAYER, mixer=Mixer.UNKNOWN),))
    yield _control("untold", "shapes_unknown", unknown)
    yield from model_controls(ANSWERS, lambda facts: model_world(model=facts, plan=PLAN))


def _of(**changed: Any) -> ModelShape:
    attention = replace(_ATTENTION, **changed)
    layer = replace(
        DENSE_LAYER,
        attention=attention,
        mixer=Mixer.SLIDING if attention.window else Mixer.FULL,
    )
    return replace(DENSE, layers=(layer,) * 4)


def _mixed() -> ModelShape:
    """Gemma-4's: heads of 256 with a window, some of 512 without."""
    narrow, wide = _of(head_dim=256, value_dim=256, window=1024), _of(head_dim=512, value_dim=512)
    return replace(DENSE, layers=(*narrow.layers, wide.layers[0]))


def _control(name: str, code: str, shape: ModelShape) -> Control:
    return ANSWERS.control(name, code, model_world(model=model(shape), plan=PLAN))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="attention_shape",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("model", "plan"),
        runbook=__doc__ or "",
    )
