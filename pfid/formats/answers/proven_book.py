"""A pattern file counts once its own labelled answers come out as labelled; else it is refused."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.domain.answer import PatternFile, Stance
from pfid.formats.answers.book import Book, compiled, unseen
from pfid.formats.answers.stance import stance_of
from pfid.formats.linear_regex import PatternError

NEEDED: Final = 2
"""Controls of each stance: one alone can be right by accident."""
STANCES: Final = (Stance.HARD, Stance.DEFLECT, Stance.COMPLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A pattern file that does not count, and why."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class ProvenBook:
    """The book of those files whose controls held, and the others."""

    book: Book
    files: int
    controls: int
    refused: tuple[Refused, ...] = ()


def proven_book(files: Sequence[PatternFile]) -> ProvenBook:
    """Prove every file by itself, then all of them together.

    Together because a pattern of one language may find what another language means otherwise: a
    file in whose company the controls of the others fail is refused as well.
    """
    refused: list[Refused] = []
    held: list[PatternFile] = []
    for file in files:
        why = _alone(file) or _beside(held, file)
        if why:
            refused.append(Refused(name=file.name, why=why))
        else:
            held.append(file)
    return ProvenBook(
        book=compiled(held),
        files=len(held),
        controls=sum(len(f.controls) for f in held),
        refused=tuple(refused),
    )


def _alone(file: PatternFile) -> str:
    """Why the file does not hold by itself; "" if it does."""
    counts = Counter(c.stance for c in file.controls)
    for stance in STANCES:
        if counts[stance] < NEEDED:
            return f"{counts[stance]} controls for {stance.value}, {NEEDED} are needed"
    try:
        blind = next(unseen(file), "")
        book = compiled([file])
    except PatternError as error:
        return str(error)
    return blind or next(_wrong(book, [file]), "")


def _beside(held: Sequence[PatternFile], file: PatternFile) -> str:
    together = [*held, file]
    return next(_wrong(compiled(together), together), "") if held else ""


def _wrong(book: Book, files: Sequence[PatternFile]) -> Iterator[str]:
    for file in files:
        for control in file.controls:
            got = stance_of(control.text, book)
            if got is not control.stance:
                what = f"{file.name}: control {control.name!r}"
                yield f"{what} is {control.stance.value} and came out as {got.value}"
