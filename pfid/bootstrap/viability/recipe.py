"""A recipe card held beside the model, axis by axis."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pfid.adapters.chat_template import template_digest
from pfid.adapters.config_file import UnreadableFileError, read_config_file
from pfid.analysis.memory.account import account
from pfid.bootstrap.viability.candidate import Candidate
from pfid.spec.ports.viability import ModelFacts, RecipeAxis, RecipeFacts

KEYS: Final = frozenset(
    {"checkpoint", "architecture", "alignment", "parameters", "template", "precision"}
)
ARCHITECTURES: Final = ("dense", "moe")
_BILLIONS: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([KMBT])", re.IGNORECASE)
_PRECISIONS: Final = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32"}
_POWERS: Final = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def recipe_facts(candidate: Candidate, model: ModelFacts) -> RecipeFacts | None:
    """Read the card; None where none is given."""
    if candidate.recipe is None:
        return None
    try:
        card = _card(candidate.recipe)
    except UnreadableFileError as error:
        return RecipeFacts(problem="card_unreadable", detail=str(error))
    ours = _ours(candidate, model)
    axes = tuple(
        RecipeAxis(name=name, card=_spelt(_text(card, name)), ours=_spelt(ours.get(name, "")))
        for name in ("architecture", "alignment", "template", "precision")
    )
    return RecipeFacts(
        checkpoint=_text(card, "checkpoint"),
        axes=axes,
        card_parameters=_size(card.get("parameters")),
        our_parameters=_counted(candidate, model),
    )


def _card(path: Path) -> Mapping[str, Any]:
    """The card's table; a misspelt key would be an axis that nobody compares.

    Raises:
        UnreadableFileError: if it is none.
    """
    found = read_config_file(path)
    card = found.get("recipe", found) if isinstance(found, dict) else None
    if not isinstance(card, dict):
        raise UnreadableFileError(f"{path.name}: it is no table")
    unknown = sorted(set(card) - KEYS)
    if unknown:
        raise UnreadableFileError(f"{path.name}: a card has no key {', '.join(unknown)[:200]}")
    kind = card.get("architecture", "dense")
    if kind not in ARCHITECTURES:
        raise UnreadableFileError(f"{path.name}: architecture is dense or moe")
    if "parameters" in card and _size(card["parameters"]) <= 0:
        raise UnreadableFileError(f"{path.name}: parameters is a number, or text like 26B")
    return card


def _text(card: Mapping[str, Any], name: str) -> str:
    value = card.get(name)
    return value.strip()[:200] if isinstance(value, str) else ""


def _spelt(said: str) -> str:
    """One spelling of a word that has several: BF16 is no other precision than bfloat16."""
    word = said.strip().casefold().removeprefix("torch.")
    return _PRECISIONS.get(word, word)


def _size(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 < value < 1e18 else 0.0
    found = _BILLIONS.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1]) * _POWERS[found[2].upper()] if found else 0.0


def _ours(candidate: Candidate, model: ModelFacts) -> dict[str, str]:
    known = {"alignment": candidate.alignment, "template": _template(candidate)}
    if model.shape is not None:
        known["architecture"] = "moe" if model.shape.experts else "dense"
        known["precision"] = model.shape.quantised or model.shape.dtype
    return known


def _template(candidate: Candidate) -> str:
    first = candidate.paths[0]
    return template_digest(first if first.is_dir() else first.parent)


def _counted(candidate: Candidate, model: ModelFacts) -> float:
    if model.shape is None:
        return 0.0
    found = account(model.shape, model.weights, candidate.plan)
    return float(sum(found.parameters) // 2) if found.counted.known or model.weights.source else 0.0
