"""The standing of pfid's own checks, for the check that watches the checks."""

from dataclasses import dataclass
from typing import Protocol

from pfid.domain.gate import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """One gate, and the key its proof would need to have today."""

    gate: Gate
    current_key: str


class GatesPort(Protocol):
    """All gates of this daemon."""

    def gates(self) -> tuple[GateFacts, ...] | None:
        """Return every gate; None while the self-test has not run."""
        ...
