"""From the settled verdict to what is announced and shown; the daemon and the gate share it."""

from collections.abc import Mapping
from typing import Protocol

from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.domain.transition import Origin, Transition
from pfid.domain.verdict import BOX, Verdict
from pfid.policy.hysteresis import Settling
from pfid.spec.check import Severity, Stage
from pfid.spec.reasons import UNPROVEN


class Described(Protocol):
    """What a check is called and how loud it is; true of a Check and of its description alone."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def stage(self) -> Stage:
        """When it runs."""
        ...

    @property
    def severity(self) -> Severity:
        """How loudly it fails."""
        ...


class Graded(Described, Protocol):
    """Likewise, and which of its reasons are less loud."""

    @property
    def milder(self) -> Mapping[str, Severity]:
        """Reasons that fail less loudly."""
        ...


def transition(
    check: Described, settling: Settling, at_s: float, origin: Origin = Origin.REAL
) -> Transition | None:
    """Return what the last sample is to announce; None if it changed nothing."""
    if settling.settled is None or not settling.changed:
        return None
    return Transition(
        check=CheckName(check.name),
        entity=settling.settled.entity or BOX,
        before=settling.before,
        verdict=settling.settled,
        at_s=at_s,
        origin=origin,
    )


def verdict_view(
    check: Graded,
    settling: Settling,
    *,
    last_run_s: float,
    proven: bool = True,
    synthetic: bool = False,
) -> VerdictView | None:
    """Return what everybody may see of the settled verdict; None before the first sample.

    A check that is not proven is shown as UNKNOWN ``unproven`` whatever it says.
    """
    verdict = settling.settled
    if verdict is None:
        return None
    if not proven:
        verdict = Verdict(
            outcome=Outcome.UNKNOWN,
            reason=UNPROVEN,
            summary="the check is not proven, so nothing it says counts",
            entity=verdict.entity,
        )
    return VerdictView(
        check=CheckName(check.name),
        stage=check.stage.value,
        entity=verdict.entity or BOX,
        outcome=verdict.outcome,
        reason=verdict.reason,
        summary=verdict.summary,
        since_s=settling.since_s,
        last_run_s=last_run_s,
        severity=check.milder.get(verdict.reason, check.severity).value,
        label=verdict.label,
        figures=verdict.figures,
        counts=proven,
        synthetic=synthetic,
    )
