"""Is what would fail hours later found now?"""

import pytest
from pfid_plugins.preflight.config_validated_early import Limits, judge, observe

from pfid.spec import Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import DeclaredFacts


def said(facts):
    return judge(observe(project_world(declared=facts)), Limits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (DeclaredFacts(), "not_configured"),
        (DeclaredFacts(looked_at=1), "valid"),
        (DeclaredFacts(looked_at=1, missing=("x",), unreadable=("y",)), "path_missing"),
        (DeclaredFacts(looked_at=1, unreadable=("y",)), "unreadable"),
        (DeclaredFacts(looked_at=1, needed_bytes=10, free_bytes=10), "disk_too_small"),
        (DeclaredFacts(looked_at=1, needed_bytes=10, free_bytes=11), "valid"),
        (DeclaredFacts(looked_at=1, needed_bytes=10), "disk_unknown"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason


def test_a_full_disk_is_a_failure_with_its_figures():
    verdict = said(DeclaredFacts(looked_at=1, needed_bytes=10, free_bytes=0))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.figures["free"].value == 0
