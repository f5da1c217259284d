"""The fixed set of answers of a check: reason code, outcome and a public sentence."""

from collections.abc import Mapping
from dataclasses import dataclass

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, Figure, Verdict
from pfid.spec.control import Control
from pfid.spec.world import World


@dataclass(frozen=True, slots=True)
class Answers:
    """What a check can say, written down once.

    Attributes:
        sentences: outcome and sentence by reason code. A sentence is public: no text of a log,
            no path, no argv.
    """

    sentences: Mapping[str, tuple[Outcome, str]]

    @property
    def reasons(self) -> dict[str, Outcome]:
        """Outcome by reason code, as :class:`pfid.spec.Check` wants it."""
        return {code: outcome for code, (outcome, _) in self.sentences.items()}

    def say(
        self,
        code: str,
        *details: str,
        figures: Mapping[str, tuple[float | None, str]] | None = None,
        entity: Entity | None = None,
        evidence: tuple[str, ...] = (),
        label: str = "",
    ) -> Verdict:
        """Build the verdict for ``code``.

        Args:
            code: one of the declared reason codes.
            details: further clauses; empty ones are left out.
            figures: (value, unit) by name; a value that is not known is left out, never 0.
            entity: what it is about, None for the world's subject.
            evidence: lines for the run's owner alone.
            label: a qualifier of the outcome.

        Raises:
            KeyError: for a code that was not declared.
        """
        outcome, sentence = self.sentences[code]
        known = {n: Figure(v, unit) for n, (v, unit) in (figures or {}).items() if v is not None}
        return Verdict(
            outcome=outcome,
            reason=ReasonCode(code),
            summary="; ".join((sentence, *(d for d in details if d))),
            figures=known,
            entity=entity,
            evidence=evidence,
            label=label,
        )

    def control(self, name: str, code: str, world: World) -> Control:
        """Build the control that expects ``code`` and its outcome of ``world``."""
        return Control(name=name, world=world, expect=self.reasons[code], reason=code)
