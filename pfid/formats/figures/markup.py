"""A line as a reader of the page sees it: without tags, entities and the spacing of TeX.

``<b>4.3</b>&nbsp;h`` and ``1{,}312`` are 4.3 h and 1,312 to whoever reads them.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Final
from unicodedata import normalize

_RAISED_SIGNS: Final = "\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_SUPERSCRIPT: Final = str.maketrans(_RAISED_SIGNS, "-+0123456789")
_MARKED: Final = re.compile(
    r"""
      (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});)
    | <!--(?:(?!-->).){0,300}-->
    | (?P<raised><sup\b[^<>]{0,300}>)
    | (?P<parts></?(?:td|th|tr|br|p|li|div|dt|dd)\b[^<>]{0,300}>)
    | </?[a-zA-Z][^<>]{0,300}>
    | (?P<stop>\{[.,]\})
    | (?P<dot>(?<=\d)\u00b7(?=\d)(?!10[\^*{\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074-\u2079]))
    | (?P<vulgar>(?:(?<=\d)[ \u2009\u202f\u2064])?[\u00bc-\u00be\u2150-\u215e])
    | \\(?:mathrm|mathit|mathbf|text|textrm|textbf|operatorname|mbox|rm|unit|si)\ ?\{
    | (?P<space>\\[,;:!\ ]|(?<=\d)~(?=[A-Za-z\\%]))
    | \\(?P<word>times|cdot|pm|percent|to|rightarrow|textendash)(?![A-Za-z])
    | (?<=10)(?P<power>[\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,4})
    | (?P<gone>[\u00ad\u200b\u2060\ufeff]|\$)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MAY_BE_MARKED: Final = re.compile(
    "[&<{\\\\$~\u00ad\u00b7\u00bc-\u00be\u2150-\u215e\u200b\u2060\ufeff\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074-\u2079]"
)
"""One of them is in everything that :data:`_MARKED` finds; most lines have none."""
VULGAR: Final = {
    chr(code): normalize("NFKC", chr(code)).replace("\u2044", "/")
    for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F))
}
"""Each fraction that is one letter, as a part of a whole: 1/2."""
_WORDS: Final = {
    "times": "\u00d7", "cdot": "\u00b7", "pm": "\u00b1", "percent": "%", "to": "\u2192",
    "rightarrow": "\u2192", "textendash": "\u2013",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plain:
    """A text without its markup.

    Attributes:
        text: what is left.
        begins: places in it, in order, from each of which on it is as in the line.
        was: the place in the line of each.
    """

    text: str
    begins: tuple[int, ...] = (0,)
    was: tuple[int, ...] = (0,)

    def at(self, place: int) -> int:
        """The place in the line of one in the text."""
        piece = bisect_right(self.begins, place) - 1
        return self.was[piece] + place - self.begins[piece]


def readings(line: str) -> Iterator[Plain]:
    """The line as it is, for what stands within its tags; and without them, if it has any."""
    yield Plain(line)
    if _MAY_BE_MARKED.search(line) is not None and _MARKED.search(line) is not None:
        yield _plain(line)


def _plain(line: str) -> Plain:
    pieces: list[str] = []
    begins, was = [0], [0]
    at = size = 0
    for found in _MARKED.finditer(line):
        pieces += [line[at : found.start()], _instead(found)]
        size += len(pieces[-2]) + len(pieces[-1])
        at = found.end()
        begins.append(size)
        was.append(at)
    return Plain("".join((*pieces, line[at:])), tuple(begins), tuple(was))


def vulgar_value(letter: str) -> float:
    """What a fraction of one letter is."""
    part, _, whole = VULGAR[letter].partition("/")
    return int(part) / int(whole)


def _instead(found: re.Match[str]) -> str:
    for kind, instead in _INSTEAD.items():
        if found[kind]:
            return instead(found)
    return " " if found["parts"] or found["space"] else ""


def _as_decimals(found: re.Match[str]) -> str:
    before = found.string[found.start() - 1 : found.start()]
    decimals = repr(vulgar_value(found[0][-1]))[1:]
    return decimals if before.isdigit() else f"0{decimals}"


_INSTEAD: Final[Mapping[str, Callable[[re.Match[str]], str]]] = {
    "entity": lambda found: unescape(found[0]),
    "word": lambda found: _WORDS[found["word"].lower()],
    "power": lambda found: "^" + found[0].translate(_SUPERSCRIPT),
    "stop": lambda found: found[0][1],
    "dot": lambda _: ".",
    "vulgar": _as_decimals,
    "raised": lambda _: "^",
}
"""What stands in the place of each kind of mark; a blank or nothing in that of others."""
