"""What the reader needs of a parser, whatever the kind of text."""

from typing import Any, Protocol

from pfid.domain.log_facts import LogFacts
from pfid.domain.step import Phase, StepEvent


class TextParser(Protocol):
    """Incremental and pure: chunks in, steps out; where the chunks are cut does not matter."""

    def feed(self, chunk: bytes, at_s: float | None) -> list[StepEvent]:
        """Take the next bytes."""
        ...

    def finish(self) -> list[StepEvent]:
        """Take the last line as it stands, without its end."""
        ...

    def truncated(self) -> None:
        """The file was emptied; what comes next stands at its beginning."""
        ...

    def replaced(self) -> None:
        """Another file took its place; what comes next stands at that one's beginning."""
        ...

    def facts(self) -> LogFacts:
        """Return what the text has said so far."""
        ...

    def phase(self) -> Phase | None:
        """Return what the run is doing, as far as the text says."""
        ...

    def state(self) -> Any:
        """Return plain data to go on from in another process."""
        ...
