"""A model's viability as JSON, and what of it people read too."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from pfid.bootstrap.viability.judging import Candidacy, Judged
from pfid.cli.shapes import verdict_json, verdicts_json
from pfid.domain.model import ModelShape
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.domain.training_plan import Plan
from pfid.domain.weights import Weights
from pfid.spec.ports.viability import ModelFacts

GIB: Final = 1 << 30
FIT: Final = "fits_for_training"
LOW, HIGH = "_low", "_high"
FUSED: Final = "fused"


def viability_json(
    name: str, facts: ModelFacts, plan: Plan, judged: Sequence[Judged]
) -> dict[str, Any]:
    """The object that ``pfid viability --json`` prints."""
    shown = verdicts_json(j.view for j in judged)
    return {
        "name": name,
        "model": _model_json(facts),
        "plan": plan,
        "memory": [
            {"item": item, "low": low, "high": high} for item, low, high in memory_items(judged)
        ],
        "verdicts": [
            {**verdict_json(j.view), "remedy": j.remedy, "evidence": list(j.evidence)}
            for j in judged
        ],
        "summary": shown["summary"],
    }


def memory_items(judged: Sequence[Judged]) -> list[tuple[str, float, float]]:
    """Every item of the account, with the peak as its sum; empty where there is none."""
    view = next((j.view for j in judged if j.view.check == FIT), None)
    if view is None:
        return []
    names = [n.removesuffix(LOW) for n in view.figures if n.endswith(LOW)]
    return [
        (n, view.figures[n + LOW].value, view.figures[n + HIGH].value)
        for n in names
        if n + HIGH in view.figures
    ]


def size_text(view: VerdictView | None) -> str:
    """Parameters and bytes, "" where nobody knows."""
    if view is None or "parameters" not in view.figures:
        return ""
    figures = view.figures
    size = f"{figures['parameters'].value / 1e9:.3f} B parameters"
    return f"{size}, {figures['weights'].value / GIB:.1f} GiB"


def layer_counts(shape: ModelShape) -> dict[str, int]:
    """Layers by how they mix; blocks of a feed-forward alone by what they hold."""
    counted: Counter[str] = Counter()
    for layer in shape.layers:
        kind = layer.mixer.value
        if kind == "none":
            kind = "moe" if layer.feed.experts else "mlp"
        counted[kind] += 1
    return dict(counted.most_common())


def _model_json(facts: ModelFacts) -> dict[str, Any]:
    notes = [{"code": code, "text": text} for code, text in facts.notes]
    shape = facts.shape
    if shape is None:
        return {"problem": facts.problem, "weights": _weights_json(facts.weights), "notes": notes}
    return {
        "problem": None,
        "source": shape.source,
        "model_type": shape.model_type,
        "classes": list(shape.classes),
        "dtype": shape.dtype or None,
        "quantised": shape.quantised or None,
        "hidden": shape.hidden,
        "vocabulary": shape.vocabulary,
        "tied": shape.tied,
        "layers": layer_counts(shape),
        "experts": shape.experts,
        "moe_layers": sum(layer.feed.experts > 0 for layer in shape.layers),
        "towers": [tower.key for tower in shape.towers],
        "mtp_layers": shape.mtp_layers,
        "brings_code": shape.code,
        "weights": _weights_json(facts.weights),
        "notes": notes,
    }


def _weights_json(weights: Weights) -> dict[str, Any]:
    return {
        "source": weights.source or None,
        "size_bytes": weights.size_bytes or None,
        "parameters": weights.parameters,
        "by_dtype": dict(weights.by_dtype),
        "shards_on_disk": weights.on_disk,
        "pointers": weights.pointers,
        "missing": weights.missing,
    }


Compared = Sequence[tuple[str, ModelFacts, Sequence[Judged]]]
MAPPING, LORA = "expert_mapping", "lora_supported"
COLUMNS: Final = {
    "FITS": FIT,
    "MOE MAPPING": MAPPING,
    "LORA": LORA,
    "KERNELS": "hybrid_needs_kernel",
    "ATTENTION": "attention_shape",
}
"""The playbook's checks of a base, in its order (3.11)."""


def compared_json(found: Sequence[tuple[str, Candidacy]], plan: Plan) -> dict[str, Any]:
    """The object that ``pfid viability compare --json`` prints.

    What the interpreter answered of kernels is each model's own, and no part of the common plan.
    """
    common = {f.name: getattr(plan, f.name) for f in fields(plan) if f.name != FUSED}
    return {"plan": common, "models": [_compared(*of) for of in found]}


def _compared(name: str, one: Candidacy) -> dict[str, Any]:
    shown = viability_json(name, one.facts, one.plan, one.judged)
    kept = {key: value for key, value in shown.items() if key != "plan"}
    return {**kept, FUSED: one.plan.fused, "conclusion": conclusion(one.judged)}


def conclusion(judged: Sequence[Judged]) -> str:
    """What the checks together say of a base, in the playbook's words."""
    of = {str(j.view.check): j.view.outcome for j in judged if j.view.check in COLUMNS.values()}
    trains = {Outcome.PASS: "trainable", Outcome.FAIL: "not trainable here"}
    first = trains.get(of.get(FIT, Outcome.UNKNOWN), "unknown whether it trains here")
    second = _served(of.get(MAPPING), of.get(LORA))
    if first == "trainable" and second == "servable with hot-swap":
        return "passes all" if Outcome.FAIL not in of.values() else f"{first}, {second}"
    return f"{first}, {second}" if second else first


def _served(mapping: Outcome | None, lora: Outcome | None) -> str:
    """How adapters could be served; "" where no engine was asked."""
    if Outcome.FAIL in (mapping, lora):
        return "merge-only"
    if Outcome.UNKNOWN in (mapping, lora):
        return "unknown how it is served"
    return "servable with hot-swap" if lora is Outcome.PASS else ""
