"""One error, told twice: by a GPU's set of events and by the kernel's log.

The log names the process and the place of the card, the set the card's own name. Together they
say all that is known, and count once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from pfid.domain.gpu import XidEvent

BY_PLACE: Final = "PCI-"
"""Before a PCI address, where an error names no uuid."""
DOUBLE_S: Final = 2.0
"""The same error comes from both within this."""


def by_log(event: XidEvent) -> bool:
    """Whether the kernel's log told it."""
    return event.uuid.startswith(BY_PLACE)


def one_of_both(one: XidEvent, other: XidEvent) -> XidEvent | None:
    """Two words about errors of one card as one, None if they are of two errors.

    What has its process from the log already has its double.
    """
    of_log, of_set = (one, other) if by_log(one) else (other, one)
    if one.code != other.code or by_log(of_set) or not by_log(of_log) or of_set.pid is not None:
        return None
    if abs(one.at_s - other.at_s) > DOUBLE_S:
        return None
    return replace(of_set, at_s=min(one.at_s, other.at_s), pid=of_log.pid)


def paired(
    events: Iterable[XidEvent], before: Sequence[XidEvent], place: Callable[[str], str]
) -> tuple[tuple[XidEvent, ...], tuple[XidEvent, ...]]:
    """Each error once, though the log and a set may both have told it.

    Args:
        events: both's, as they came.
        before: of the log, passed on the last time without a double: it may come now.
        place: PCI address of a card by its uuid.

    Returns:
        The errors; and those of them that only the log told.
    """
    of_log: list[XidEvent] = []
    of_sets: list[XidEvent] = []
    for event in events:
        (of_log if by_log(event) else of_sets).append(event)
    earlier = [event for event in before if event not in of_log]
    told = []
    for event in of_sets:
        name = BY_PLACE + place(event.uuid)
        if event.pid is None and (twin := _taken(of_log, name, event.code)) is not None:
            told.append(replace(event, pid=twin.pid))
        elif event.pid is not None or _taken(earlier, name, event.code) is None:
            told.append(event)
    return (*told, *of_log), tuple(of_log)


def _taken(events: list[XidEvent], name: str, code: int) -> XidEvent | None:
    """The first that is of this card and kind, taken out."""
    at = next((i for i, e in enumerate(events) if (e.uuid, e.code) == (name, code)), None)
    return None if at is None else events.pop(at)
