"""Which run a trace is of, and what that run was launched with."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pfid.analysis.flag_taken import FlagTaken, flag_taken, unbound
from pfid.analysis.kernel_launches import Launches
from pfid.cli.output import note
from pfid.cli.times import rfc3339
from pfid.cli.trace_reading import ReadTrace
from pfid.domain.errors import StateError
from pfid.domain.provenance import Field, Manifest

if TYPE_CHECKING:
    from pfid.adapters.manifest_files import ManifestRead

EPOCH_NS: Final = 1_000_000_000_000_000_000
"""Times beyond this are wall time; a trace with smaller ones says what they are relative to."""
SLACK_S: Final = 60.0
"""A profiler's clock and the launcher's need not agree to the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A manifest, and how it came to stand for a trace: ``named`` or ``beside``."""

    read: "ManifestRead"
    by: str


def bind(trace: str, run: str | None) -> Bound | None:
    """Find the manifest of a trace: the run's that was named, or the one that lies beside it.

    Raises:
        PfidError: if the named one is not there, or cannot be read.
    """
    if run is not None:
        from pfid.bootstrap.manifest_lookup import load

        return Bound(read=load(run, os.environ), by="named")
    beside = None if trace == "-" else Path(trace).with_name("provenance.json")
    if beside is None or not beside.is_file():
        return None
    from pfid.adapters.manifest_files import read_manifest

    try:
        return Bound(read=read_manifest(beside), by="beside")
    except StateError as error:  # another program's, perhaps
        note(f"{trace} is bound to no run: {error}")
        return None


def flags_of(
    bound: Bound, trace: ReadTrace, launches: Launches, wanted: Sequence[str]
) -> list[FlagTaken]:
    """Judge the flags that the run was launched with by what the trace launched."""
    manifest = bound.read.manifest
    why = not_of_it(bound, trace)
    found = []
    for name in wanted:
        requested = manifest.fields.get(name, Field()).requested
        if why:
            found.append(unbound(name, requested, why))
        else:
            found.append(flag_taken(name, requested, launches, trace.unread))
    return found


def not_of_it(bound: Bound, trace: ReadTrace) -> str:
    """Why a trace is not known to be of the run."""
    manifest = bound.read.manifest
    if bound.read.changed:
        return "the manifest was edited after pfid wrote it"
    if not trace.table.used:
        return "the trace has no device rows"
    at_s = traced_at_s(trace)
    if at_s is None:
        return ""
    if at_s < manifest.sampled_at_s - SLACK_S or _ended_before(manifest, at_s):
        return f"the trace was taken at {rfc3339(at_s)}, when {manifest.run_id} did not run"
    return ""


def _ended_before(manifest: Manifest, at_s: float) -> bool:
    return manifest.end is not None and at_s > manifest.end.at_s + SLACK_S


def traced_at_s(trace: ReadTrace) -> float | None:
    """Wall time of the first kernel, Unix seconds; None where the trace does not tell."""
    span = trace.table.kernel_span
    base = trace.reading.facts.get("baseTimeNanoseconds")
    if span is None:
        return None
    if isinstance(base, int) and base > 0:
        return (base + span[0]) / 1e9
    return span[0] / 1e9 if span[0] > EPOCH_NS else None


def provenance_json(bound: Bound | None, flags: Sequence[FlagTaken]) -> dict[str, Any] | None:
    """What the report says of it."""
    if bound is None:
        return None
    return {
        "run_id": bound.read.manifest.run_id,
        "file": str(bound.read.file),
        "bound_by": bound.by,
        "complete": bound.read.manifest.complete,
        "flags": [
            {
                "field": flag.field,
                "requested": flag.requested,
                "outcome": flag.outcome.value,
                "reason": flag.reason,
                "text": flag.text,
            }
            for flag in flags
        ],
    }


def provenance_notes(bound: Bound, flags: Sequence[FlagTaken]) -> Iterator[tuple[str, str]]:
    """What a reader must be told about the flags."""
    manifest = bound.read.manifest
    for flag in flags:
        yield f"flag_{flag.reason}", flag.text
    zero = [name for name in manifest.fields if _is_zero_difference(name, manifest.fields[name])]
    if zero and not any(flag.reason in {"took", "did_not_take"} for flag in flags):
        yield (
            "zero_difference",
            f"{zero[0]} is 0, as it is where a flag never took: that is evidence of nothing",
        )


def _is_zero_difference(name: str, field: Field) -> bool:
    return name.endswith("max_abs_diff") and field.observed == 0
