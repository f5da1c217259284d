"""What the metrics of an evaluation answered, in this very run, to inputs whose answer is known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswer:
    """One input.

    Attributes:
        kind: ``identical``, ``half``, ``unrelated``, ``empty`` or ``other``.
        low: the lowest right answer, the tolerance taken off.
        high: the highest, with the tolerance.
        answer: what came.
    """

    kind: str
    low: float
    high: float
    answer: float

    @property
    def right(self) -> bool:
        """Whether it is what it should be."""
        return self.low <= self.answer <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenMetric:
    """One metric's own function, driven.

    Attributes:
        metric: as the records call it.
        function: ``module:function``; for the owner alone.
        problem: why it could not be driven, a code; "" if it could.
        detail: words about that; untrusted.
        answers: to each input.
        own: ``tied`` if it gives the scores that the records hold, so that it is the metric's own;
            ``other`` if it gives others; ``untied`` if the records hold nothing to tell by.
    """

    metric: str
    function: str = ""
    problem: str = ""
    detail: str = ""
    answers: tuple[KnownAnswer, ...] = ()
    own: str = "untied"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswersFacts:
    """All that the spec names."""

    metrics: tuple[DrivenMetric, ...] = ()
