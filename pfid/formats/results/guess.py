"""Guesses the fields of records nobody has described: by the names that people give them."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.formats.results.values import WORDS, looked_up

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("id", "item", "item_id", "prompt_id", "question_id", "sample_id", "doc_id", "idx",
             "index", "uid", "uuid", "key", "task_id"),
    "output": ("output", "response", "completion", "generation", "answer", "text", "prediction",
               "model_output", "generated_text", "generated", "reply", "content", "resps",
               "choices.0.message.content", "choices.0.text", "outputs"),
    "arm": ("arm", "model", "model_name", "variant", "checkpoint", "system"),
    "family": ("family", "category", "kind", "task", "subset", "type", "domain", "axis", "group"),
    "seed": ("seed", "sampling_seed", "rng_seed", "config.seed", "seed_block"),
    "repeat": ("repeat", "epoch", "run", "trial", "attempt", "rep"),
    "prompt": ("prompt", "question", "input", "instruction", "messages", "query"),
    "reasoning": ("reasoning", "reasoning_content", "thinking", "thought"),
    "reference": ("reference", "target", "expected", "gold", "label", "ideal", "known_good"),
    "output_tokens": ("output_tokens", "completion_tokens", "n_tokens", "num_tokens",
                      "usage.completion_tokens", "usage.output_tokens", "generated_tokens"),
    "cap_tokens": ("cap_tokens", "max_tokens", "max_new_tokens", "max_gen_toks"),
    "finish_reason": ("finish_reason", "stop_reason", "finish", "choices.0.finish_reason"),
    "language": ("language", "lang", "locale"),
    "flags": ("flags", "tags", "warnings"),
}  # fmt: skip
TABLES: Final = ("scores", "metrics", "results", "score")
NO_SCORES: Final = re.compile(
    r"(^|[._])(id|idx|index|seed|tokens|len|length|time|ms|seconds|s|step|epoch|repeat|temperature|"
    r"top_p|top_k|version|timestamp|date|created|run|trial|attempt|rank|year)$|_(tokens|ms|s|id)$",
    re.IGNORECASE,
)
SHARE: Final = 0.9
"""Of the records that must hold a key before it is believed."""
SCORES_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What the records look like.

    Attributes:
        fields: key by field.
        scores: key by metric.
        arms: names of arms by how many records; empty unless there are exactly two.
        families: names of families by how many records.
        seeds: how many there are.
    """

    fields: Mapping[str, str]
    scores: Mapping[str, str]
    arms: Mapping[str, int]
    families: Mapping[str, int]
    seeds: int


def guessed(records: Sequence[Mapping[str, Any]]) -> Guess:
    """Look at records, each a JSON object."""
    found: dict[str, str] = {}
    for field, names in NAMES.items():
        lowered = {key.lower(): key for record in records[:50] for key in record}
        candidates = [lowered.get(name, name) for name in names]
        key = next(
            (k for k in candidates if k not in found.values() and _fits(field, k, records)), ""
        )
        if key:
            found[field] = key
    arms = _counted(found.get("arm", ""), records)
    if len(arms) != 2:
        found.pop("arm", None)
        arms = {}
    return Guess(
        fields=found,
        scores=_scores(records, set(found.values())),
        arms=arms,
        families=_counted(found.get("family", ""), records),
        seeds=len(_counted(found.get("seed", ""), records)),
    )


def _fits(field: str, key: str, records: Sequence[Mapping[str, Any]]) -> bool:
    values = [v for r in records if (v := looked_up(r, key)) is not None]
    if not values or len(values) < SHARE * len(records):
        return False
    return all(_is(field, value) for value in values)


def _is(field: str, value: Any) -> bool:
    if field in ("seed", "repeat", "output_tokens", "cap_tokens"):
        return isinstance(value, int) and not isinstance(value, bool)
    if field == "item":
        return isinstance(value, str | int) and not isinstance(value, bool)
    if field == "flags":
        return isinstance(value, str | list | dict)
    if field in ("prompt", "output"):
        return isinstance(value, str | list | dict) and bool(value != {})
    return isinstance(value, str)


def _counted(key: str, records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    if not key:
        return {}
    return dict(Counter(str(looked_up(r, key)) for r in records).most_common())


def _scores(records: Sequence[Mapping[str, Any]], taken: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    keys: dict[str, None] = {}
    for record in records[:200]:
        keys |= dict.fromkeys(record)
        for table in TABLES:
            inner = record.get(table)
            if isinstance(inner, dict):
                keys |= dict.fromkeys(f"{table}.{name}" for name in inner)
    for key in keys:
        values = [v for r in records if (v := looked_up(r, key)) is not None]
        plain = key not in taken and not NO_SCORES.search(key)
        if plain and values and all(map(_is_score, values)) and len(found) < SCORES_MAX:
            name = key.partition(".")[2] if key.partition(".")[0] in TABLES else key
            found[name or key] = key
    return found


def _is_score(value: Any) -> bool:
    if isinstance(value, str):
        return value in WORDS
    return isinstance(value, bool | int | float) and not (
        isinstance(value, float) and math.isinf(value)
    )
