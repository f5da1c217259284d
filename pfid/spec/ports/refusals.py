"""How refusals are told from answers: pattern files or a plugin's classifier, with proofs."""

from dataclasses import dataclass

from pfid.domain.answer import PatternFile, Stance


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierAnswer:
    """What a classifier said of an answer whose stance is known; None if it said nothing usable."""

    name: str
    stance: Stance
    got: Stance | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierFacts:
    """A plugin's classifier, asked.

    Attributes:
        name: of it.
        problem: why it could not be asked to its end, "" if it could.
        detail: words about that, for the owner.
        controls: its own labelled answers.
        candidate: stance of every record of the candidate, in their order.
        baseline: of the baseline.
    """

    name: str
    problem: str = ""
    detail: str = ""
    controls: tuple[ClassifierAnswer, ...] = ()
    candidate: tuple[Stance, ...] = ()
    baseline: tuple[Stance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalFacts:
    """What the spec names to read answers with.

    Attributes:
        files: of patterns, read and not proven yet.
        problems: files that cannot be read.
        classifier: in the place of patterns; None without one.
    """

    files: tuple[PatternFile, ...] = ()
    problems: tuple[str, ...] = ()
    classifier: ClassifierFacts | None = None
