"""Are as many cards free as the run needs?"""

import pytest
from pfid_plugins.preflight.gpu_free import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import CardFacts, CardsFacts


def said(facts):
    return judge(observe(project_world(cards=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (CardsFacts(cards=(CardFacts(uuid="a"),)), "free"),
        (CardsFacts(), "too_few"),
        (CardsFacts(cards=(CardFacts(uuid="a", holders=1),)), "in_use"),
        (CardsFacts(cards=(CardFacts(uuid="a", holders=None),)), "holders_unknown"),
        (CardsFacts(cards=(CardFacts(uuid="a", orphaned_bytes=1),)), "memory_orphaned"),
        (
            CardsFacts(cards=(CardFacts(uuid="a", holders=1), CardFacts(uuid="b"))),
            "free",
        ),
        (
            CardsFacts(needed=2, cards=(CardFacts(uuid="a", holders=1), CardFacts(uuid="b"))),
            "in_use",
        ),
        (CardsFacts(problem="cannot_look", cards=(CardFacts(uuid="a"),)), "cannot_look"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason
