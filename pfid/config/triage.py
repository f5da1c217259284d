"""The spec of a triage: what there is to look at. What is left out is said to be left out."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, field

from pfid.config.table import Table
from pfid.config.toml_file import load_file, loads_table

Target = Annotated[str, Meta(pattern=r"\A(tiny|[\w.]+:[\w.]+)\Z")]
"""``module:attribute``, or ``tiny`` for the built-in one."""
Said = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]


class Model(Table, frozen=True, kw_only=True):
    """The model whose masks are asserted.

    Attributes:
        config: folder, config.json or hub id.
        attention: implementation that training uses; what the configuration asks for if empty.
    """

    config: Said
    attention: str = ""


class Step(Table, frozen=True, kw_only=True):
    """The step that is timed.

    Attributes:
        factory: as for ``pfid probe profile``.
        widths: tokens a record; three at least.
        batch: records a micro-batch.
        repeats: steps timed a width.
        device: where.
        gpu: the card, by uuid or index; the first visible if empty.
        loss: the loss that the step calls; "" leaves it out.
        timeout_s: for the whole pass.
    """

    factory: Target
    widths: Annotated[list[Count], Meta(min_length=3, max_length=32)]
    batch: Count = 1
    repeats: Annotated[int, Meta(ge=2, le=100)] = 2
    device: Literal["auto", "cpu", "cuda"] = "auto"
    gpu: str = ""
    loss: Annotated[str, Meta(pattern=r"\A(tiny|[\w.]+:[\w.]+)?\Z")] = ""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 3_600.0


class Trace(Table, frozen=True, kw_only=True):
    """A profiler trace of the run, in the place of one that the step's pass writes.

    Attributes:
        file: Kineto JSON, plain or .gz.
    """

    file: Said


class Lengths(Table, frozen=True, kw_only=True):
    """The data set's lengths.

    Attributes:
        file: as for ``pfid probe lengths``.
        field: of the lengths, where it has no usual name.
        batch: records a micro-batch.
        accumulation: micro-batches a step.
        max_length: tokens at which the trainer truncates; 0 for nowhere.
        order: how micro-batches are formed today.
    """

    file: Said
    field: str = ""
    batch: Count
    accumulation: Count = 1
    max_length: Annotated[int, Meta(ge=0)] = 0
    order: Literal["shuffled", "as_is"] = "shuffled"


class Claims(Table, frozen=True, kw_only=True):
    """The ledger whose measured negatives are not recommended again.

    Attributes:
        file: claims.toml.
    """

    file: Said = "claims.toml"


class TriageSpec(Table, frozen=True, kw_only=True):
    """Everything there is to look at; paths are relative to the spec's folder."""

    model: Model | None = None
    step: Step | None = None
    trace: Trace | None = None
    lengths: Lengths | None = None
    claims: Claims | None = None
    title: str = field(default="")


def load_triage(path: Path) -> TriageSpec:
    """Read a spec.

    Raises:
        ConfigError: with every problem found, or saying why it cannot be read.
    """
    return load_file(path, loads_triage, "spec")


def loads_triage(text: str) -> TriageSpec:
    """Read the text of a spec.

    Raises:
        ConfigError: with every problem found.
    """
    return loads_table(TriageSpec, text, _problems)


def _problems(spec: TriageSpec) -> list[str]:
    if spec.model or spec.step or spec.trace or spec.lengths:
        return []
    return ["it names nothing to look at: a [model], [step], [trace] or [lengths]"]
