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
    whys = {file: _alone(file) for file in files}
    held = [file for file in files if not whys[file]]
    book = compiled(held)
    if next(_wrong(book, held), ""):
        held, spoiled = _apart(held)
        whys |= spoiled
        book = compiled(held)
    return ProvenBook(
        book=book,
        files=len(held),
        controls=sum(len(f.controls) for f in held),
        refused=tuple(Refused(name=file.name, why=why) for file, why in whys.items() if why),
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


def _apart(files: Sequence[PatternFile]) -> tuple[list[PatternFile], dict[PatternFile, str]]:
    """The files that get on with those before them, and why the others do not."""
    held: list[PatternFile] = []
    spoiled: dict[PatternFile, str] = {}
    for file in files:
        together = [*held, file]
        why = next(_wrong(compiled(together), together), "")
        if why:
            spoiled[file] = why
        else:
            held = together
    return held, spoiled


def _wrong(book: Book, files: Sequence[PatternFile]) -> Iterator[str]:
    for file in files:
        for control in file.controls:
            got = stance_of(control.text, book)
            if got is not control.stance:
                what = f"{file.name}: control {control.name!r}"
                yield f"{what} is {control.stance.value} and came out as {got.value}"
