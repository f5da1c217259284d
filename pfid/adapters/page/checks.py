"""Verdicts of the watch checks. One whose gate is not proven is never shown as passing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from pfid.adapters.page.family import (
    COUNTER,
    GAUGE,
    SUMMARY,
    Family,
    Labels,
    Spec,
    shared,
    untrusted,
)
from pfid.adapters.page.run_labels import LabelCache
from pfid.adapters.page.selection import WATCH
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome, worst
from pfid.domain.snapshot import Snapshot, VerdictView
from pfid.domain.verdict import EntityKind
from pfid.policy.standing import believed, gate_states

FAILING: Final = Spec(
    "pfid_check_failing", GAUGE, "1 while the check fails; absent where it does not apply."
)
UNKNOWN: Final = Spec(
    "pfid_check_unknown", GAUGE, "1 while the check could not look or is not proven."
)
REASON: Final = Spec("pfid_check_reason_info", GAUGE, "Always 1. Why, while failing or unknown.")
LAST_RUN: Final = Spec("pfid_check_last_run_timestamp_seconds", GAUGE, "Last evaluation.")
DURATION: Final = Spec("pfid_check_duration_seconds", SUMMARY, "Time spent evaluating.")
TIMEOUTS: Final = Spec("pfid_check_timeouts_total", COUNTER, "Evaluations over their deadline.")
ERRORS: Final = Spec("pfid_check_errors_total", COUNTER, "Evaluations that raised.")
FIRINGS: Final = Spec("pfid_check_firings_total", COUNTER, "Changes of a settled verdict to FAIL.")


def families(
    snapshot: Snapshot, exported: frozenset[str], cache: LabelCache, *, synthetic: bool
) -> Iterator[Family]:
    """Verdicts about the exported runs, the GPUs and the box."""
    gates = gate_states(snapshot.gates)
    applying = (
        verdict
        for verdict in snapshot.verdicts
        if verdict.synthetic is synthetic and _shown(verdict, exported, gates)
    )
    failing, unknown, reason = Family(FAILING), Family(UNKNOWN), Family(REASON)
    said = _folded(applying, cache, gates)
    failing.add_all(("", labels, 1 if what is Outcome.FAIL else 0) for labels, what, _ in said)
    unknown.add_all(("", labels, 1 if what is Outcome.UNKNOWN else 0) for labels, what, _ in said)
    reason.add_all(
        ("", labels.wider(reason=untrusted(why)), 1)
        for labels, what, why in said
        if what is not Outcome.PASS
    )
    yield from (failing, unknown, reason)


def costs(snapshot: Snapshot) -> Iterator[Family]:
    """What running the checks costs, and how often one could not be run."""
    specs = (LAST_RUN, DURATION, TIMEOUTS, ERRORS, FIRINGS)
    last_run, duration, timeouts, errors, firings = made = tuple(Family(spec) for spec in specs)
    for cost in snapshot.costs:
        labels = shared(check=cost.check)
        last_run.add_known(cost.last_run_s, labels)
        duration.add(cost.runs, labels, "_count")
        duration.add(cost.seconds, labels, "_sum")
        timeouts.add(cost.timeouts, labels)
        errors.add(cost.errors, labels)
        firings.add(cost.firings, labels)
    yield from made


def _folded(
    verdicts: Iterable[VerdictView], cache: LabelCache, gates: Mapping[str, GateState]
) -> Collection[tuple[Labels, Outcome, str]]:
    """One answer a series: verdicts that share their labels are combined, the worst wins."""
    found: dict[str, tuple[Labels, Outcome, str]] = {}
    for verdict in verdicts:
        labels = _labels(verdict, cache)
        said = believed(verdict, gates)
        earlier = found.get(labels.text)
        if earlier is None or worst((earlier[1], said.outcome)) is not earlier[1]:
            found[labels.text] = (labels, said.outcome, said.reason)
    return found.values()


def _shown(verdict: VerdictView, exported: frozenset[str], gates: Mapping[str, GateState]) -> bool:
    """Whether the verdict applies and what it is about stands on the page."""
    if verdict.stage != WATCH or gates.get(verdict.check) is GateState.DISABLED:
        return False
    if verdict.outcome is Outcome.NOT_APPLICABLE:
        return False
    return verdict.entity.kind is not EntityKind.RUN or verdict.entity.id in exported


def _labels(verdict: VerdictView, cache: LabelCache) -> Labels:
    if verdict.entity.kind is EntityKind.RUN:
        return cache.of(verdict.entity.id).check(verdict.check)
    if verdict.entity.kind is EntityKind.GPU:
        return shared(check=verdict.check, uuid=untrusted(verdict.entity.id))
    return shared(check=verdict.check)
