"""Sentences of an answer's beginning and end, as patterns want to read them."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_END: Final = re.compile(
    "[.!?](?=[\\s\"'\u201d\u2019\u00bb)*_]|$)[\"'\u201d\u2019\u00bb)*_]*"
    "|[\u3002\uff01\uff1f\uff61]+|\\n+|\u2026+|[.]{3,}"
)
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_APOSTROPHES: Final = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "\u0060": "'"}
)
_MARKUP: Final = str.maketrans("", "", "*_`#")
_ASCII_ENDS: Final = tuple(f"{stop}{mark} " for stop in ".!?" for mark in ("", '"', "'", ")"))
SENTENCE_MAX_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and where it stands in the text."""

    begins: int
    ends: int
    plain: str


def sentences(text: str, begins: int = 0, ends: int | None = None) -> Iterator[Sentence]:
    """Cut a stretch of a text into sentences that hold a letter, whatever alphabet it has.

    ``plain`` has one form of each letter and apostrophe and none that cannot be seen: a blank of no
    width inside a word hides it from no pattern. Bounded in length, so that a text without a full
    stop costs no more than any other.
    """
    last = len(text) if ends is None else min(ends, len(text))
    at = begins
    for end in _END.finditer(text, begins, last):
        yield from _one(text, at, end.end())
        at = end.end()
    yield from _one(text, at, last)


def plain_lines(text: str) -> str:
    """One sentence a line, each in its plain form: to look at all of them at once."""
    if not text.isascii():
        return "\n".join(s.plain for s in sentences(text))
    lines = text.strip().translate(_MARKUP)
    if "  " in lines or "\t" in lines:
        lines = "\n".join(" ".join(line.split()) for line in lines.split("\n"))
    for end in _ASCII_ENDS:
        lines = lines.replace(end, f"{end[:-1]}\n")
    return lines.replace("\n ", "\n")


def _one(text: str, begins: int, ends: int) -> Iterator[Sentence]:
    plain = plain_form(text[begins : min(ends, begins + SENTENCE_MAX_CHARS)])
    if any(letter.isalnum() for letter in plain):
        yield Sentence(begins, ends, plain)


def plain_form(text: str) -> str:
    """Return a stretch as patterns read it."""
    if not text.isascii():
        seen = _INVISIBLE.sub("", text.translate(_APOSTROPHES))
        seen = unicodedata.normalize("NFKC", seen).translate(_APOSTROPHES)
        text = seen.encode("utf-8", "replace").decode()
    return " ".join(text.translate(_MARKUP).split())
