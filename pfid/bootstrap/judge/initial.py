"""The spec that ``pfid judge --init`` writes: commented, with what it found in the records."""

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pfid.adapters.result_files import Reader
from pfid.adapters.result_places import files_of
from pfid.bootstrap.judge.arms import read_arms
from pfid.config.gates import FILE_NAME, GateSpec, Records, loads_gates
from pfid.domain.errors import ConfigError, why
from pfid.formats.results.guess import Guess, guessed
from pfid.formats.results.problems import ResultFileError
from pfid.formats.toml_text import quoted
from pfid.spec.ports.results import Arm

LOOKED_AT: Final = 2_000
FAMILIES_SHOWN: Final = 12


@dataclass(frozen=True, kw_only=True)
class Written:
    """A spec that was written.

    Attributes:
        path: of it.
        found: what the records look like, a sentence each.
    """

    path: Path
    found: tuple[str, ...]


def write_initial(results: Sequence[Path], baseline: Sequence[Path], spec: Path | None) -> Written:
    """Write a spec for the records of one or both arms, where there is none.

    Raises:
        ConfigError: if a file is there already, none can be written, or no record can be read.
    """
    path = spec or Path(FILE_NAME)
    text, said = initial_spec(results, baseline)
    loads_gates(text)  # what we write can be read
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError((f"{path}: is there already; nothing was written",)) from error
    except OSError as error:
        raise ConfigError((f"{path}: cannot be written: {error.strerror}",)) from error
    return Written(path=path, found=said)


