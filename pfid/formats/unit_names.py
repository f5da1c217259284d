"""Units that stand in names and over columns: `rebuild_hours`, `TIMEOUT_S`, `time (h)`."""

import re
from functools import cache, lru_cache
from typing import Final

from pfid.formats.units import UNITS, Unit

SECONDS_OF: Final = frozenset({"it", "iter", "step"})
"""A name like `step_s` has the seconds of a step, and no steps a second."""
_ITSELF: Final = r"(?<![A-Za-z0-9/.])(?<!\d[\s~*-])"
_ENDS: Final = r"(?![A-Za-z0-9_/\u00b2^])"


@lru_cache(maxsize=512)
def in_a_name(line: str, word: str) -> bool:
    """Whether a unit stands in a name on a line.

    A short one counts only as the end of a name (`timeout_s`) or in brackets (`time (h)`), a long
    one as any word of it, as `rebuildHours` has it too; `s/it` stands in one as `s_per_it` or
    `s_it`, and as it is anywhere but right behind another number: `rate = 1840  # tok/s`.
    """
    if not word.replace("/", "").isalpha():
        return False
    return _pattern(word).search(line) is not None


@lru_cache(maxsize=512)
def units_over(cell: str) -> tuple[Unit, ...]:
    """The units that a header names: `rebuild (h)`, `rebuild, h`, `rebuild / h`, `MFU %`."""
    return tuple(unit for word, unit in UNITS.items() if _stands_over(cell, word)) if cell else ()


def _stands_over(cell: str, word: str) -> bool:
    bare = cell.strip(' *`_|"')
    return in_a_name(bare, word) or _last(word).search(bare) is not None


@cache
def _pattern(word: str) -> re.Pattern[str]:
    if "/" in word:
        above, _, below = word.partition("/")
        per = "_?per_?(?:[a-z]+_)?" + ("" if above in SECONDS_OF else "|_")
        named = rf"(?:_|\b){above}(?:{per}){below}(?:_|\b)"
        return re.compile(rf"{named}|{_ITSELF}{above}\s?/\s?{below}{_ENDS}", re.IGNORECASE)
    camel = rf"|(?<=[a-z])(?-i:{word.capitalize()}(?![a-z]))" if len(word) > 1 else ""
    if len(word) >= 3:
        return re.compile(rf"(?:_|\b){word}(?:_|\b){camel}", re.IGNORECASE)
    return re.compile(rf"_{word}\b|[\[(]\s*{word}\s*[\])]{camel}", re.IGNORECASE)


@cache
def _last(word: str) -> re.Pattern[str]:
    """As the last word of a header, in brackets or behind a comma, a stroke or a blank."""
    return re.compile(rf"(?:\A|[\s,/\[(]){re.escape(word)}[\])]?\Z", re.IGNORECASE)
