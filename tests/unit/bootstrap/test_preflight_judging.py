"""Is a project ready only if nothing fails and nothing required is unknown?"""

import pytest

from pfid.bootstrap.preflight.judging import Judged, ready
from pfid.bootstrap.remedies import remedies_of, remedy_for, remedy_of
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.spec.fakes_facts import CONTROL_PROJECT

PASS, FAIL, UNKNOWN, NA = (
    Outcome.PASS,
    Outcome.FAIL,
    Outcome.UNKNOWN,
    Outcome.NOT_APPLICABLE,
)


def judged(outcome, *, required=True):
    view = VerdictView(
        check=CheckName("c"),
        stage="preflight",
        entity=CONTROL_PROJECT,
        outcome=outcome,
        reason="r",
        summary="s",
        since_s=0.0,
        last_run_s=0.0,
    )
    return Judged(view=view, evidence=(), remedy="", required=required)


@pytest.mark.parametrize(
    ("seen", "came"),
    [
        ([judged(PASS)], PASS),
        ([judged(PASS), judged(NA)], PASS),
        ([judged(PASS), judged(UNKNOWN)], UNKNOWN),
        ([judged(PASS), judged(UNKNOWN, required=False)], PASS),
        ([judged(UNKNOWN), judged(FAIL)], FAIL),
        ([judged(PASS), judged(FAIL, required=False)], FAIL),
        ([], UNKNOWN),
        ([judged(NA)], UNKNOWN),
        ([judged(NA), judged(UNKNOWN, required=False)], UNKNOWN),
    ],
)
def test_readiness(seen, came):
    assert ready(seen) is came


def test_a_remedy_is_the_paragraph_that_says_what_to_do():
    assert remedy_of("Fail when.\n\nWhen it fires: do\nthis.\n\nMore.") == "do this."
    assert remedy_of("nothing") == ""


RUNBOOK = """Fail when.

When it fires: do this.

If it says `far`, `off
shore`: come
nearer: now.
"""


def test_a_reason_that_a_runbook_names_has_its_own_remedy():
    own = dict.fromkeys(("far", "off shore"), "come nearer: now.")
    assert remedies_of(RUNBOOK) == own
    assert remedy_for("c", RUNBOOK, "far", {"far": "shared"}) == "come nearer: now."
    assert remedy_for("c", RUNBOOK, "near", {"near": "shared"}) == "shared"
    assert remedy_for("c", RUNBOOK, "near", {}) == "do this."
    assert "--check c`" in remedy_for("c", RUNBOOK, "unproven", {})
    assert "its lines" in remedy_for("c", RUNBOOK, "python_raised", {})
