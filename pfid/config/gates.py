"""GATES.toml: what an evaluation is, what it was measured with, and what is asked of it.

Paths are relative to the folder of the spec. A check without a section under ``gates`` is not
asked, and said so.
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, field

from pfid.config.toml_file import load_file, loads_table
from pfid.spec.record_fields import Fields
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.table import Table

FILE_NAME: Final = "GATES.toml"
NAME_MAX_CHARS: Final = 120


class Records(Table, frozen=True, kw_only=True):
    """How the files are read.

    Attributes:
        format: ``auto`` looks at the file.
        fields: of JSON lines; the other formats know their own.
        family: what to call the family of records that name none.
        line_max_bytes: a longer line is a bad record.
        max_records: more are refused before they fill the memory; each takes some 1.5 kB and its
            text.
    """

    format: Literal["auto", "json_lines", "lm_eval", "inspect"] = "auto"
    fields: Fields = field(default_factory=Fields)
    family: str = ""
    line_max_bytes: Annotated[int, Meta(ge=1_024, le=1_073_741_824)] = 16_777_216
    max_records: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 2_000_000


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
        declared_per_run: the same of one run, so that the files of a command line, which are
            repeated runs, may be any number; instead of ``declared``.
        instrument: what it was measured with; beside what a log says itself.
    """

    name: str = ""
    declared: Annotated[int, Meta(ge=1)] | None = None
    declared_per_run: Annotated[int, Meta(ge=1)] | None = None
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
    return load_file(path, loads_gates, "spec", hint="; `pfid judge --init RESULTS` writes one")


def loads_gates(text: str) -> GateSpec:
    """Read the text of a spec.

    Raises:
        ConfigError: with every problem found.
    """
    return loads_table(GateSpec, text, _rules)


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
