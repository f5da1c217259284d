"""Which attempt and which writer a series of step lines is, as a reader would number them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pfid.formats.series import Series

PARTNERSHIP: Final = 3
"""Turns two series must take in each other's presence to be two writers; a last line of the old
one that comes late makes two."""


class Place(NamedTuple):
    """Where a series belongs: both numbers count from 1, per dialect and bar."""

    attempt: int
    writer: int


def places(series: Iterable[Series]) -> dict[int, Place]:
    """Return the place of every series, by its number."""
    found: dict[int, Place] = {}
    newest: dict[str, Place] = {}
    for one in series:
        last = newest.get(one.key, Place(attempt=1, writer=0))
        if went_back(one):
            place = Place(attempt=last.attempt + 1, writer=1)
        else:
            place = Place(attempt=last.attempt, writer=last.writer + 1)
        found[one.number] = newest[one.key] = place
    return found


def partners(series: Series) -> list[int]:
    """Numbers of the series that wrote at the same time as this one."""
    return [number for number, turns in series.partners.items() if turns >= PARTNERSHIP]


def went_back(series: Series) -> bool:
    """Whether a series is a second attempt, not the first and not a second writer of it."""
    if series.predecessor is None:
        return False
    return not any(number < series.number for number in partners(series))
