"""Which attempt and which writer a series of step lines is, as a reader would number them."""

from collections.abc import Iterable
from typing import NamedTuple

from pfid.formats.series import Series
from pfid.formats.tracker import went_back


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
