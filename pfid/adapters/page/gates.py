"""May the checks be believed: gates, how far each is proven, and since when."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from pfid.adapters.page.family import GAUGE, Family, Spec, shared
from pfid.domain.gate import GateState, ProvenTo
from pfid.domain.snapshot import Snapshot

GATES: Final = Spec("pfid_gates", GAUGE, "Gates by state; only a proven one counts.")
PROVEN: Final = Spec(
    "pfid_gate_proven", GAUGE, "1 if this leg proves the check; absent where it cannot be tried."
)
PROOF: Final = Spec("pfid_gate_proof_timestamp_seconds", GAUGE, "When the gate was last proven.")
LAST_SUCCESS: Final = Spec(
    "pfid_selftest_last_success_timestamp_seconds", GAUGE, "Last time a leg succeeded whole."
)
DETECTION: Final = Spec(
    "pfid_selftest_detection_seconds",
    GAUGE,
    "From a planted fault to verdict, event and metric, the slowest check's; absent until tried.",
)
LEGS: Final = tuple(f.name for f in fields(ProvenTo))


def families(snapshot: Snapshot) -> Iterator[Family]:
    """The standing of every check."""
    gates, proven, proof, success = (Family(s) for s in (GATES, PROVEN, PROOF, LAST_SUCCESS))
    states = Counter(gate.state for gate in snapshot.gates)
    for state in GateState:
        gates.add(states[state], shared(state=state.value))
    for gate in snapshot.gates:
        for leg in LEGS:
            answer = getattr(gate.proven_to, leg)
            if answer is not None:
                proven.add(1 if answer else 0, shared(check=gate.check, leg=leg))
        proof.add_known(gate.proven_at_s, shared(check=gate.check))
    for leg, at_s in sorted(snapshot.health.selftest_last_success_s.items()):
        success.add(at_s, shared(leg=leg))
    detection = Family(DETECTION)
    for leg, seconds in sorted(snapshot.health.selftest_detection_s.items()):
        detection.add(seconds, shared(leg=leg))
    yield from (gates, proven, proof, success, detection)
