"""Pattern files compiled into one book: five questions to a sentence, whatever its language."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pfid.domain.answer import PatternFile, SeenPattern
from pfid.formats.answers.sentences import plain_form
from pfid.formats.linear_regex import Pattern, compile_utf8

DECLINES: Final = ("refusal", "firm", "redirect")
KINDS: Final = ("refusal", "firm", "redirect", "answer", "not_refusal", "whole")
_ANY: Final = "any"
NEVER: Final = r"[^\x{0}-\x{10FFFF}]"
SHORT_WORDS: Final = 3
"""So few words are an answer in any language: a name, a number."""
KNOWN_SHARE: Final = 0.08
LOOKED_AT_CHARS: Final = 600
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, kw_only=True)
class Book:
    """What the pattern files know together.

    Attributes:
        patterns: by kind, over one sentence in its plain form.
        languages: codes of the languages it reads.
        words: commonest words of them.
        letters: letters that tell such a language.
    """

    patterns: dict[str, Pattern] = field(default_factory=dict)
    languages: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()

    def finds(self, kind: str, plain: str) -> bool:
        """Whether a pattern of ``kind`` finds something in a sentence's plain form."""
        return self.patterns[kind].search(plain.encode()) is not None

    def declines(self, plain_lines: str) -> bool:
        """Whether any sentence refuses or offers another thing: one question for all of them."""
        return self.patterns[_ANY].search(plain_lines.encode()) is not None

    def reads(self, text: str, language: str | None = None) -> bool:
        """Whether ``text`` is in a language that the book knows, or ``language`` is."""
        if language and language.casefold().replace("_", "-").split("-")[0] in self.languages:
            return True
        head = text[:LOOKED_AT_CHARS]
        if not self.letters.isdisjoint(head):
            return True
        words = [w.casefold() for w in _WORD.findall(head)]
        if len(words) <= SHORT_WORDS:
            return all(w.isascii() for w in words)
        return sum(w in self.words for w in words) >= max(KNOWN_SHARE * len(words), 1)


def compiled(files: Sequence[PatternFile]) -> Book:
    """Compile pattern files into one book.

    Raises:
        PatternError: for an expression that is none.
    """
    either = "|".join(_bare(kind, files) for kind in DECLINES)
    return Book(
        patterns={
            **{kind: compile_utf8(_framed(kind, _bare(kind, files))) for kind in KINDS},
            _ANY: compile_utf8(f"(?im)(?:{either})"),
        },
        languages=frozenset(f.language for f in files),
        words=frozenset().union(*(f.words for f in files)),
        letters=frozenset().union(*(f.letters for f in files)),
    )


def unseen(file: PatternFile) -> Iterator[str]:
    """Patterns that do not find the sentence they are said to find.

    Raises:
        PatternError: for an expression that is none.
    """
    for kind in KINDS:
        yield from _unseen(kind, getattr(file, kind))


def _unseen(kind: str, patterns: Sequence[SeenPattern]) -> Iterator[str]:
    for entry in patterns:
        found = compile_utf8(_framed(kind, entry.pattern))
        if found.search(plain_form(entry.seen).encode()) is None:
            yield f"{kind}: {entry.pattern!r} does not find {entry.seen!r}"


def _bare(kind: str, files: Sequence[PatternFile]) -> str:
    return "|".join(f"(?:{e.pattern})" for f in files for e in getattr(f, kind)) or NEVER


def _framed(kind: str, pattern: str) -> str:
    """Around ``whole`` only what is no letter of any alphabet may stand."""
    around = r"[^\pL\pN]*"
    return f"(?i)^{around}(?:{pattern}){around}$" if kind == "whole" else f"(?i)(?:{pattern})"
