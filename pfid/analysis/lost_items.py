"""Items that fall out of a comparison, counted by why: cut off, flagged, never scored."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.exclusions_balanced import ExclusionsGate

Expected = Mapping[str, frozenset[str]]
"""Metrics by family: those that some record of the family has a value of, in either arm."""
NOTHING: Final[Expected] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What an arm lost. An item that is lost for two reasons is lost once.

    Attributes:
        items: that there are.
        lost: for any reason.
        by_record: flagged or never scored, which every record tells of itself.
        cut: ended by the cap.
        flagged: with a flag that counts.
        unscored: without a value of a metric that its kind of prompt has.
        untold: kept, as far as anybody knows: nobody says how they ended.
    """

    items: int
    lost: int
    by_record: int
    cut: int = 0
    flagged: int = 0
    unscored: int = 0
    untold: int = 0

    @property
    def said(self) -> str:
        """All of it in words."""
        return (
            f"{self.lost} of {self.items} lost: {self.cut} cut off, {self.flagged} flagged, "
            f"{self.unscored} without a score; of {self.untold} nobody says how they ended"
        )


def expected_scores(records: Iterable[ResultRecord]) -> Expected:
    """Which metrics a record of each family should have; of the records of all arms together."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in records:
        found[one.family] |= {name for name, value in one.scores.items() if value is not None}
    return {family: frozenset(names) for family, names in found.items()}


def lost_items(
    records: Iterable[ResultRecord], gate: ExclusionsGate, expected: Expected = NOTHING
) -> Losses:
    """Count the losses of one arm.

    Args:
        records: of the arm.
        gate: what counts as lost.
        expected: metrics by family, over both arms: one that has none at all lost all of them.
    """
    items = lost = by_record = cut = flagged = unscored = untold = 0
    for one in records:
        is_flagged = _is_flagged(one.flags, gate.flags)
        is_unscored = gate.unscored and lacks_score(one, expected, gate.scores)
        is_cut = gate.truncation and one.cut_off is True
        items += 1
        lost += is_flagged or is_unscored or is_cut
        by_record += is_flagged or is_unscored
        cut += is_cut
        flagged += is_flagged
        unscored += is_unscored
        told = not gate.truncation or one.cut_off is not None
        untold += not (told or is_flagged or is_unscored)
    return Losses(
        items=items,
        lost=lost,
        by_record=by_record,
        cut=cut,
        flagged=flagged,
        unscored=unscored,
        untold=untold,
    )


def lacks_score(one: ResultRecord, expected: Expected, named: Collection[str] = ()) -> bool:
    """Whether a record has no value of a metric that it should have.

    Args:
        one: the record; one whose scores stand on another record of its item lacks none.
        expected: metrics by family.
        named: those that count; none named: all.
    """
    if not one.scored:
        return False
    wanted = expected.get(one.family, frozenset())
    wanted = wanted.intersection(named) if named else wanted
    return any(one.scores.get(name) is None for name in wanted)


def _is_flagged(flags: Collection[str], counting: Collection[str]) -> bool:
    return any(f in counting for f in flags) if counting else bool(flags)
