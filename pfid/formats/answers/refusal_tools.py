"""What the spec names to tell refusals from answers, proven before anything is read with it."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from pfid.domain.answer import PatternFile
from pfid.formats.answers.book import Book
from pfid.formats.answers.proven_book import NEEDED, STANCES, ProvenBook, proven_book
from pfid.spec.ports.refusals import ClassifierFacts, RefusalFacts


@dataclass(frozen=True, kw_only=True)
class ProvenTools:
    """Patterns, or a classifier, and whether they hold.

    Attributes:
        book: of the pattern files that hold.
        problem: why none of it can be believed; "" if it can.
        lines: about it, for the owner.
    """

    book: Book
    problem: str
    lines: tuple[str, ...]


def proven_tools(tools: RefusalFacts) -> ProvenTools:
    """Prove them by their own labelled controls."""
    proven = _proven(tools.files)
    lame = tuple(f"refused: {r.name}: {r.why}" for r in proven.refused) + tools.problems
    told = tools.classifier
    if told is not None:
        problem = _unproven(told)
        line = f"classifier {told.name}: {problem or 'its controls hold'}"
        return ProvenTools(book=proven.book, problem=problem, lines=(line,))
    held = f"{proven.files} pattern files, {proven.controls} controls hold"
    problem = lame[0] if lame else "" if proven.files else "no pattern file is read"
    return ProvenTools(book=proven.book, problem=problem, lines=(held, *lame))


@lru_cache(maxsize=4)
def _proven(files: tuple[PatternFile, ...]) -> ProvenBook:
    return proven_book(files)


def _unproven(told: ClassifierFacts) -> str:
    if told.problem:
        return f"{told.problem} {told.detail}".strip()
    counts = Counter(c.stance for c in told.controls)
    lacking = [s.value for s in STANCES if counts[s] < NEEDED]
    if lacking:
        return f"{NEEDED} controls are needed for {', '.join(lacking)}"
    wrong = next((c for c in told.controls if c.got is not c.stance), None)
    got = wrong.got.value if wrong and wrong.got else "nothing"
    return f"control {wrong.name!r} is {wrong.stance.value}, came out as {got}" if wrong else ""
