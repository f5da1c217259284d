"""``[gates.length_conformance]``: how long answers should be, as a distribution."""

from typing import Annotated, Literal

from msgspec import Meta, field

from pfid.spec.result_gates.table import Table

Length = Annotated[float, Meta(gt=0, le=1e9)]


class FamilyLengths(Table, frozen=True, kw_only=True):
    """Targets of one kind of prompt; each is optional, one at least must stand there.

    Attributes:
        family: kind of prompt; "" for records that name none.
        p25: a quarter of the answers is not longer.
        median: half of them are not.
        p75: three quarters are not.
        within: how far a quartile may lie from its target, as a share of it; the check's limit
            where it is not stated.
    """

    family: str = ""
    p25: Length | None = None
    median: Length | None = None
    p75: Length | None = None
    within: Annotated[float, Meta(gt=0, lt=1)] | None = None


class LengthGate(Table, frozen=True, kw_only=True):
    """The section. There is no floor for all: a floor is satisfied by moving the number.

    Attributes:
        unit: of the targets; tokens are those that the records state.
        families: targets.
        known_good: answers that are known to be good, by item; beside those that records hold.
    """

    unit: Literal["words", "tokens"] = "words"
    families: list[FamilyLengths] = field(default_factory=list)
    known_good: dict[str, list[str]] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """What is wrong with keys that are each right."""
        found = []
        names = [f.family for f in self.families]
        for n, family in enumerate(self.families):
            stated = [v for v in (family.p25, family.median, family.p75) if v is not None]
            if not stated:
                found.append(f".families[{n}]: state p25, median or p75")
            if stated != sorted(stated):
                found.append(f".families[{n}]: p25, median and p75 must rise")
            if names.index(family.family) != n:
                found.append(f".families[{n}].family: {family.family!r} stands there twice")
        if self.unit == "tokens" and self.known_good:
            found.append(".known_good: is counted in words; the unit is tokens")
        return found
