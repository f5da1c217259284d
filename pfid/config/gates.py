"""GATES.toml: what an evaluation is, what it was measured with, and what is asked of it.

Paths are relative to the folder of the spec. A check without a section under ``gates`` is not
asked, and said so.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, field

from pfid.config.tables import build_table
from pfid.domain.errors import ConfigError
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.table import Table

FILE_NAME: Final = "GATES.toml"
MAX_BYTES: Final = 1024 * 1024
NAME_MAX_CHARS: Final = 120
Path_ = Annotated[str, Meta(min_length=1, max_length=500)]
"""A key of a record; a dot goes one table deeper, a number takes that entry of a list."""
Name = Annotated[str, Meta(min_length=1, max_length=NAME_MAX_CHARS)]


class Fields(Table, frozen=True, kw_only=True):
    """Where a JSON line holds what. Empty: the records do not hold it.

    Attributes:
        item: which question; "#" numbers the lines.
        output: what came back.
        arm: of which arm, where one file holds both.
        family: kind of prompt.
        seed: of the sampler.
        repeat: which run over the same item and seed.
        prompt: what was asked; a list of messages is joined.
        reasoning: what was thought beside the output.
        reference: the known-good answer.
        output_tokens: length of the answer.
        cap_tokens: where it would have been cut off.
        finish_reason: of the engine.
        language: of the prompt.
        flags: words, a list of them, or a table of booleans.
        scores: metric to key.
    """

    item: Path_ = "id"
    output: Path_ = "output"
    arm: str = ""
    family: str = ""
    seed: str = ""
    repeat: str = ""
    prompt: str = ""
    reasoning: str = ""
    reference: str = ""
    output_tokens: str = ""
    cap_tokens: str = ""
    finish_reason: str = ""
    language: str = ""
    flags: str = ""
    scores: dict[str, Path_] = field(default_factory=dict)


class Records(Table, frozen=True, kw_only=True):
    """How the files are read.

    Attributes:
        format: ``auto`` looks at the file.
        fields: of JSON lines; the other formats know their own.
        family: what to call the family of records that name none.
        line_max_bytes: a longer line is a bad record.
    """

    format: Literal["auto", "json_lines", "lm_eval", "inspect"] = "auto"
    fields: Fields = field(default_factory=Fields)
    family: str = ""
    line_max_bytes: Annotated[int, Meta(ge=1_024, le=1_073_741_824)] = 16_777_216


class MeasuredWith(Table, frozen=True, kw_only=True):
    """What an arm was measured with. What is left out is unknown, which is not equal.

    Attributes:
        scorer: and its version.
        decoding: temperature and the like.
        max_tokens: cap of an answer.
        seat: the serving stack: engine, version, precision, hardware.
        digest: of the scorer's code or of the prompts.
    """

    scorer: str | None = None
    decoding: str | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    seat: str | None = None
    digest: str | None = None


class ArmSpec(Table, frozen=True, kw_only=True):
    """One arm.

    Attributes:
        name: as its records call it, where one file holds both arms.
        declared: how many records there should be: items by seeds by repeats. Left out: the log's
            own word where it gives one.
        instrument: what it was measured with; beside what a log says itself.
    """

    name: str = ""
    declared: Annotated[int, Meta(ge=1)] | None = None
    instrument: MeasuredWith = field(default_factory=MeasuredWith)


class Arms(Table, frozen=True, kw_only=True):
    """Both arms."""

    candidate: ArmSpec = field(default_factory=ArmSpec)
    baseline: ArmSpec = field(default_factory=ArmSpec)


class GateSpec(Table, frozen=True, kw_only=True):
    """The whole file.

    Attributes:
        name: of the evaluation; the record of its judgement is kept under it.
        previous: name, where the run before was judged under another one.
        python: the interpreter of your own metrics.
        optional: checks that may be UNKNOWN.
        records: how they are read.
        arms: what they are.
        limits: of checks, by name.
        gates: what is asked of each check.
    """

    name: Annotated[str, Meta(max_length=NAME_MAX_CHARS)] = ""
    previous: Annotated[str, Meta(max_length=NAME_MAX_CHARS)] = ""
    python: str = ""
    optional: list[str] = field(default_factory=list)
    records: Records = field(default_factory=Records)
    arms: Arms = field(default_factory=Arms)
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    gates: Gates = field(default_factory=Gates)


def load_gates(path: Path) -> GateSpec:
    """Read a spec.

    Raises:
        ConfigError: with every problem found, or saying why it cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        why = f"{path}: cannot be read: {error.strerror}; `pfid judge --init RESULTS` writes one"
        raise ConfigError((why,)) from error
    if len(text) > MAX_BYTES:
        raise ConfigError((f"{path}: over {MAX_BYTES} bytes is no spec",))
    try:
        return loads_gates(text.decode())
    except UnicodeDecodeError as error:
        raise ConfigError((f"{path}: not UTF-8: {error}",)) from error
    except ConfigError as error:
        raise ConfigError(tuple(f"{path}: {problem}" for problem in error.problems)) from error


def loads_gates(text: str) -> GateSpec:
    """Read the text of a spec.

    Raises:
        ConfigError: with every problem found.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError((f"not TOML: {error}",)) from error
    problems: list[str] = []
    spec = build_table(GateSpec, data, "", problems)
    if isinstance(spec, GateSpec):
        problems += _rules(spec)
    if problems or not isinstance(spec, GateSpec):
        raise ConfigError(tuple(problems))
    return spec


def _rules(spec: GateSpec) -> list[str]:
    """What is wrong with keys that are each right."""
    found = []
    arms, fields = spec.arms, spec.records.fields
    if fields.arm and not (arms.candidate.name and arms.baseline.name):
        found.append("records.fields.arm: needs arms.candidate.name and arms.baseline.name")
    if arms.candidate.name and arms.candidate.name == arms.baseline.name:
        found.append("arms.baseline.name: is the candidate's")
    for gate in msgspec.structs.fields(Gates):
        section = getattr(spec.gates, gate.name)
        if section is not None:
            found += [f"gates.{gate.name}{where}" for where in section.problems()]
    return found
