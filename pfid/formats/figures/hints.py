"""What must stand beside a number for it to be a figure: a unit, a name, a word of its claim.

A superset, for an engine without look-around: the reading (:mod:`pfid.formats.figures.reading`)
decides. Most lines that hold the digits of a figure hold nothing of the kind.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from pfid.formats.figures.pairs import LOW_NAMES
from pfid.formats.figures.unwritten import (
    TELLING_DIGITS,
    TOLD_BEFORE,
    share_digits,
    stem_of,
    telling_digits,
    telling_ends,
    words_beside,
    words_of,
)
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import Pattern, PatternError, compile_utf8_spans
from pfid.formats.number_words import MULTIPLIERS, SPELLED_OUT
from pfid.formats.unit_names import SECONDS_OF
from pfid.formats.units import Unit, spellings, unit_of

_BLANK: Final = (
    r"[\s\v\x{1c}-\x{1f}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)
"""For the quick engine only those of ASCII are blanks."""
_MANY: Final = "|".join(sorted(MULTIPLIERS, key=len, reverse=True))
_MULTIPLIED: Final = f"[0-9.][ \u00a0\u202f-]?(?:{_MANY})"
_NUMBER_ENDS: Final = f"(?:[0-9)}}]|{_MULTIPLIED}|{'|'.join(SPELLED_OUT)})"
_GAP: Final = r"[\])}*`$+]{0,3}(?:[ \t\x{a0}\x{202f}\x{2009}~-]|\\[,;]){0,3}[\[({]?\\?"
"""As :data:`pfid.formats.units.UNIT_AFTER` has it."""
_UNIT_ENDS: Final = r"(?:[^A-Za-z0-9_/^\x{b2}]|$)"
_APART: Final = "(?:^|[^A-Za-z0-9])"
_ENDS: Final = "(?:[^A-Za-z0-9]|$)"
_SHORT_MAX: Final = 2
_DURATION: Final = (
    r"[0-9][ \t\x{a0}\x{202f}]?[dhms]|p[0-9t]|[0-9]:[0-9]"
    f"|[*\u00d7\u00b7]{_BLANK}*(?:60|24|3_?600|86_?400)"
)
_SAYS: Final = f"[^0-9]{{0,48}}(?:[0-9.]|{'|'.join(SPELLED_OUT)})"
"""Between a name and the number that it says something of; the longest reach is forty letters."""
_COUNTED: Final = f"(?:/|of|in|von){_BLANK}*(?:the{_BLANK})?[0-9.]"


@lru_cache(maxsize=1_024)
def hint_of(one: Wanted) -> Pattern | None:
    """What the text, the row or the header of every spelling matches; None: nothing is needed."""
    hints = list(_hints(one))
    if not hints or "" in hints:
        return None
    return _compiled("|".join(hints))


@lru_cache(maxsize=256)
def _compiled(hints: str) -> Pattern | None:
    """Figures of one unit have much the same."""
    try:
        return compile_utf8_spans(f"(?i){hints}")
    except PatternError:
        return None


def _hints(one: Wanted) -> Iterator[str]:
    """Patterns; "" where a bare number may be the figure."""
    meant = unit_of(one.unit) if one.unit else None
    if not one.unit or telling_ends(one):
        yield ""
        return
    if one.high is not None:
        yield f"{_APART}{LOW_NAMES}{_SAYS}"
    if meant is None:
        yield re.escape(stem_of(one.unit))
        return
    yield from _units(meant)
    yield from _names(meant)
    yield from _words(one, meant)


def _units(meant: Unit) -> Iterator[str]:
    """A unit behind a number."""
    words = sorted(spellings(meant.dimension), key=len, reverse=True)
    spelled = (
        re.escape(word).replace(r"\-", f"(?:-|{_BLANK})").replace("/", f"{_BLANK}?/{_BLANK}?")
        for word in words
    )
    yield f"{_NUMBER_ENDS}{_GAP}(?:{'|'.join(spelled)}){_UNIT_ENDS}"
    if meant.dimension == "time":
        yield _DURATION


def _names(meant: Unit) -> Iterator[str]:
    """A unit in a name, as :func:`pfid.formats.unit_names.in_a_name` knows it."""
    for word in spellings(meant.dimension):
        above, per, below = word.partition("/")
        if not f"{above}{below}".isalpha():
            continue
        if per:
            bare = "" if above in SECONDS_OF else "|_"
            between = f"(?:_?per_?(?:[a-z]+_)?{bare}|{_BLANK}?/{_BLANK}?)"
            yield f"{_APART}{above}{between}{below}{_ENDS}"
        elif len(word) > _SHORT_MAX:
            yield f"{_APART}{word}{_ENDS}"
        else:
            yield rf"_{word}{_ENDS}|[\[(]{_BLANK}*{word}{_BLANK}*[\])]"
        if not per and len(word) > 1:
            yield f"[a-z](?-i:{word.capitalize()}(?:[^a-z]|$))"


def _words(one: Wanted, meant: Unit) -> Iterator[str]:
    """Words that say what a number is counted in."""
    if meant.dimension in TOLD_BEFORE:
        yield f"{_APART}(?:{TOLD_BEFORE[meant.dimension]}){_SAYS}"
    if meant.dimension == "size":
        yield _MULTIPLIED
    if meant.dimension == "share":
        yield _COUNTED
        if 0 < one.low * meant.factor < 1 and share_digits(one, meant) >= TELLING_DIGITS:
            yield ""
        yield from (re.escape(stem_of(word)) for word in words_beside(one.key))
    if telling_digits(one.low) > 1:
        yield from (re.escape(stem_of(word)) for word in words_of(one.key))
