"""The fields of a manifest: which there always are, and what each column is filled with."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from pfid.domain.provenance import Field, Source
from pfid.policy.masking import mask_value
from pfid.policy.provenance_pairs import rule_of

STANDARD: Final = (
    "attn_implementation",
    "experts_implementation",
    "max_seq_len",
    "mask.sha256",
    "quantized_base",
    "base.weights",
    "template.sha256",
    "template.rendered_sha256",
    "adapter.rank",
    "adapter.alpha",
    "adapter.targets",
    "eligibility_override",
    "truncation",
    "tokens.loss",
    "tokens.loss_delta",
    "quantized_tensors",
    "adapter.norm",
    "dynamo.counters",
    "step_seconds",
)
"""Always there: a manifest that omits one looks like that of a harness too old to know it."""
RESOLVED: Final = "resolved."
"""An observation of ``resolved.X`` says what the library settled on for X."""
VALUES_MAX: Final = 64
"""So many different observations of one field are kept."""


class Said(Struct, frozen=True, kw_only=True):
    """One value, and who said it."""

    value: Any
    by: Source


class Heard(Struct, frozen=True, kw_only=True):
    """What the processes of a run said about one key.

    Attributes:
        key: as they wrote it.
        configured: the last assignment; None if there is none.
        observed: by processes that did not assign it.
        refused: by the process that assigned it.
        assigners: every process that assigned it, by pid and start.
        observers: every process that observed it, without those.
    """

    key: str
    configured: Said | None
    observed: tuple[Said, ...]
    refused: tuple[Said, ...]
    assigners: frozenset[tuple[int, int | None]] = frozenset()
    observers: frozenset[tuple[int, int | None]] = frozenset()


def always_there(expected: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the fields that a manifest has whether or not anybody speaks of them.

    Args:
        expected: the spec's own pairs: a run that claims neither side says so with null.
    """
    return tuple(dict.fromkeys((*STANDARD, *expected, *filter(None, expected.values()))))


def at_launch(
    declared: Mapping[str, Any],
    declared_by: str,
    expect_step_s: float | None,
    expected: Mapping[str, str] | None = None,
) -> dict[str, Field]:
    """Every standard field, with what is asked for before anything runs.

    Args:
        declared: requested settings of the spec, by field.
        declared_by: the spec's path.
        expect_step_s: from ``--expect-step``.
        expected: the spec's own pairs.
    """
    fields = {name: Field() for name in (*always_there(expected or {}), *declared)}
    by = Source(kind="declared", detail=declared_by)
    for name, value in declared.items():
        fields[name] = Field(requested=mask_value(value, name), requested_by=by)
    if expect_step_s is not None:
        fields["step_seconds"] = Field(
            requested=expect_step_s, requested_by=Source(kind="launcher", detail="--expect-step")
        )
    return fields


def with_heard(
    fields: Mapping[str, Field],
    heard: Iterable[Heard],
    expected: Mapping[str, str] | None = None,
) -> dict[str, Field]:
    """Fill the columns with what the run's processes said.

    Args:
        fields: as they stand.
        heard: what was said, once a key.
        expected: the spec's own pairs.
    """
    filled = dict(fields)
    by_key = {said.key: said for said in heard}
    for said in by_key.values():
        if said.key.startswith(RESOLVED):
            name = said.key.removeprefix(RESOLVED)
            filled[name] = _with_resolved(filled.get(name, Field()), said)
        else:
            filled[said.key] = _with_pair(filled.get(said.key, Field()), said)
    for said in by_key.values():
        pair = rule_of(said.key, expected or {}).observed
        if pair in by_key and _by_itself(said, by_key[pair]):
            filled[said.key] = replace(filled[said.key], self_observed=pair)
    return filled


def _by_itself(assigned: Heard, seen: Heard) -> bool:
    """Whether nobody but those who assigned a value saw what is to show its consequence."""
    return bool(seen.observers) and seen.observers <= assigned.assigners


def with_observed(fields: Mapping[str, Field], name: str, said: Said) -> dict[str, Field]:
    """Fill one field with what pfid itself saw."""
    return {**fields, name: replace(fields[name], observed=said.value, observed_by=said.by)}


def _with_resolved(known: Field, said: Heard) -> Field:
    """What a library settled on may be read by whoever asked it: it is no consequence."""
    value, by, conflicting = _joined((*said.observed, *said.refused), said.key)
    return replace(
        known, resolved=value, resolved_by=by, conflicting=known.conflicting or conflicting
    )


def _with_pair(known: Field, said: Heard) -> Field:
    filled = known
    if said.configured is not None:
        filled = _with_requested(known, said.configured, said.key)
    if said.observed:
        value, by, conflicting = _joined(said.observed, said.key)
        filled = replace(
            filled, observed=value, observed_by=by, conflicting=filled.conflicting or conflicting
        )
    if said.refused:
        filled = replace(filled, refused=mask_value(said.refused[-1].value, said.key))
    return filled


def _with_requested(known: Field, said: Said, name: str) -> Field:
    """A process knows better than the spec what it asked for; where they differ, both are told."""
    value = mask_value(said.value, name)
    by = said.by
    asked = known.requested_by
    differs = asked is not None and known.requested != value
    if asked is not None and differs:
        by = replace(by, detail=f"{asked.detail} asks for {known.requested!r}")
    return replace(
        known, requested=value, requested_by=by, conflicting=known.conflicting or differs
    )


def _joined(said: Iterable[Said], name: str) -> tuple[Any, Source, bool]:
    """One value where all agree, else every different one; who said it last, and how many did."""
    every = list(said)
    values: list[Any] = []
    for one in every:
        value = mask_value(one.value, name)
        if value not in values and len(values) < VALUES_MAX:
            values.append(value)
    processes = len({(one.by.pid, one.by.rank) for one in every})
    by = replace(every[-1].by, detail=f"{processes} processes" if processes > 1 else None)
    return (values[0], by, False) if len(values) == 1 else (values, by, True)
