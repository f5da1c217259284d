"""A manifest held against the playbook's rule: which configured values were seen to take effect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from msgspec.structs import replace

from pfid.domain.provenance import Field, Manifest
from pfid.policy.asked import asked_of, is_implementation
from pfid.policy.provenance_pairs import PairRule, rule_of
from pfid.policy.timed_steps import timed_steps

FALLBACK_FACTOR: Final = 3.0
"""So many times the expected step is no compiled run (DESIGN section 10)."""
DIFFERENCE: Final = "max_abs_diff"
LAUNCHES: Final = "launches."
"""Fields that count launches of kernels (``launches.grouped_gemm``), as a trace tells them."""
_ZERO: Final = (
    "no difference is what a flag that never took gives as well: count launches "
    "(`pfid trace --run`) and observe them as launches.*"
)
_OWN: Final = (
    "seen by the process that assigned the value alone: observe it in another one, or have the "
    "value asked for by [provenance.requested] of the spec instead of by that process"
)
_FEW: Final = 5
"""Fewer steps are no distribution."""


class Standing(Enum):
    """What a configured field comes to."""

    PAIRED = "paired"
    CONTRADICTED = "contradicted"
    INTENT_ONLY = "intent_only"
    """Nobody saw a consequence: a settings dump alone is decorative."""
    SELF_OBSERVED = "self_observed"
    """Only the process that assigned the value saw a consequence: refused as a pair."""
    DECISION = "decision"
    """Rightly unpaired: its consequence is a decision, not a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One configured field.

    Attributes:
        field: its name.
        requested: what was asked for, of it or of the whole that it lies in.
        resolved: what the library settled on; None if nobody looked.
        pair: the field, or fields, that show its consequence; "" where there is nothing to show.
        observed: the consequence; None if nobody saw one, or who looked found none.
        standing: what that comes to.
        why: in words: how it is contradicted, or how to have it observed.
    """

    field: str
    requested: Any
    resolved: Any
    pair: str
    observed: Any
    standing: Standing
    why: str = ""


def audit(manifest: Manifest) -> tuple[AuditRow, ...]:
    """Judge every field that somebody configured, in the manifest's order."""
    requested = {name: field.requested for name, field in manifest.fields.items()}
    return tuple(
        _row(name, replace(field, requested=asked_of(name, requested)), manifest)
        for name, field in manifest.fields.items()
        if _configured(name, field)
    )


def _configured(name: str, field: Field) -> bool:
    if name == "step_seconds":  # what --expect-step says is a baseline, not a setting
        return False
    return field.requested is not None or field.resolved is not None


def _row(name: str, field: Field, manifest: Manifest) -> AuditRow:
    if is_implementation(name) and name not in manifest.expected:
        pair, observed, standing, why = _implementation(manifest.fields)
    else:
        pair, observed, standing, why = _pair(name, field, manifest)
    settled = _not_as_asked(field)
    if settled:
        standing, why = Standing.CONTRADICTED, settled
    return AuditRow(
        field=name,
        requested=field.requested,
        resolved=field.resolved,
        pair=pair,
        observed=observed,
        standing=standing,
        why=why,
    )


def _not_as_asked(field: Field) -> str:
    if field.requested is not None and field.resolved is not None:
        if isinstance(field.resolved, list) and field.conflicting:
            return f"processes settled on different values: {_shown(field.resolved)}"
        if field.requested != field.resolved:
            return (
                f"{_shown(field.requested)} was asked for, {_shown(field.resolved)} was settled on"
            )
    by = field.requested_by
    if field.conflicting and by is not None and by.detail and " asks for " in by.detail:
        return f"{by.detail}, the process asked for {_shown(field.requested)}"
    return ""


def _pair(name: str, field: Field, manifest: Manifest) -> tuple[str, Any, Standing, str]:
    rule = rule_of(name, manifest.expected)
    if not rule.observed:
        return "", None, Standing.DECISION, rule.hint
    seen = manifest.fields.get(rule.observed, Field())
    if seen.observed is None and seen.observed_by is None:
        if seen.refused is not None:
            hint = f"{_OWN}: {rule.hint}"
            return rule.observed, seen.refused, Standing.SELF_OBSERVED, hint
        return rule.observed, None, Standing.INTENT_ONLY, rule.hint
    standing, why = _held_against(rule, field, seen)
    if standing is Standing.PAIRED and _says_nothing(rule.observed, seen.observed, manifest.fields):
        standing, why = Standing.INTENT_ONLY, _ZERO
    return rule.observed, seen.observed, standing, why


