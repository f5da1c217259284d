"""Evaluations with fixed records, for controls and tests of the result stage."""

from collections.abc import Iterable
from typing import Any, Final

from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.fakes_facts import FixedFacts
from pfid.spec.ports.results import Arm, Instrument, ResultFacts, ResultRecord
from pfid.spec.world import World

CONTROL_RESULT: Final = Entity(EntityKind.RESULT, "control")
INSTRUMENT: Final = Instrument(
    scorer="exact_match 1", decoding="temperature=0", max_tokens=512, seat="vllm 0.11 bf16 1xH100"
)
"""Everything that must be known of an instrument is."""


def record(item: str | int, output: str = "Lisbon.", **more: Any) -> ResultRecord:
    """An ordinary record, but for what is given."""
    return ResultRecord(item=str(item), output=output, **more)


def arm(records: Iterable[ResultRecord], name: str = "candidate", **more: Any) -> Arm:
    """An arm that holds exactly what was declared, but for what is given."""
    held = tuple(records)
    return Arm(
        name=name,
        records=held,
        **{"instrument": INSTRUMENT, "declared": len(held), "digest": f"sha256:{name}", **more},
    )


def result_facts(candidate: Arm, baseline: Arm | None = None, **more: Any) -> ResultFacts:
    """Facts of an evaluation."""
    return ResultFacts(candidate=candidate, baseline=baseline, **more)


def result_world(results: ResultFacts, **facts: Any) -> World:
    """World of an evaluation; further subjects by the name of their port."""
    ports: dict[str, Any] = {name: FixedFacts(known) for name, known in facts.items()}
    return World(subject=CONTROL_RESULT, results=FixedFacts(results), **ports)
