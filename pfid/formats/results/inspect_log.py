"""Logs of inspect-ai: the header of an evaluation, and its samples one by one."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pfid.formats.results.problems import RecordError
from pfid.formats.results.values import count, score, shown, text, whole
from pfid.spec.ports.results import Instrument, ResultRecord

HEADER_KEYS: Final = frozenset({"eval", "version", "status"})
SEED: Final = "seed"
CAP: Final = "max_tokens"
HOW_IT_RUNS: Final = frozenset(
    {CAP, SEED, "max_retries", "timeout", "attempt_timeout", "max_connections", "cache", "batch"}
)
"""Settings that change neither what is drawn nor from what."""
OF_THE_MODEL: Final = frozenset(
    {"model_path", "tokenizer", "tokenizer_path", "adapter_path", "peft_model", "peft_model_path"}
)
"""Arguments of a provider that say which model it is: what differs between arms."""


def is_log(data: Any) -> bool:
    """Whether a file, or its header, is such a log."""
    return isinstance(data, dict) and data.keys() >= HEADER_KEYS and isinstance(data["eval"], dict)


def record_of(sample: Any, header: Mapping[str, Any], place: str, run: int) -> ResultRecord:
    """One sample.

    Args:
        sample: it.
        header: of its log.
        place: of the sample.
        run: how many logs of the same task came before its own.

    Raises:
        RecordError: if it cannot be judged.
    """
    if not isinstance(sample, dict):
        raise RecordError("not_an_object", shown(sample))
    if sample.get("error"):
        raise RecordError("sample_error", shown(_table(sample["error"]).get("message")))
    output = _table(sample.get("output"))
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices:
        raise RecordError("no_output", "the sample has no choice")
    first = _table(choices[0])
    said, thought = _spoken(_table(first.get("message")).get("content"))
    epoch = whole(sample.get("epoch", 1), "epoch") or 1
    settings = _generation(header)
    target = sample.get("target")
    return ResultRecord(
        item=text(sample.get("id"), "item"),
        family=task_of(header),
        seed=whole(settings.get(SEED), "seed"),
        repeat=run * _epochs(header) + epoch - 1,
        prompt=text(sample.get("input", ""), "prompt"),
        output=said,
        reasoning=thought,
        reference=None if not target else text(target, "reference"),
        output_tokens=count(_table(output.get("usage")).get("output_tokens"), "output_tokens"),
        cap_tokens=count(settings.get(CAP), "cap_tokens"),
        finish_reason=_finish(first.get("stop_reason")),
        flags=_flags(sample),
        scores=_scores(_table(sample.get("scores"))),
        place=place,
    )


def _finish(reason: Any) -> str | None:
    return reason if isinstance(reason, str) and reason != "unknown" else None


def _flags(sample: Mapping[str, Any]) -> tuple[str, ...]:
    limit = _table(sample.get("limit")).get("type")
    return (f"limit_{limit}",) if isinstance(limit, str) else ()


def _spoken(content: Any) -> tuple[str, str]:
    """What was said, and what was thought."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        raise RecordError("no_output", shown(content))
    parts = [_table(part) for part in content]
    return (
        "\n".join(str(p["text"]) for p in parts if p.get("type") == "text" and "text" in p),
        "\n".join(str(p.get("reasoning", "")) for p in parts if p.get("type") == "reasoning"),
    )


def _scores(scores: Mapping[str, Any]) -> dict[str, float | None]:
    """A number a scorer; one a key where it gives a table. What is no number is not one."""
    found: dict[str, float | None] = {}
    for name, given in scores.items():
        value = _table(given).get("value")
        if isinstance(value, dict):
            found |= {f"{name}.{k}": score(v, f"{name}.{k}") for k, v in value.items()}
        elif not isinstance(value, list):
            found[name] = score(value, name)
    return found


def task_of(header: Mapping[str, Any]) -> str:
    """What was evaluated."""
    task = header["eval"].get("task")
    return task if isinstance(task, str) else ""


def instrument_of(header: Mapping[str, Any]) -> Instrument:
    """What it was measured with. Never the model: it is what differs between arms."""
    evaluated = header["eval"]
    settings = _generation(header)
    version = _table(evaluated.get("packages")).get("inspect_ai")
    scorers = [s for s in map(_scorer, evaluated.get("scorers") or []) if s]
    if not scorers:
        given = _table(header.get("results")).get("scores")
        scorers = [_scorer(s) for s in given] if isinstance(given, list) else []
    decoding = {k: v for k, v in settings.items() if k not in HOW_IT_RUNS and v is not None}
    provider = str(evaluated.get("model", "")).partition("/")[0]
    given = {
        k: v
        for k, v in _table(evaluated.get("model_args")).items()
        if isinstance(v, str | int | float) and k not in OF_THE_MODEL
    }
    seat = [provider, evaluated.get("model_base_url"), given or None]
    return Instrument(
        scorer=f"inspect_ai {version}: {', '.join(sorted(scorers))}" if scorers else None,
        decoding=json.dumps(decoding, sort_keys=True, default=str),
        max_tokens=count(settings.get(CAP), "cap_tokens"),
        seat=" ".join(_seat_part(part) for part in seat if part) if provider else None,
    )


def _seat_part(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)


def _scorer(given: Any) -> str:
    name = _table(given).get("scorer") or _table(given).get("name")
    return name if isinstance(name, str) else ""


def declared_of(header: Mapping[str, Any]) -> int | None:
    """How many samples there should be, epochs counted."""
    total = _table(header.get("results")).get("total_samples")
    if isinstance(total, int) and total >= 0:
        return total
    dataset = _table(header["eval"].get("dataset"))
    ids = dataset.get("sample_ids")
    number = len(ids) if isinstance(ids, list) else dataset.get("samples")
    return number * _epochs(header) if isinstance(number, int) else None


def _epochs(header: Mapping[str, Any]) -> int:
    epochs = _table(header["eval"].get("config")).get("epochs")
    return epochs if isinstance(epochs, int) and epochs > 0 else 1


def _generation(header: Mapping[str, Any]) -> dict[str, Any]:
    of_model = _table(header["eval"].get("model_generate_config"))
    return {**of_model, **_table(_table(header.get("plan")).get("config"))}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