def _held_against(rule: PairRule, field: Field, seen: Field) -> tuple[Standing, str]:
    """A configured field and the field that shows its consequence, of which something is known."""
    several = seen.conflicting and isinstance(seen.observed, list)
    values = seen.observed if several else [seen.observed]
    claimed = field.resolved if field.requested is None else field.requested
    why = next((w for value in values if (w := rule.contradicts(claimed, value))), "")
    if why:
        return Standing.CONTRADICTED, why
    if seen.observed is None:
        return Standing.INTENT_ONLY, rule.hint
    if field.self_observed == rule.observed:
        return Standing.SELF_OBSERVED, _OWN
    return Standing.PAIRED, ""


def _says_nothing(name: str, value: Any, fields: Mapping[str, Field]) -> bool:
    """Output without a difference comes of a flag that never took as well (playbook 3.7)."""
    counted = any(n.startswith(LAUNCHES) and f.observed for n, f in fields.items())
    return name.endswith(DIFFERENCE) and value == 0 and not counted


def _implementation(fields: Mapping[str, Field]) -> tuple[str, Any, Standing, str]:
    """A kernel's name survives its own fallback; only step times show that it was the one that ran.

    Dynamo's counters say that a limit was hit, never what it cost: alone they contradict nothing.
    """
    pair = "step_seconds"
    seconds = fields.get("step_seconds", Field())
    hits = _limit_hits(fields.get("dynamo.counters", Field()).observed)
    steps = seconds.observed
    if not isinstance(steps, Mapping) or not _enough(steps):
        seen = timed_steps(steps)
        hint = "report steps (`pfid run --instrument`): the name alone survives a fallback"
        if seen:
            hint = f"{seen} timed steps do not show that it lasted: it takes {_FEW}"
        if hits:
            hint = f"dynamo hit a recompile limit {hits} times, consequence not seen: {hint}"
        return pair, steps, Standing.INTENT_ONLY, hint
    slow = _fallen_back(steps, seconds.requested)
    if slow:
        said = f"; dynamo hit a recompile limit {hits} times" if hits else ""
        return pair, steps, Standing.CONTRADICTED, f"{slow}{said}"
    note = f"dynamo hit a recompile limit {hits} times, consequence not seen" if hits else ""
    if seconds.requested is None:
        note = "; ".join(filter(None, (note, "nobody said what a step should take")))
    return pair, steps, Standing.PAIRED, note


def _enough(steps: Mapping[str, Any]) -> bool:
    n = steps.get("n")
    return isinstance(n, int) and n >= _FEW and isinstance(steps.get("p50"), int | float)


def _fallen_back(steps: Mapping[str, Any], expected: Any) -> str:
    """Why these are no compiled steps; held against what was expected, where somebody said."""
    p50 = float(steps["p50"])
    if isinstance(expected, int | float) and expected > 0 and p50 >= FALLBACK_FACTOR * expected:
        return f"the median step took {p50:.4g} s where {expected:.4g} s was expected"
    return ""


def _limit_hits(counters: Any) -> int:
    found = list(_limits(counters))
    return max(found, default=0)


def _limits(counters: Any) -> Iterator[int]:
    """``limit_hits`` of pfid's reporter, or dynamo's own table under ``unimplemented``."""
    if isinstance(counters, list):
        for each in counters:
            yield from _limits(each)
    if not isinstance(counters, Mapping):
        return
    if isinstance(counters.get("limit_hits"), int):
        yield counters["limit_hits"]
    own = counters.get("unimplemented")
    if isinstance(own, Mapping):
        for text, times in own.items():
            if str(text).startswith("Dynamo recompile limit exceeded") and isinstance(times, int):
                yield times


def _shown(value: Any) -> str:
    return str(value)[:80]
