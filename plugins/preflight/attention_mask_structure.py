"""Fail when an attention mask of the model is not what its layer type says.

Everything downstream assumes it: a windowed layer without its window, a window one position off,
padding or another document attended to, a token that sees later ones, an attention implementation
whose name nobody registered and whose mask is silently none. The masks are those that the
transformers of the training interpreter makes for this configuration, counted position by position
(`pfid probe mask`); where flash attention carries the window as a keyword, that keyword is judged.

Blind spot: masks of a model that brings its own code, of layer types without a definition here
(linear attention), and whatever an attention kernel does with a right mask.

When it fires: `pfid probe mask MODEL --python PY` shows each mask. Train with another attention
implementation or another transformers. A window that is one too wide under flash attention alone is
a fault of transformers before 4.56 (its issue 39408), which hands flash_attn the whole window where
that counts a row's own position beside it; 4.53.0 also mixes packed documents.

If it says `no_torch`, `no_transformers`, `old_transformers`: name the interpreter that will train
(`python`), with torch and transformers 4.53 or later.

If it says `no_config`, `remote_code`, `bad_width`: name a configuration whose class the installed
transformers has, and a width that fits it.

If it says `hub_kernel`: judge what the kernel implements by its name, flash_attention_2 or sdpa.

If it says `layers_unseen`, `packing_unseen`, `unknown_mask`, `unknown_signature`, `no_masks`,
`instrument_blind`: look at the masks of this release by hand: `pfid probe mask MODEL --python PY`
shows what was had.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.mask_cases import mask_cases
from pfid.analysis.mask_structure import (
    REASONS,
    MaskReading,
    attention_judged,
    mask_notes,
    read_masks,
)
from pfid.domain.masks import MaskReport
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
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.masks import MaskFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

REFUSED: Final = {
    "no_torch": "the training interpreter has no torch",
    "no_transformers": "transformers cannot be imported in the training interpreter",
    "old_transformers": "that transformers is older than 4.53 and has no mask functions to ask",
    "no_config": "there is no model configuration that transformers can read",
    "remote_code": "the model brings its own code, which is never executed",
    "unknown_signature": "a mask function of that transformers cannot be called",
    "bad_width": "no mask of that width can be looked at",
}
ANSWERS: Final = Answers(
    {
        **REASONS,
        "instrument_blind": (
            Outcome.UNKNOWN,
            "the probe does not see the faults planted in it, so nothing it says counts",
        ),
        "no_masks": (Outcome.UNKNOWN, "no mask of that attention implementation was looked at"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no model"),
        **{code: (Outcome.UNKNOWN, sentence) for code, sentence in REFUSED.items()},
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    attention: str
    report: MaskReport | None
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.masks.facts()
    if facts is None:
        return Seen(configured=False, problem="", attention="", report=None)
    return Seen(
        configured=True,
        problem=facts.problem,
        attention=facts.attention,
        report=facts.report,
        detail=facts.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    if not seen.configured:
        return ANSWERS.say("not_configured")
    if seen.problem or seen.report is None:
        known = seen.problem if seen.problem in ANSWERS.sentences else "no_masks"
        return ANSWERS.say(known, evidence=(seen.detail,) if seen.detail else ())
    attention = attention_judged(seen.report, seen.attention)
    return _said(seen.report, read_masks(seen.report, (attention,)), attention)


def _said(report: MaskReport, reading: MaskReading, attention: str) -> Verdict:
    row = reading.worst_row()
    if not reading.instrument_sees:
        return ANSWERS.say("instrument_blind")
    if row is None:
        return ANSWERS.say("no_masks")
    fact = row.fact
    figures = {
        "masks": (float(len(reading.rows)), "1"),
        "window": (fact.size, "tokens"),
        "max_allowed": (fact.max_allowed, "tokens"),
        "width": (fact.width, "tokens"),
    }
    where = "" if row.reason == "right" else f"{fact.layer_type}, {fact.case.value}"
    notes = [f"{code}: {text}" for code, text in mask_notes(report)]
    return ANSWERS.say(row.reason, where, figures=figures, evidence=(attention, *notes))


def controls(_: NoLimits) -> Iterable[Control]:
    """The playbook's model healthy first, then every fault, and every way not to look."""
    for case in mask_cases():
        facts = MaskFacts(report=case.report, attention=case.attention)
        yield ANSWERS.control(case.name, case.reason, project_world(masks=facts))
    healthy = mask_cases()[0].report
    blind = replace(healthy, planted=())
    yield _control("blind", "instrument_blind", MaskFacts(report=blind))
    yield _control("none of it", "no_masks", MaskFacts(report=healthy, attention="flex_attention"))
    yield _control("not configured", "not_configured", None)
    for code in REFUSED:
        yield _control(code, code, MaskFacts(problem=code))
    yield from python_controls(ANSWERS, lambda code: project_world(masks=MaskFacts(problem=code)))


def _control(name: str, code: str, facts: MaskFacts | None) -> Control:
    return ANSWERS.control(name, code, project_world(masks=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="attention_mask_structure",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("masks",),
        runbook=__doc__ or "",
    )
