"""What is told of a run that has left the page, from what the store kept of it."""

from collections.abc import Iterable, Iterator

from pfid.daemon.core import Checks
from pfid.domain.errors import StateError
from pfid.domain.snapshot import VerdictView
from pfid.policy.hysteresis import Settling
from pfid.policy.views import verdict_view
from pfid.wire.stored import RunBody, unpack


def last_verdicts(body: RunBody, checks: Checks) -> list[VerdictView]:
    """What each check said of it last; one that is gone meanwhile says nothing."""
    settlings = dict(_settlings(body))
    views = (
        verdict_view(
            check,
            settling,
            last_run_s=settling.since_s,
            proven=checks.proven(check.name),
            synthetic=body.synthetic,
        )
        for check in checks.run
        if (settling := settlings.get(check.name)) is not None
    )
    return [view for view in views if view is not None]


def last_evidence(body: RunBody) -> dict[str, list[str]]:
    """The lines that each check's last verdict rests on; for the run's owner alone."""
    return evidence((name, settling) for name, settling in _settlings(body))


def evidence(settlings: Iterable[tuple[str, Settling]]) -> dict[str, list[str]]:
    """The lines that settled verdicts rest on, by check."""
    return {
        name: list(settling.settled.evidence)
        for name, settling in settlings
        if settling.settled is not None and settling.settled.evidence
    }


def _settlings(body: RunBody) -> Iterator[tuple[str, Settling]]:
    """Those that can be read: of one that another version wrote differently nothing is said."""
    for name, packed in body.settlings.items():
        try:
            yield name, unpack(packed, Settling)
        except StateError:
            continue
