"""Which of two arms lost more items, where some may have been lost of which nobody says it."""

from dataclasses import dataclass
from enum import Enum

from pfid.analysis.lost_items import Losses
from pfid.analysis.proportion import difference

Counts = tuple[int, int, int, int]
"""Lost and all items of the candidate, then of the baseline."""


class Side(Enum):
    """Who lost more."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"
    NEITHER = "neither"
    CANNOT_TELL = "cannot_tell"
    NOT_TOLD = "not_told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Differences of shares.

    Attributes:
        told: up to which both lost about as many.
        unknown: up to which a difference may be unknown.
    """

    told: float
    unknown: float


def side_of(counts: Counts, gaps: Gaps) -> Side:
    """Who lost more, beyond what chance makes of so few items."""
    gap = difference(counts[:2], counts[2:])
    if gap.low > gaps.told:
        return Side.CANDIDATE
    if gap.high < -gaps.told:
        return Side.BASELINE
    share = counts[0] / counts[1] - counts[2] / counts[3]
    known = abs(share) <= gaps.told and max(-gap.low, gap.high) <= gaps.unknown
    return Side.NEITHER if known else Side.CANNOT_TELL


def side_however_ended(ours: Losses, theirs: Losses, gaps: Gaps) -> Side:
    """Who lost more, if it is the same however the answers ended of which nobody says it.

    What every record tells of itself is lost however the rest ended: where that alone is one-sided,
    it is said.
    """
    most_of_theirs, most_of_ours = theirs.lost + theirs.untold, ours.lost + ours.untold
    sides = {
        side_of((ours.lost, ours.items, theirs.lost, theirs.items), gaps),
        side_of((ours.lost, ours.items, most_of_theirs, theirs.items), gaps),
        side_of((most_of_ours, ours.items, theirs.lost, theirs.items), gaps),
    }
    if len(sides) == 1:
        return sides.pop()
    known = side_of((ours.by_record, ours.items, theirs.by_record, theirs.items), gaps)
    return known if known in (Side.CANDIDATE, Side.BASELINE) else Side.NOT_TOLD
