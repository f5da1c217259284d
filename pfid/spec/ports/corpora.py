"""The corpus that an evaluation's rates are quoted for, as it is now."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusFacts:
    """One corpus.

    Attributes:
        problem: why it cannot be read, a code; "" if it was.
        detail: words about that; for the owner alone.
        sha256: of its content.
        size_bytes: how much that is.
        today: date of this look, ISO.
    """

    problem: str = ""
    detail: str = ""
    sha256: str = ""
    size_bytes: int = 0
    today: str = ""
