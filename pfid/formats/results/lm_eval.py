"""Sample logs of lm-evaluation-harness (``samples_TASK_DATE.jsonl``), and its results file.

A question has one line a filter: they are one record here, whose scores are named
``metric,filter`` as the harness names them. Of a question that is asked several times
(``repeats``) each answer is a record; the scores, which are of all of them, stand on the first.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pfid.formats.results.problems import RecordError
from pfid.formats.results.values import count, score, shown, text, whole
from pfid.spec.ports.results import Instrument, ResultRecord

SAMPLE_KEYS: Final = frozenset({"doc_id", "doc", "resps", "arguments"})
SEED: Final = "seed"
CAPS: Final = ("max_gen_toks", "max_tokens", "max_new_tokens")
NO_FILTER: Final = "none"
RESULTS_KEYS: Final = frozenset({"results", "configs", "n-samples"})


def is_sample(data: Any) -> bool:
    """Whether a line is of such a log."""
    return isinstance(data, dict) and data.keys() >= SAMPLE_KEYS


def is_results(data: Any) -> bool:
    """Whether a file is the results file of a run."""
    return isinstance(data, dict) and data.keys() >= RESULTS_KEYS


def task_of(name: str) -> str:
    """The task that a file of samples is named after; the name itself if it is no such name."""
    stem = name.removesuffix(".gz").removesuffix(".jsonl")
    if not stem.startswith("samples_"):
        return ""
    task, _, date = stem.removeprefix("samples_").rpartition("_")
    return task if task and date[:2].isdecimal() else stem.removeprefix("samples_")


def records_of(
    data: Any, task: str, place: str, run: int, seed: int | None = None
) -> list[ResultRecord]:
    """The records of one line.

    Args:
        data: of the line.
        task: it belongs to.
        place: of the line.
        run: how many files of the same task came before its own.
        seed: of the run, where its results file tells it; the line's own goes first.

    Raises:
        RecordError: if it cannot be judged.
    """
    if not is_sample(data):
        raise RecordError("not_a_sample", shown(data))
    item = whole(data["doc_id"], "item")
    answers = _answers(data)
    scores = _scores(data)
    arguments = _arguments(data["arguments"])
    settings = arguments[0][1] if arguments else None
    own = settings if isinstance(settings, dict) else {}
    said = _whole(own.get(SEED))
    target = data.get("target")
    return [
        ResultRecord(
            item=str(item),
            family=task,
            repeat=run * len(answers) + i,
            prompt=text(arguments[0][0], "prompt") if arguments else "",
            output=answer,
            reference=None if target is None else _reference(target),
            seed=seed if said is None else said,
            cap_tokens=_cap(own),
            scores=scores if i == 0 else {},
            scored=i == 0,
            place=place,
        )
        for i, answer in enumerate(answers)
    ]


def _reference(target: Any) -> str:
    return target if isinstance(target, str) else json.dumps(target)


def _arguments(value: Any) -> list[tuple[Any, Any]]:
    """(prompt, second argument) of each request; written as a table or as a list."""
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value, key=lambda k: (len(k), k))]
    if not isinstance(value, list):
        raise RecordError("no_prompt", shown(value))
    found = []
    for one in value:
        parts = [one[k] for k in sorted(one)] if isinstance(one, dict) else one
        if not isinstance(parts, list) or not parts:
            raise RecordError("no_prompt", shown(one))
        found.append((parts[0], parts[1] if len(parts) > 1 else None))
    return found


def _answers(data: Mapping[str, Any]) -> list[str]:
    responses = data["resps"]
    if not isinstance(responses, list) or not responses:
        raise RecordError("no_output", shown(responses))
    if _is_likelihood(responses):
        return [_likeliest(data, responses)]
    answers = [one for request in responses for one in _listed(request)]
    if any(not isinstance(one, str) for one in answers):
        raise RecordError("output_is_no_text", shown(answers))
    return answers


def _listed(request: Any) -> list[Any]:
    return request if isinstance(request, list) else [request]


def _is_likelihood(responses: list[Any]) -> bool:
    """Whether choices were weighed, and nothing generated: [[["-1.5", "False"]], ...]."""
    first = responses[0]
    inner = first[0] if isinstance(first, list) and first else first
    return not isinstance(inner, str) and inner is not None


def _likeliest(data: Mapping[str, Any], responses: list[Any]) -> str:
    """The choice that the model held likeliest is its answer."""
    arguments = _arguments(data["arguments"])
    weights = []
    for request in responses:
        inner = request[0] if isinstance(request, list) and request else request
        value = inner[0] if isinstance(inner, list) and inner else inner
        try:
            weights.append(float(value))
        except (TypeError, ValueError) as error:
            raise RecordError("output_is_no_text", shown(request)) from error
    best = weights.index(max(weights))
    choice = arguments[best][1] if best < len(arguments) else None
    return choice if isinstance(choice, str) else str(best)


def _scores(data: Mapping[str, Any]) -> dict[str, float | None]:
    names = data.get("metrics")
    if not isinstance(names, list):
        names = []
    through = data.get("filter", NO_FILTER)
    found: dict[str, float | None] = {}
    for name in (n for n in names if isinstance(n, str)):
        value = data.get(name)
        if isinstance(value, list | dict):  # what a corpus metric is computed from is no score
            continue
        found[name if through == NO_FILTER else f"{name},{through}"] = score(value, name)
    return found


def merged(records: Iterable[ResultRecord]) -> list[ResultRecord]:
    """Records of one question through several filters, as one record with all scores."""
    held: dict[tuple[str, str, int], ResultRecord] = {}
    rest: list[ResultRecord] = []
    for record in records:
        key = (record.family, record.item, record.repeat)
        before = held.get(key)
        if before is None:
            held[key] = record
        elif record.output == before.output and not (record.scores.keys() & before.scores.keys()):
            held[key] = replace(before, scores={**before.scores, **record.scores})
        else:
            rest.append(record)
    return [*held.values(), *rest]


def instrument_of(results: Mapping[str, Any], task: str) -> Instrument:
    """What a results file says a task was measured with. Never the model: it is what differs."""
    config = _table(results.get("config"))
    of_task = _table(_table(results.get("configs")).get(task))
    generation = _generation(results, task)
    version = results.get("lm_eval_version")
    task_version = _table(results.get("versions")).get(task)
    if task_version is None:
        task_version = _table(of_task.get("metadata")).get("version")
    shots = _table(results.get("n-shot")).get(task)
    scorer = [f"lm_eval {version}" if version else "", _said(task_version, f"{task} v")]
    scorer += [_said(shots, "shots ")]
    decoding = json.dumps(
        {k: v for k, v in generation.items() if k not in (*CAPS, SEED)},
        sort_keys=True,
        default=str,
    )
    seat = (
        config.get("model"),
        _said(config.get("model_dtype")),
        _said(results.get("transformers_version"), "transformers "),
        _said(config.get("batch_size"), "batch "),
    )
    return Instrument(
        scorer=" ".join(part for part in scorer if part) if version else None,
        decoding=decoding if generation or of_task.get("output_type") else None,
        max_tokens=_cap(generation),
        seat=" ".join(str(part) for part in seat if part) if config.get("model") else None,
    )


def seed_of(results: Mapping[str, Any], task: str) -> int | None:
    """The seed that the sampler of a run was given, or was meant to be given.

    What is sent with each request goes before what the engine was started with, and that before the
    harness's own ``--seed``, which some engines never see: then outputs do not depend on it, and
    ``trip_point_outside_jitter`` says so.
    """
    config = _table(results.get("config"))
    places = (
        _generation(results, task).get(SEED),
        _arguments_of_model(config.get("model_args")).get(SEED),
        config.get("torch_seed"),
        config.get("random_seed"),
    )
    return next((seed for seed in map(_whole, places) if seed is not None), None)


def _generation(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    of_task = _table(_table(results.get("configs")).get(task))
    given = _table(results.get("config")).get("gen_kwargs")
    return {**_table(of_task.get("generation_kwargs")), **_arguments_of_model(given)}


def _arguments_of_model(value: Any) -> Mapping[str, Any]:
    """Arguments as a table, or as the command line has them: ``pretrained=x,seed=3``."""
    if not isinstance(value, str):
        return _table(value)
    pairs = (part.partition("=") for part in value.split(","))
    return {name.strip(): told.strip() for name, _, told in pairs}


def _whole(value: Any) -> int | None:
    try:
        return whole(value, SEED)
    except RecordError:
        return None


def declared_of(results: Mapping[str, Any], task: str) -> int | None:
    """How many records a task should have: questions that were asked, by repeats."""
    asked = _table(_table(results.get("n-samples")).get(task)).get("effective")
    repeats = _table(_table(results.get("configs")).get(task)).get("repeats", 1)
    if not isinstance(asked, int) or not isinstance(repeats, int) or asked < 0:
        return None
    return asked * max(repeats, 1)


def _cap(generation: Mapping[str, Any]) -> int | None:
    value = next((generation[name] for name in CAPS if name in generation), None)
    try:
        return count(value, "cap_tokens")
    except RecordError:
        return None


def _said(value: Any, before: str = "") -> str:
    return "" if value is None else f"{before}{value}"


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
