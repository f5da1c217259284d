"""Does the key move with the meaning, and with nothing else?"""

import pytest
from pfid_plugins.preflight.cache_key_covers_change import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import CacheKeyFacts


def said(facts):
    return judge(observe(project_world(cache_key=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (CacheKeyFacts(tried=1), "covers"),
        (CacheKeyFacts(), "nothing_tried"),
        (CacheKeyFacts(tried=2, unmoved=("mask",)), "not_covered"),
        (CacheKeyFacts(tried=2, unstable=("again",), unmoved=("mask",)), "not_stable"),
        (CacheKeyFacts(tried=2, followed=("mask",)), "follows_place"),
        (CacheKeyFacts(tried=2, followed=("mask",), unmoved=("mask",)), "not_covered"),
        (CacheKeyFacts(tried=1, unreadable=("mask",)), "file_unreadable"),
        (CacheKeyFacts(problem="python_crashed", tried=1), "python_crashed"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason


def test_the_argument_that_was_left_out_is_named_for_its_owner_alone():
    verdict = said(CacheKeyFacts(tried=2, unmoved=("impersonation_mask",)))
    assert verdict.evidence == ("impersonation_mask",)
    assert "impersonation" not in verdict.summary
