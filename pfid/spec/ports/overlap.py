"""What of an evaluation's outputs stands in a corpus verbatim."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """An output beside the corpus.

    Attributes:
        item: which output.
        chars: the longest run of it that stands in the corpus, in code points.
        words: most whole words in one such run.
        place: file and offset in the corpus; for the owner alone.
    """

    item: str
    chars: int
    words: int
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmOverlap:
    """All outputs of an arm.

    Attributes:
        outputs: how many.
        chars: in all of them.
        covered_chars: of those, in runs that stand in the corpus.
        quoting: outputs with any such run.
        worst: the furthest, first the one with most characters.
    """

    outputs: int = 0
    chars: int = 0
    covered_chars: int = 0
    quoting: int = 0
    worst: tuple[Quoted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOverlap:
    """A text whose overlap is known, scanned among the outputs in the same pass.

    Attributes:
        kind: ``identical`` and ``half`` quote the corpus' first document, ``last`` what was put
            behind its last byte, ``unrelated`` and ``empty`` nothing.
        expected_chars: the longest run it has.
        found_chars: the longest that was found.
    """

    kind: str
    expected_chars: int
    found_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapFacts:
    """What a scan came to.

    Attributes:
        problem: why there is none, a code; "" if it came to its end.
        detail: words about that; for the owner alone.
        corpus_bytes: that were read, unpacked.
        files: that were read.
        left_out: files in folders that are no text.
        bad_bytes: places whose bytes are no UTF-8.
        bad_lines: JSON lines without the field.
        min_chars: shorter runs were not looked for.
        normalise: what was done to both sides.
        known: texts whose overlap is known.
        candidate: its outputs.
        baseline: its outputs; None without one.
    """

    problem: str = ""
    detail: str = ""
    corpus_bytes: int = 0
    files: int = 0
    left_out: int = 0
    bad_bytes: int = 0
    bad_lines: int = 0
    min_chars: int = 50
    normalise: str = "none"
    known: tuple[KnownOverlap, ...] = ()
    candidate: ArmOverlap = ArmOverlap()
    baseline: ArmOverlap | None = None
