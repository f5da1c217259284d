"""The attention masks of the model that will be trained, as the training interpreter makes them."""

from dataclasses import dataclass

from pfid.domain.masks import MaskReport


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFacts:
    """What the mask probe said.

    Attributes:
        problem: why it could not be asked, or refused: a code, "" where there is none.
        detail: words about that, for the project's owner alone.
        attention: implementation the run will use; "" for what the model's configuration asks for.
        report: everything it saw; None if there is a problem.
    """

    problem: str = ""
    detail: str = ""
    attention: str = ""
    report: MaskReport | None = None
