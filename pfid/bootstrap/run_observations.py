"""What the processes of a run wrote down about themselves (pfid.trainer.observe)."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.domain.provenance import Source
from pfid.formats.observations import MAX_LINE_BYTES, Observation, Pair, pair_up, read_observations
from pfid.policy.provenance_fields import Heard, Said

READ_MAX_BYTES: Final = 64 * 1024 * 1024
"""More is not read: whoever observes at every step wants step reports."""


def heard_in(file: Path) -> tuple[list[Heard], int]:
    """Return what was said by key, and how many lines say nothing."""
    observations, bad = read_observations(_lines(file))
    return [_heard(pair) for pair in pair_up(observations)], bad


def _lines(file: Path) -> Iterator[bytes]:
    left = READ_MAX_BYTES
    with suppress(OSError), file.open("rb") as opened:
        while left > 0 and (line := opened.readline(MAX_LINE_BYTES + 1)):
            left -= len(line)
            yield line


def _heard(pair: Pair) -> Heard:
    return Heard(
        key=pair.key,
        configured=None if pair.configured is None else _said(pair.configured),
        observed=tuple(_said(o) for o in pair.observed),
        refused=tuple(_said(o) for o in pair.refused),
        assigners=pair.assigners,
        observers=frozenset(o.process for o in pair.observed),
    )


def _said(observation: Observation) -> Said:
    return Said(
        value=observation.value,
        by=Source(
            kind="process",
            pid=observation.pid,
            rank=observation.rank,
            at_s=observation.at_s,
        ),
    )
