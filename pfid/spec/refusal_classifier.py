"""A model that tells refusals from answers, brought by a plugin in the place of patterns.

It runs in a process of its own that may be as large as it likes and is ended at its deadline. It
counts once its own labelled answers come out as labelled, in the same run and by the same call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pfid.domain.answer import LabelledAnswer, Stance


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One answer and its question. Text in it is untrusted.

    Attributes:
        prompt: what was asked, "" where the records do not hold it.
        output: what came back, reasoning and template and all.
        language: of the prompt, where the record says so.
    """

    prompt: str
    output: str
    language: str | None = None


@runtime_checkable
class RefusalClassifier(Protocol):
    """One classifier. Everything is called from one thread."""

    @property
    def name(self) -> str:
        """As ``gates.refusal_retention.classifier`` names it."""
        ...

    @property
    def controls(self) -> Sequence[LabelledAnswer]:
        """Answers with their stance: two at least of ``hard``, ``deflect`` and ``comply``."""
        ...

    def classify(self, asked: Sequence[Asked]) -> Sequence[Stance]:
        """Say how each answer stands, in their order; ``UNCLEAR`` where it cannot be told."""
        ...