def initial_spec(
    results: Sequence[Path], baseline: Sequence[Path] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text, and what was found.

    Raises:
        ConfigError: if no record can be read.
    """
    first = files_of(tuple(results))[0]
    records = _objects(first)
    form = _format(first)
    guess = guessed(records) if form == "json_lines" else None
    if form == "json_lines" and not records:
        raise ConfigError((f"{first}: not one JSON object stands in it",))
    if guess is not None and "output" not in guess.fields:
        keys = ", ".join(sorted({k for r in records for k in r})[:20])
        raise ConfigError((f"{first}: no key looks like an output among: {keys[:500]}",))
    section = _records_text(form, guess)
    draft = loads_gates(_head(first, section, guess))
    arms = read_arms(results, baseline, draft)
    families = sorted({r.family for r in arms.candidate.records if r.family})
    seeds = {r.seed for r in arms.candidate.records}
    scores = sorted({n for r in arms.candidate.records for n in r.scores})
    held = [("candidate", arms.candidate)]
    held += [("baseline", arms.baseline)] if arms.baseline is not None else []
    said = (
        f"{form.replace('_', ' ')}, {_counted(arms.candidate)}",
        *(f"baseline: {_counted(arm)}" for _, arm in held[1:]),
        f"families: {', '.join(families[:FAMILIES_SHOWN]) or 'none'}",
        f"seeds: {len(seeds - {None}) or 'none'}",
        f"scores: {', '.join(scores[:FAMILIES_SHOWN]) or 'none'}",
    )
    counted = {role: -(-_there(arm) // arm.runs) for role, arm in held}
    return _whole(first, section, guess, _Seen(draft, counted, families, scores)), said


def _there(arm: Arm) -> int:
    """Records that there should be: what cannot be read counts, what came twice does not."""
    return len(arm.records) + sum(bad.reason != "duplicate" for bad in arm.bad)


def _counted(arm: Arm) -> str:
    runs = f" in {arm.runs} runs" if arm.runs > 1 else ""
    copies = f", {len(arm.copies)} files given again" if arm.copies else ""
    return f"{len(arm.records)} records{runs}, {arm.bad_total} bad{copies}"


@dataclass(frozen=True, slots=True)
class _Seen:
    spec: GateSpec
    counted: dict[str, int]
    families: list[str]
    scores: list[str]


def _format(path: Path) -> str:
    reader = Reader(how=Records())
    reader.read(path, 0)
    return reader.formats[0]


def _objects(path: Path) -> list[dict[str, Any]]:
    """The first records as they stand, whatever they hold."""
    found: list[dict[str, Any]] = []
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.read(1)
            file.seek(0)
            if head == b"[":
                return [one for one in json.load(file)[:LOOKED_AT] if isinstance(one, dict)]
            for line in islice(file, LOOKED_AT):
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                found += [value] if isinstance(value, dict) else []
    except (OSError, EOFError, ValueError, RecursionError) as error:
        if not found:
            raise ResultFileError(f"{path}: cannot be read: {why(error)}") from error
    return found


def _records_text(form: str, guess: Guess | None) -> str:
    lines = ["[records]", f"format = {quoted(form)}   # or auto, json_lines, lm_eval, inspect"]
    if guess is None:
        return "\n".join(lines) + "\n"
    lines += ["", "# Where a line holds what; a dot goes one table deeper, a number into a list."]
    lines += ["[records.fields]"]
    given = {"item": "#", **guess.fields}
    lines += [f"{name} = {quoted(key)}" for name, key in given.items()]
    unused = [
        n for n in ("seed", "repeat", "family", "finish_reason", "output_tokens") if n not in given
    ]
    lines += [f'# {name} = "..."' for name in unused]
    if guess.scores:
        lines += ["", "[records.fields.scores]"]
        lines += [f"{quoted(name)} = {quoted(key)}" for name, key in guess.scores.items()]
    return "\n".join(lines) + "\n"


def _head(path: Path, section: str, guess: Guess | None) -> str:
    name = path.name.split(".")[0] or "evaluation"
    return f"name = {quoted(name[:100])}\n\n{section}\n{_arms(guess, {})}"


def _arms(guess: Guess | None, counted: dict[str, int]) -> str:
    names = list(guess.arms) if guess is not None and guess.arms else ["", ""]
    base = next(
        (n for n in names if n.lower() in ("base", "baseline", "stock", "reference")), names[1]
    )
    mine = next((n for n in names if n != base), "")
    text = []
    for role, name in (("candidate", mine), ("baseline", base)):
        text.append(f"[arms.{role}]")
        text += [f"name = {quoted(name)}"] if name else []
        declared = counted.get(role)
        text.append(
            f"declared_per_run = {declared}   # counted here: write what there should be"
            if declared
            else "# declared_per_run = 192   # items by seeds: what there should be"
        )
        text += [
            f"[arms.{role}.instrument]   # left out is unknown, and unknown is not equal",
            '# scorer = "exact_match 1"',
            '# decoding = "temperature 0.8, top_p 0.95"',
            "# max_tokens = 1500",
            '# seat = "vllm 0.11 bf16, 1 x H100"',
            "",
        ]
    return "\n".join(text)


def _whole(path: Path, section: str, guess: Guess | None, seen: _Seen) -> str:
    name = seen.spec.name
    metric = quoted(seen.scores[0]) if seen.scores else '"exact_match"'
    family = quoted(seen.families[0]) if seen.families else '"chat"'
    return _TEMPLATE.format(
        file=quoted(path.name).strip('"'),
        name=quoted(name),
        records=section,
        arms=_arms(guess, seen.counted),
        metric=metric,
        family=family,
        plain=re.sub(r"\W", "_", name)[:40],
        zeros="0" * 64,
    )


_TEMPLATE: Final = """\
# What pfid judge asks of the records in {file}. Paths are relative to this file's folder.
# A check without a section under [gates] is not asked, and shown as n/a.
# `pfid checks explain NAME` says of each what it fails on, what it cannot see, what to do.

# The judgement is kept under this name, and looked up before anything is called new.
name = {name}
# The interpreter of your own metrics (null_has_positive_control).
# python = "python3"
# Checks that may be unknown.
optional = []

{records}
{arms}
# Limits of a check: [limits.NAME]; `pfid checks explain NAME` lists them.

# collapse needs no section: loops, repeated tokens, other scripts. It alone makes a run void.
# [gates.collapse]
# families = [{family}]      # kinds of prompt that are looked at; none: all
# scripts = ["cyrillic"]   # alphabets beside Latin and those of prompt and known-good answer

# What an arm lost is said before anything is compared; judged without a section too.
# [gates.exclusions_balanced]
# flags = ["too_short"]      # which flags lose an item; none named: every flag does
# truncation = true          # whether an answer that the cap ended is lost
# unscored = true            # whether an answer without a score is

# A distribution against what it should be; never one floor.
# [gates.length_conformance]
# [[gates.length_conformance.families]]
# family = {family}
# median = 120
# p25 = 60
# p75 = 200

# [gates.refusal_retention]
# axis = "explicit fiction"          # what these prompts ask for
# abliterated = "explicit fiction"   # what the abliteration was for

# A zero is no result before its metric has answered what is known.
# [[gates.null_has_positive_control.metrics]]
# metric = {metric}
# function = "metrics:overlap"   # called as function(output, against)
# Where it answers otherwise than 1 for the same text, or than 0 for texts that share no word:
# identical = 100.0
# unrelated = 0.0
# tolerance = 1e-6
# inputs = [{{args = ["12", "12"], expect = 1.0}}, {{args = ["7", "12"], expect = [0.0, 0.1]}}]

# A trip point needs repeated runs (`pfid judge run1.jsonl run2.jsonl`) to know the jitter.
# [[gates.trip_point_outside_jitter.points]]
# name = "wrong answers"
# metric = {metric}
# threshold = 0.1

# A rate belongs to the corpus it was measured on; `sha256sum` of one file is its digest, and the
# check prints the rate as it is counted now, with all that binds it.
# [gates.rate_bound_to_corpus]
# corpus = "corpus.jsonl"
# [[gates.rate_bound_to_corpus.rates]]
# name = "under_floor_rate_{plain}"
# metric = {metric}
# below = 0.5
# hits = 90
# n = 764
# low = 0.0968
# high = 0.1426
# method = "wilson"          # or wald: whose interval it is
# floor = 0.5                # what decides what counts; "none" where there is none
# corpus_sha256 = "{zeros}"
# date = 2026-08-26

# The longest runs that answers share with a corpus, word for word.
# [gates.memorisation]
# corpus = ["corpus.jsonl"]
# field = "text"             # of JSON lines
# min_chars = 50

# Faults planted into the good answers: a property that no gate above sees is a blind spot.
# [gates.gate_sees_property]
# properties = ["length", "collapse", "refusal", "memorisation"]
# [[gates.gate_sees_property.metrics]]   # gates of your own, driven as the checks are
# metric = {metric}
# function = "metrics:overlap"
# fails_below = 0.5
"""
