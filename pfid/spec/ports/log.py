"""The run's logs, as a check may see them."""

from typing import Protocol

from pfid.domain.log_facts import LogFacts, LossSeen, Marker, MarkerSeen

__all__ = ["LogFacts", "LogPort", "LossSeen", "Marker", "MarkerSeen"]


class LogPort(Protocol):
    """The run's logs, taken together."""

    def facts(self) -> LogFacts | None:
        """Return what is known; None if the run has no log or it cannot be read."""
        ...
