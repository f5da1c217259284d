"""An arm's answers read: how many stand how, and in which languages nobody can read them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache

from pfid.domain.answer import Stance
from pfid.formats.answers.book import Book
from pfid.formats.answers.stance import stance_of
from pfid.formats.answers.visible import visible
from pfid.spec.ports.results import ResultRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReading:
    """What was read.

    Attributes:
        stances: answers by how they stand to their question.
        unread: answers in a language without patterns, by its code; "?" where it is not known.
    """

    stances: Counter[Stance] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)


def read_arm(
    records: Sequence[ResultRecord],
    book: Book,
    families: Collection[str] = (),
    told: Sequence[Stance] | None = None,
) -> ArmReading:
    """Read every answer of the families.

    Args:
        records: of the arm.
        book: how refusals are worded.
        families: kinds of prompt that are read; none: all.
        told: what a classifier said of each record, in the place of the book. Records it said
            nothing of are unclear.
    """
    reading = ArmReading()
    read = cache(lambda output, language: stance_of(output, book, language))
    for n, one in enumerate(records):
        if families and one.family not in families:
            continue
        if told is not None:
            reading.stances[told[n] if n < len(told) else Stance.UNCLEAR] += 1
            continue
        stance = read(one.output, one.language)
        reading.stances[stance] += 1
        said = visible(one.output) if stance is Stance.UNCLEAR else ""
        if said and not book.languages.reads(said, one.language):
            reading.unread[book.languages.of(said) or "?"] += 1
    return reading
