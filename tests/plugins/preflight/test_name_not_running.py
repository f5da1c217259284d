"""Does a run of the name live?"""

import pytest
from pfid_plugins.preflight.name_not_running import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import NameFacts


def said(facts):
    return judge(observe(project_world(launched=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (NameFacts(), "free"),
        (NameFacts(living=("a",)), "running"),
        (NameFacts(problem="cannot_tell"), "cannot_tell"),
        (NameFacts(living=("a",), problem="cannot_tell"), "running"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason
