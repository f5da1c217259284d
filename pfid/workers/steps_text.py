"""A step file as a followed text: events from its lines, facts from its size."""

from typing import Any, Final, Self

from pfid.domain.log_facts import LogFacts, Marker
from pfid.domain.step import Phase, StepEvent
from pfid.formats.inside_notes import InsideNotes
from pfid.formats.steps_file import StepsFileParser

_PHASES: Final = {phase.value: phase for phase in Phase}


class StepsText:
    """Gives ``StepsFileParser`` the face the reader expects."""

    __slots__ = ("_begins_at", "_bytes_read", "_parser", "_phase", "_truncations")

    def __init__(self, begins_at: int = 0) -> None:
        """Start before the first line; ``begins_at`` bytes stood there before the run."""
        self._begins_at = begins_at
        self._bytes_read = self._truncations = 0
        self._phase: Phase | None = None
        self._parser = StepsFileParser()

    def feed(self, chunk: bytes, at_s: float | None) -> list[StepEvent]:
        """Return the events of the lines that ``chunk`` completes."""
        self._bytes_read += len(chunk)
        return self._noted(self._parser.feed(chunk, at_s))

    def finish(self) -> list[StepEvent]:
        """Take a last line that has no end."""
        return self._noted(self._parser.finish())

    def truncated(self) -> None:
        """Count it; call ``finish`` before for the line that was cut off."""
        self._truncations += 1
        self.replaced()

    def replaced(self) -> None:
        """Begin with a line; call ``finish`` before for the one that was cut off."""
        self._parser.finish()

    def _noted(self, events: list[StepEvent]) -> list[StepEvent]:
        if events:
            self._phase = Phase.TRAIN
        said, self._parser.notes.phase = self._parser.notes.phase, None
        if said in _PHASES:
            self._phase = _PHASES[said]
        return events

    def facts(self) -> LogFacts:
        """Return the sizes, and what the file says about who writes it."""
        notes = self._parser.notes
        return LogFacts(
            bytes_before_run=self._begins_at,
            bytes_read=self._bytes_read,
            truncations=self._truncations,
            markers=notes.markers,
            inside=notes.inside,
        )

    def phase(self) -> Phase | None:
        """Return what the run is doing: the last phase that was entered, or training."""
        return self._phase

    def state(self) -> list[Any]:
        """Return plain data for ``restore``: what :meth:`facts` does not say."""
        phase = None if self._phase is None else self._phase.value
        return [phase, *self._parser.place()]

    @classmethod
    def restore(cls, state: list[Any] | dict[str, Any], facts: LogFacts | None) -> Self:
        """Go on from ``state`` and the facts that were told with it.

        Raises:
            KeyError: if it is none of ours; ValueError and TypeError likewise.
        """
        if isinstance(state, dict):
            return cls._of_an_earlier_version(state)
        if facts is None or facts.inside is None:
            raise ValueError("the state of a step file goes with its facts")
        phase, *place = state
        text = cls(facts.bytes_before_run)
        text._bytes_read, text._truncations = facts.bytes_read, facts.truncations
        text._phase = None if phase is None else Phase(phase)
        limit = facts.markers.get(Marker.RECOMPILE_LIMIT)
        text._parser = StepsFileParser.at_place(place, InsideNotes.of(facts.inside, limit))
        return text

    @classmethod
    def after(cls, facts: LogFacts) -> Self:
        """Go on from the facts alone, with the next line.

        Raises:
            ValueError: if they are not those of a step file.
        """
        return cls.restore([None, b"", True, 0, 0, None], facts)

    @classmethod
    def _of_an_earlier_version(cls, state: dict[str, Any]) -> Self:
        text = cls(state["begins_at"])
        text._bytes_read = state["bytes_read"]
        text._truncations = state["truncations"]
        text._phase = None if state["phase"] is None else Phase(state["phase"])
        text._parser = StepsFileParser.restore(state["parser"])
        return text
