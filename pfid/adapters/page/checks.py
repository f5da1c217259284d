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
    failing, unknown, reason = Family(FAILING), Family(UNKNOWN), Family(REASON)
    of_kind = [verdict for verdict in snapshot.verdicts if verdict.synthetic is synthetic]
    said = _folded(of_kind, exported, cache, gates)
    failing.add_all([("", labels, 1 if what is Outcome.FAIL else 0) for labels, what, _ in said])
    unknown.add_all([("", labels, 1 if what is Outcome.UNKNOWN else 0) for labels, what, _ in said])
    reason.add_all(
        [
            ("", labels.with_one("reason", untrusted(why)), 1)
            for labels, what, why in said
            if what is not Outcome.PASS
        ]
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
    verdicts: Iterable[VerdictView],
    exported: frozenset[str],
    cache: LabelCache,
    gates: Mapping[str, GateState],
) -> Collection[tuple[Labels, Outcome, str]]:
    """One answer a series: verdicts that share their labels are combined, the worst wins.

    In one loop and with few calls: it sees every verdict there is, on each page.
    """
    found: dict[str, tuple[Labels, Outcome, str]] = {}
    for verdict in verdicts:
        gate = gates.get(verdict.check, GateState.PROVEN)
        if verdict.outcome is Outcome.NOT_APPLICABLE or gate is GateState.DISABLED:
            continue
        labels = _labels(verdict, exported, cache) if verdict.stage == WATCH else None
        if labels is None:
            continue
        said = verdict
        if gate is not GateState.PROVEN or not verdict.counts:
            said = believed(verdict, gates)
        earlier = found.get(labels.text)
        if earlier is None or worst((earlier[1], said.outcome)) is not earlier[1]:
            found[labels.text] = (labels, said.outcome, said.reason)
    return found.values()


def _labels(verdict: VerdictView, exported: frozenset[str], cache: LabelCache) -> Labels | None:
    """Of its series; None for a run that does not stand on the page."""
    about = verdict.entity
    if about.kind is EntityKind.RUN:
        return cache.of(about.id).check(verdict.check) if about.id in exported else None
    if about.kind is EntityKind.GPU:
        return shared(check=verdict.check, uuid=untrusted(about.id))
    return shared(check=verdict.check)
