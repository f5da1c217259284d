"""Pattern files compiled into one book: which kinds of sentence one is, whatever its language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pfid.domain.answer import PatternFile, SeenPattern
from pfid.formats.answers.language import Languages, languages
from pfid.formats.answers.openings import opening
from pfid.formats.answers.sentences import plain_form
from pfid.formats.linear_regex import Pattern, PatternSet, compile_utf8, compile_utf8_set

DECLINES: Final = frozenset({"refusal", "firm", "redirect"})
WHOLE: Final = "whole"
DOUBT: Final = "doubt"
KINDS: Final = ("refusal", "firm", "redirect", "answer", "not_refusal", WHOLE, DOUBT)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A pattern and what it finds."""

    kind: str
    pattern: Pattern


@dataclass(frozen=True, kw_only=True)
class Book:
    """What the pattern files know together.

    Hundreds of patterns look at a text at once by how they begin, and those that begin there look
    again, each by itself.

    Attributes:
        entries: every pattern.
        openings: how each begins, by the same number.
        languages: that it reads, among those that are known.
    """

    entries: tuple[_Entry, ...] = ()
    openings: PatternSet = field(default_factory=lambda: compile_utf8_set(()))
    languages: Languages = field(default_factory=Languages)

    def kinds(self, plain: str) -> frozenset[str]:
        """Of which kinds a sentence is, in its plain form."""
        said = plain.encode()
        return frozenset(e.kind for e in self._begun(said) if e.pattern.search(said) is not None)

    def declines(self, plain_lines: str) -> bool:
        """Whether any sentence refuses or offers another thing: one question for all of them."""
        said = plain_lines.encode()
        begun = (entry for entry in self._begun(said) if entry.kind in DECLINES)
        return any(entry.pattern.search(said) is not None for entry in begun)

    def _begun(self, said: bytes) -> list[_Entry]:
        return [self.entries[at] for at in self.openings.matching(said) if at < len(self.entries)]


def compiled(files: Sequence[PatternFile]) -> Book:
    """Compile pattern files into one book.

    Raises:
        PatternError: for an expression that is none.
    """
    said = [(k, e.pattern) for f in files for k in KINDS for e in getattr(f, k)]
    return Book(
        entries=tuple(_Entry(kind, _one(kind, pattern)) for kind, pattern in said),
        openings=compile_utf8_set([_framed(k, p if k == WHOLE else opening(p)) for k, p in said]),
        languages=languages(files),
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
        if _one(kind, entry.pattern).search(plain_form(entry.seen).encode()) is None:
            yield f"{kind}: {entry.pattern!r} does not find {entry.seen!r}"


@lru_cache(maxsize=4_096)
def _one(kind: str, pattern: str) -> Pattern:
    return compile_utf8(_framed(kind, pattern))


def _framed(kind: str, pattern: str) -> str:
    """Around ``whole`` only what is no letter of any alphabet may stand."""
    around = r"[^\pL\pN]*"
    return f"(?im)^{around}(?:{pattern}){around}$" if kind == WHOLE else f"(?im)(?:{pattern})"
