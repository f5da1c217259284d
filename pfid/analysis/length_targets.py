"""Lengths of answers held against quartiles that are stated, and each against its own floor."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from pfid.analysis.proportion import wilson
from pfid.analysis.quantile_interval import QuantileInterval, quantile_interval
from pfid.spec.result_gates.length_conformance import FamilyLengths

QUARTILES: Final = (("p25", 25), ("median", 50), ("p75", 75))


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """One answer's length; None where the records do not tell it in the targets' unit.

    Attributes:
        family: kind of prompt.
        length: in the unit of the targets.
        words: in words, for the floor.
        good_words: the shortest answer to this prompt that is known to be good.
        cut_off: whether the cap ended it.
    """

    family: str
    length: float | None
    words: int
    good_words: int | None
    cut_off: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One quartile held against its target.

    Attributes:
        name: p25, median or p75.
        family: kind of prompt.
        target: stated.
        found: where it lies.
        code: what that comes to, a reason of ``length_conformance``.
    """

    name: str
    family: str
    target: float
    found: QuantileInterval
    code: str


def quartiles_held(
    target: FamilyLengths, lengths: Sequence[Length], within: float
) -> Iterable[Held]:
    """Each stated quartile of a kind of prompt; ``within`` where the target names no width."""
    own = [one for one in lengths if one.family == target.family]
    known = sorted(one.length for one in own if one.length is not None)
    whole = sorted(inf if one.cut_off else one.length for one in own if one.length is not None)
    for name, percent in QUARTILES:
        wanted = getattr(target, name)
        if wanted is None:
            continue
        blank = QuantileInterval(0.0, 0.0, inf, inf)
        missing = (
            "family_missing" if not own else "tokens_not_told" if len(known) < len(own) else ""
        )
        found = blank if missing else quantile_interval(known, whole, percent)
        code = missing or _quartile_code(found, wanted, target.within or within)
        yield Held(name=name, family=target.family, target=wanted, found=found, code=code)


def _quartile_code(found: QuantileInterval, target: float, within: float) -> str:
    """FAIL only where the whole interval lies outside, so that a rerun does not turn it over."""
    low, high = target * (1 - within), target * (1 + within)
    if found.high < low:
        return "shorter"
    if found.low > high:
        return "longer"
    if found.at_most > high >= found.seen:
        return "cut_off"
    return "conforms" if low <= found.seen <= high else "too_few_items"


def under_floor(lengths: Sequence[Length], floor_share: float) -> tuple[int, int]:
    """Answers under a share of what is known to be good for their prompt, and with such a floor."""
    floored = [(one.words, one.good_words) for one in lengths if one.good_words]
    return sum(words < floor_share * good for words, good in floored), len(floored)


def floor_code(under: int, floored: int, share_max: float) -> str:
    """What those under their floor come to; "" where none has one."""
    if not floored:
        return ""
    if wilson(under, floored).low > share_max:
        return "under_own_floor"
    return "conforms" if under / floored <= share_max else "too_few_items"


def quartile_figures(held: Sequence[Held]) -> dict[str, tuple[float | None, str]]:
    """Only of a single kind: names of figures are fixed, and kinds of prompt are not."""
    if len({h.family for h in held}) != 1:
        return {}
    figures: dict[str, tuple[float | None, str]] = {}
    for h in held:
        ends = {"_low": h.found.low, "": h.found.seen, "_high": h.found.high}
        figures |= {f"{h.name}{end}": (v if v < inf else None, "1") for end, v in ends.items()}
    return figures
