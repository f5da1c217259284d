"""Is a refused serving path a failure, and one that was not tried to its end unknown?"""

import pytest
from pfid_plugins.preflight.serving_path import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import ServingFacts


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (ServingFacts(), "servable"),
        (ServingFacts(refused=True), "refused"),
        (ServingFacts(problem="serving_hung", refused=True), "serving_hung"),
        (ServingFacts(problem="not_started"), "not_started"),
    ],
)
def test_what_came_of_it_is_judged(facts, reason):
    assert judge(observe(project_world(serving=facts)), NoLimits()).reason == reason


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (ServingFacts(proven=True), "proven"),
        (ServingFacts(proven=True, refused=True), "refused"),
        (ServingFacts(proven=True, problem="other_version"), "other_version"),
        (ServingFacts(problem="not_proven"), "not_proven"),
    ],
)
def test_a_proof_that_is_kept_says_the_same(facts, reason):
    assert judge(observe(project_world(serving=facts)), NoLimits()).reason == reason
