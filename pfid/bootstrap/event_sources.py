"""Events of everybody who knows some, as they come."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.bootstrap.sources import ASK_TIMEOUT_S, Gathered, Source, SourceKind, living
from pfid.domain.errors import ControlError
from pfid.wire.control import EventsReply, GetEvents
from pfid.wire.snapshots import Event, events_of

PAGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An event and who told it; ids count up within one source only."""

    source: str
    event: Event


@dataclass(slots=True, kw_only=True)
class Listening:
    """Where each source was heard up to.

    Attributes:
        run_id: only events about this run; None for all.
        last_ids: newest id heard, by source; handed to whoever goes on.
        problems: why a source could not be heard the last time, by source.
    """

    run_id: str | None = None
    last_ids: dict[str, int] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def hear(self, found: Gathered, *, wait_s: float = 0.0) -> Iterator[Heard]:
        """Everything new, source by source, oldest first.

        A source that cannot be heard is passed over and named in ``problems``. With one living
        source ``wait_s`` is how long it may wait for the next event.
        """
        self.problems.clear()
        alone = len(list(living(found.sources))) == 1
        for source in found.sources:
            yield from self._hear_one(source, wait_s if alone else 0.0)

    def _hear_one(self, source: Source, wait_s: float) -> Iterator[Heard]:
        name = source_name(source)
        try:
            for event in self._new(source, self.last_ids.get(name, 0), wait_s):
                self.last_ids[name] = event.id
                yield Heard(source=name, event=event)
        except ControlError as error:
            self.problems[name] = str(error)

    def _new(self, source: Source, after_id: int, wait_s: float) -> Iterator[Event]:
        if source.ended is not None:
            mine = (e for e in source.ended.events if e.id > after_id)
            yield from (e for e in mine if self.run_id in {None, e.transition.entity.id})
            return
        with ControlClient(source.place, timeout_s=ASK_TIMEOUT_S) as client:
            page = self._page(client, after_id, wait_s)
            while page:
                yield from page
                page = self._page(client, page[-1].id, 0.0) if len(page) == PAGE else ()

    def _page(self, client: ControlClient, after_id: int, wait_s: float) -> tuple[Event, ...]:
        request = GetEvents(after_id=after_id, run_id=self.run_id, limit=PAGE, wait_s=wait_s)
        reply = client.ask(request, EventsReply, timeout_s=ASK_TIMEOUT_S + wait_s)
        return events_of(reply)


def source_name(source: Source) -> str:
    """What a source is called: ``daemon``, or the id of the run whose engine it is."""
    if source.kind is SourceKind.DAEMON:
        return SourceKind.DAEMON.value
    return source.place.parent.parent.name


def merged(heard: Iterator[Heard]) -> list[Heard]:
    """Events of several sources in the order of their times."""
    return sorted(heard, key=lambda h: (h.event.transition.at_s, h.source, h.event.id))
