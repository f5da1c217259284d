"""What is shown of a verdict is as loud as its reason."""

from types import SimpleNamespace

import pytest

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.policy.hysteresis import Settling
from pfid.policy.views import verdict_view
from pfid.spec.check import Severity, Stage

CHECK = SimpleNamespace(
    name="disk_full",
    stage=Stage.WATCH,
    severity=Severity.WARNING,
    milder={"nearly_full": Severity.INFO},
)


@pytest.mark.parametrize(
    ("reason", "severity"), [("full", "warning"), ("nearly_full", "info"), ("fine", "warning")]
)
def test_a_milder_reason_is_shown_milder(reason, severity):
    verdict = Verdict(outcome=Outcome.FAIL, reason=reason, summary="")
    view = verdict_view(CHECK, Settling(settled=verdict), last_run_s=0.0)
    assert view.severity == severity


def test_what_is_not_proven_is_as_loud_as_the_check():
    verdict = Verdict(outcome=Outcome.FAIL, reason="nearly_full", summary="")
    view = verdict_view(CHECK, Settling(settled=verdict), last_run_s=0.0, proven=False)
    assert (view.reason, view.severity) == ("unproven", "warning")
