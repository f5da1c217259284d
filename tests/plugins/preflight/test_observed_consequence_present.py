"""Has every configured value something that was observed of it?"""

import pytest
from pfid_plugins.preflight.observed_consequence_present import judge, observe

from pfid.spec import NoLimits, Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import ManifestFacts


def facts(**changed):
    return ManifestFacts(**{"steps": 1, **changed})


def said(known):
    return judge(observe(project_world(manifest=known)), NoLimits())


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (None, "not_configured"),
        (facts(), "observed"),
        (facts(problem="no_manifest"), "no_manifest"),
        (facts(problem="manifest_unreadable"), "manifest_unreadable"),
        (facts(same_commit=False), "other_commit"),
        (facts(same_environment=False), "other_environment"),
        (facts(problem="python_unanswered"), "python_unanswered"),
        (facts(ended_well=False), "smoke_failed"),
        (facts(unobserved=("mask",)), "intent_only"),
        (facts(contradicted=("mask",), unobserved=("x",)), "contradicted"),
        (facts(own=("template",)), "self_observed"),
        (facts(steps=0), "no_step_times"),
        (facts(unobserved=("mask",), same_commit=False), "other_commit"),
    ],
)
def test_a_manifest_is_judged(known, reason):
    assert said(known).reason == reason


def test_an_intention_is_no_evidence():
    """Without a run of this very commit nothing is known, whatever the manifest says."""
    for known in (facts(problem="no_manifest"), facts(same_commit=False)):
        assert said(known).outcome is Outcome.UNKNOWN
