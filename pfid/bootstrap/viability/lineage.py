"""The recorded base held against the target of a merge."""

from typing import Final

from pfid.adapters.weight_files import WeightFiles, WeightsError
from pfid.adapters.weight_identities import identity_in
from pfid.analysis.weight_match import Match, match
from pfid.bootstrap.manifest_lookup import NoManifestError
from pfid.bootstrap.viability.merge import Merge
from pfid.domain.errors import StateError
from pfid.domain.weight_identity import WeightIdentity
from pfid.formats.untrusted import printable
from pfid.spec.ports.lineage import LineageFacts

EXAMPLES_MAX: Final = 5
LINE_MAX_CHARS: Final = 300


def lineage_facts(merge: Merge) -> LineageFacts:
    """Compare them."""
    try:
        recorded = merge.recorded()
    except (StateError, NoManifestError) as error:
        return LineageFacts(problem="record_unreadable", detail=_line(str(error)))
    if recorded is None:
        return LineageFacts(named=merge.named, detail=_how_to_record())
    try:
        with WeightFiles((merge.target,)) as files:
            whole = merge.full and recorded[1].full
            seen = identity_in(files, full=whole, say=merge.say)
            problems = files.problems
    except WeightsError as error:
        return LineageFacts(problem="target_unreadable", detail=_line(str(error)))
    if not seen.tensors:
        why = "; ".join(problems[:EXAMPLES_MAX])
        return LineageFacts(problem="target_unreadable", detail=_line(why))
    return _facts(merge, recorded, seen, problems)


def _facts(
    merge: Merge,
    recorded: tuple[str, WeightIdentity],
    seen: WeightIdentity,
    problems: tuple[str, ...],
) -> LineageFacts:
    who, base = recorded
    found = match(base.tensors, seen.tensors, whole=seen.full)
    asked = "--full was asked for, and the record holds samples alone: record it with --full"
    return LineageFacts(
        detail=asked if merge.full and not seen.full else "",
        recorded=who,
        named=merge.named,
        full=seen.full,
        sampled_share=seen.read_bytes / (seen.size_bytes or 1),
        incomplete=tuple(map(_line, problems[:EXAMPLES_MAX])),
        tensors=len(base.tensors),
        same=found.same,
        cast=len(found.cast),
        precisions=found.precisions,
        differing=len(found.differing),
        residual=found.only_residual_writers,
        reshaped=len(found.reshaped),
        missing=len(found.missing),
        left_out=found.left_out,
        regrouped=found.regrouped,
        uncomparable=len(found.uncomparable),
        renamed=found.renamed,
        extra=len(found.extra),
        examples=_examples(found),
    )


def _examples(found: Match) -> tuple[str, ...]:
    said = []
    for what, names in (
        ("other numbers", found.differing),
        ("another shape", found.reshaped),
        ("not there", found.missing),
        ("not comparable", found.uncomparable),
        ("only in the target", found.extra),
    ):
        more = f" and {len(names) - EXAMPLES_MAX} more" if len(names) > EXAMPLES_MAX else ""
        if names:
            said.append(_line(f"{what}: {', '.join(names[:EXAMPLES_MAX])}{more}"))
    return tuple(said)


def _how_to_record() -> str:
    return (
        "to record it: pfid merge-check --record BASE ADAPTER, or [provenance] base in the spec "
        "of a run"
    )


def _line(text: str) -> str:
    return printable(text, LINE_MAX_CHARS)
