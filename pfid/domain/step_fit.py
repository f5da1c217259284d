"""How a step's time grows with its width, as measured before a run: t(w) = A*w + B*w^2."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFit:
    """A scaling fit that closed, for one optimizer step. Plain data, to be stored and sent.

    Attributes:
        a_s_per_token: A, seconds per token of width and optimizer step.
        b_s_per_token2: B likewise.
        narrowest: smallest width that was timed.
        widest: largest width that was timed.
        expected_s: mean seconds of a step over the shapes that are run; None where they were not
            known.
        measured_at_s: wall time, Unix seconds.
    """

    a_s_per_token: float
    b_s_per_token2: float
    narrowest: int
    widest: int
    expected_s: float | None
    measured_at_s: float

    @property
    def usable(self) -> bool:
        """Whether its figures can be."""
        terms = (self.a_s_per_token, self.b_s_per_token2)
        sane = all(math.isfinite(term) and term >= 0 for term in terms) and any(terms)
        expected = self.expected_s
        return (
            sane
            and 1 <= self.narrowest <= self.widest
            and (expected is None or (math.isfinite(expected) and expected > 0))
        )
