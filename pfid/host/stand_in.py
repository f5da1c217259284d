"""What stands in a check's place while the plugin worker cannot speak for it."""

from typing import Final

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName, ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.world import World
from pfid.wire.plugins import CheckInfo

NOT_TRIED: Final = "not tried yet"


def untried(info: CheckInfo) -> Gate:
    """The gate of a check whose proof is not in."""
    return Gate(
        check=CheckName(info.name),
        stage=info.stage.value,
        state=GateState.UNPROVEN,
        proven_to=ProvenTo(),
        why=NOT_TRIED,
        severity=info.severity.value,
    )


def unknown(world: World, reason: ReasonCode, summary: str) -> Verdict:
    """The verdict of a check that did not answer."""
    return Verdict(outcome=Outcome.UNKNOWN, reason=reason, summary=summary, entity=world.subject)


def nobody(body: bytes, *, generation: int) -> bool:  # noqa: ARG001 - stands for no worker yet
    """Where messages go while there is no worker."""
    return False
