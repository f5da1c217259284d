"""Figures whose unit is not written behind them: a name or a word beside them says it, or nothing.

``rebuild_hours = 4.3``, ``MFU 8.6``, a factor of 106, 0.678 for 67.8 %, 609M for megabytes.
"""

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from pfid.formats.figures.wanted import Wanted, equal
from pfid.formats.number_words import Written
from pfid.formats.unit_names import in_a_name
from pfid.formats.units import Unit, sizes

TELLING_DIGITS: Final = 3
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
_TO_SECONDS: Final = re.compile(r"(?:\s*[*\u00d7\u00b7]\s*(?:60|24|3_?600|86_?400)(?![\w.])){1,3}")
_SAYS: Final = (
    r"[\"'\])]*\s*(?:[=:~\u2248<>]{1,3}|of|is|was|by|at|only|about|around|from|between|stands at)?"
    r"\s*(?:[=:~\u2248(\[\"']{1,3})?\s*\Z"
)
TOLD_BEFORE: Final = {
    "share": "mfu|hfu|utili[sz]ation|percent(?:age)?|pct|share",
    "times": "factors?|speed-?_?ups?|slow-?_?downs?|multiples?|times|ratio",
}
"""Words right before a number that say what it is counted in."""
_BEFORE: Final = {
    dimension: re.compile(rf"(?:\b|_)(?:{words}){_SAYS}", re.IGNORECASE)
    for dimension, words in TOLD_BEFORE.items()
}


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


def in_seconds(line: str, number: Written, value: float, meant: Unit) -> bool:
    """`4.3 * 3600`, `4.3 * 60 * 60`: what it is made seconds by says that it is hours."""
    found = _TO_SECONDS.match(line, number.end) if meant.dimension == "time" else None
    if found is None:
        return False
    factor = math.prod(int(part.replace("_", "")) for part in re.findall(r"[\d_]+", found[0]))
    return equal(number.values, value * meant.factor / factor)


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
    return _share_digits(base) >= TELLING_DIGITS or beside(about, words_beside(key))


def words_beside(key: str) -> tuple[str, ...]:
    """Words beside which a number without a unit is a share."""
    return (*_SHARE_WORDS, *words_of(key))


def share_digits(one: Wanted, meant: Unit) -> int:
    """How many digits each end of a share has as a fraction, of the one that has more."""
    ends = [one.low, *([one.high] if one.high is not None else [])]
    return max(_share_digits(end * meant.factor) for end in ends)


def _share_digits(base: float) -> int:
    return len(f"{base:.12g}".partition(".")[2].lstrip("0"))


def named_by_key(line: str, one: Wanted) -> bool:
    """`CACHE_REBUILD = 4.3`: words of the claim's own key stand on the line."""
    words = words_of(one.key)
    held = sum(beside(line, (word,)) for word in words)
    return len(words) >= _KEY_WORDS and held >= _KEY_WORDS and telling_digits(one.low) > 1


def telling_ends(one: Wanted) -> bool:
    """Whether both ends of a range together have digits that nobody writes by chance."""
    return (
        one.high is not None and telling_digits(one.low) + telling_digits(one.high) >= _TELLING_BOTH
    )


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


def words_of(key: str) -> list[str]:
    """The words of a claim's key that are long enough to tell."""
    return [w for w in dict.fromkeys(re.split(r"[\W_]+", key)) if len(w) >= _WORD_MIN]


def telling_digits(value: float) -> int:
    """Significant digits."""
    return len(f"{abs(value):.12g}".replace(".", "").strip("0"))
