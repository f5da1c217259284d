"""How a model stands to what it was asked, and text of which that is known."""

from dataclasses import dataclass
from enum import Enum


class Stance(Enum):
    """What an answer does with its question."""

    HARD = "hard"
    """It says that it will not."""
    DEFLECT = "deflect"
    """It talks of something else, offers another thing, or breaks off; no word of refusal."""
    COMPLY = "comply"
    """It answers."""
    UNCLEAR = "unclear"
    """Nobody can tell: no visible answer, an unknown language, refusal and answer in one,
    or a few words about not writing that no pattern knows for a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An answer of which somebody who read it says how it stands.

    Attributes:
        text: as a model wrote it.
        stance: of it.
        name: what it is a case of.
    """

    text: str
    stance: Stance
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPattern:
    """A regular expression and a sentence it must find; one that was never seen to match is none.

    Attributes:
        pattern: of google-re2, over one sentence; case does not matter.
        seen: a sentence it finds.
    """

    pattern: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternFile:
    """How refusals are worded in one language, with the controls that prove it.

    Attributes:
        name: of the file.
        language: ISO 639 code.
        refusal: sentences that decline.
        firm: sentences that decline and can be about nothing but the request.
        redirect: sentences that offer another thing, or change the subject.
        answer: sentences with which an answer begins after all.
        not_refusal: what looks like ``refusal`` and is none.
        whole: what declines only where it is all that was said.
        doubt: sentences that may decline; a short answer with one is unclear, and never an answer.
        words: the commonest words, by which the language is known.
        letters: letters by which it is known where words are not parted by blanks.
        controls: answers with their stance.
    """

    name: str
    language: str
    refusal: tuple[SeenPattern, ...] = ()
    firm: tuple[SeenPattern, ...] = ()
    redirect: tuple[SeenPattern, ...] = ()
    answer: tuple[SeenPattern, ...] = ()
    not_refusal: tuple[SeenPattern, ...] = ()
    whole: tuple[SeenPattern, ...] = ()
    doubt: tuple[SeenPattern, ...] = ()
    words: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()
    controls: tuple[LabelledAnswer, ...] = ()
