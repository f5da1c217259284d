"""Figures whose unit is not written behind them: a name or a word beside them says it, or nothing.

``rebuild_hours = 4.3``, ``MFU 8.6``, a factor of 106, 0.678 for 67.8 %, 609M for megabytes.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from pfid.formats.figures.wanted import Wanted, equal
from pfid.formats.number_words import Written
from pfid.formats.unit_names import in_a_name
from pfid.formats.units import Unit, sizes

_TELLING_DIGITS: Final = 3
"""A share with fewer digits is written so by chance: 0.05 stands in every second file."""
_TELLING_BOTH: Final = 6
"""Digits of both ends of a range that nobody writes by chance."""
_WORD_MIN: Final = 4
_KEY_WORDS: Final = 2
_NEAR_CHARS: Final = 40
_SHARE_WORDS: Final = (
    *("share", "ratio", "fraction", "rate", "portion", "proportion", "percent", "pct"),
    *("utilisation", "utilization", "mfu", "accuracy", "probability"),
)
_NO_SHARE: Final = re.compile(
    r"\b(?:loss|lr|learning[ _]rate|eps|epsilon|beta\d?|betas|alpha|gamma|momentum|weight_decay|"
    r"temperature|top_p|min_p|dropout|version|perplexity)\W{0,4}\Z",
    re.IGNORECASE,
)
"""Names of what is no share, right before a number."""
_SAYS: Final = (
    r"[\"'\])]*\s*(?:[=:~\u2248<>]{1,3}|of|is|was|by|at|only|about|around|from|between|stands at)?"
    r"\s*(?:[=:~\u2248(\[\"']{1,3})?\s*\Z"
)
_BEFORE: Final = {
    "share": re.compile(
        rf"(?:\b|_)(?:mfu|hfu|utili[sz]ation|percent(?:age)?|pct|share){_SAYS}", re.IGNORECASE
    ),
    "times": re.compile(
        rf"(?:\b|_)(?:factors?|speed-?_?ups?|slow-?_?downs?|multiples?|times|ratio){_SAYS}",
        re.IGNORECASE,
    ),
}
"""Words right before a number that say what it is counted in."""


def named_unit(line: str, values: Iterable[float], value: float, meant: Unit) -> bool:
    """`rebuild_hours = 2`: the unit stands in a name on the line, as a word of its own."""
    held = tuple(values)
    return any(
        equal(held, value * meant.factor / factor) and any(in_a_name(line, w) for w in words)
        for factor, words in sizes(meant.dimension).items()
    )


def told_before(line: str, number: Written, value: float, meant: Unit) -> bool:
    """`MFU 8.6`, `a factor of 106`: the word before it says what it is counted in."""
    told = _BEFORE.get(meant.dimension)
    if told is None or not equal(number.values, value):
        return False
    return told.search(line, max(number.start - _NEAR_CHARS, 0), number.start) is not None


def unwritten(line: str, about: str, number: Written, value: float, meant: Unit, key: str) -> bool:
    """What people write without a unit: 0.678 for 67.8 %, 609M for megabytes."""
    base = value * meant.factor
    if meant.dimension == "size" and number.many > 1:
        return equal(
            (*number.values, *(v / 1e9 for v in number.values if number.many == 1e9)), base
        )
    if meant.dimension != "share" or not 0 < base < 1 or not equal(number.values, base):
        return False
    if _NO_SHARE.search(line, 0, number.start):
        return False
    words = (*_SHARE_WORDS, *_words_of(key))
    told = len(f"{base:.12g}".partition(".")[2].lstrip("0")) >= _TELLING_DIGITS
    return told or beside(about, words)


def named_by_key(line: str, one: Wanted) -> bool:
    """`CACHE_REBUILD = 4.3`: words of the claim's own key stand on the line."""
    words = _words_of(one.key)
    held = sum(beside(line, (word,)) for word in words)
    return len(words) >= _KEY_WORDS and held >= _KEY_WORDS and _telling(one.low) > 1


def telling_ends(one: Wanted) -> bool:
    """Whether both ends of a range together have digits that nobody writes by chance."""
    return one.high is not None and _telling(one.low) + _telling(one.high) >= _TELLING_BOTH


def beside(line: str, words: Iterable[str]) -> bool:
    """Whether one of the words, in one or many, stands on the line or in a name on it."""
    return any(_word(word).search(line) is not None for word in words)


@cache
def _word(word: str) -> re.Pattern[str]:
    stem = re.escape(stem_of(word))
    camel = f"|(?<=[a-z])(?-i:{re.escape(stem_of(word).capitalize())}(?:e?s)?(?![a-z]))"
    return re.compile(
        rf"(?:_|\b){stem}(?:e?s)?(?:_|\b){camel if word.isalpha() else ''}", re.IGNORECASE
    )


def stem_of(word: str) -> str:
    """A word without the ending of many: launches, steps."""
    low = word.lower()
    if low.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if low.endswith("s") and not low.endswith("ss") else word


def _words_of(key: str) -> list[str]:
    return [w for w in dict.fromkeys(re.split(r"[\W_]+", key)) if len(w) >= _WORD_MIN]


def _telling(value: float) -> int:
    """Significant digits."""
    return len(f"{abs(value):.12g}".replace(".", "").strip("0"))
