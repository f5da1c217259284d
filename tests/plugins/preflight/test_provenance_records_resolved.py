"""Does the manifest say what was resolved, of which code and libraries?"""

import pytest
from pfid_plugins.preflight.provenance_records_resolved import judge, observe

from pfid.spec import NoLimits, Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import ManifestFacts


def facts(**changed):
    return ManifestFacts(**{"steps": 1, "resolved": 1, **changed})


def said(known):
    return judge(observe(project_world(manifest=known)), NoLimits())


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (None, "not_configured"),
        (facts(), "resolved"),
        (facts(problem="no_manifest"), "no_manifest"),
        (facts(problem="manifest_unreadable"), "manifest_unreadable"),
        (facts(same_commit=False), "other_commit"),
        (facts(same_environment=False), "other_environment"),
        (facts(problem="python_unanswered"), "python_unanswered"),
        (facts(ended_well=False), "smoke_failed"),
        (facts(unresolved=("attn_implementation",)), "not_resolved"),
        (facts(otherwise=("attn",), unresolved=("x",)), "resolved_otherwise"),
        (facts(resolved=0), "nothing_to_resolve"),
        (facts(resolved=0, unresolved=("attn_implementation",)), "not_resolved"),
        (facts(unsampled=("commit",)), "not_sampled"),
        (facts(edited=True, unresolved=("x",)), "edited"),
        (facts(ended_well=False, unresolved=("x",)), "not_resolved"),
    ],
)
def test_a_manifest_is_judged(known, reason):
    assert said(known).reason == reason


def test_an_intention_is_no_evidence():
    """Without a run of this very commit nothing is known, whatever the manifest says."""
    for known in (facts(problem="no_manifest"), facts(same_commit=False)):
        assert said(known).outcome is Outcome.UNKNOWN
