"""Does one file describe one run after a relaunch?"""

import pytest
from pfid_plugins.preflight.log_rotates import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import RotationFacts


def said(facts):
    return judge(observe(project_world(rotation=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (RotationFacts(), "rotates"),
        (RotationFacts(fresh=False), "not_rotated"),
        (RotationFacts(kept=False), "text_lost"),
        (RotationFacts(problem="no_folder"), "no_folder"),
        (RotationFacts(problem="rotation_hung", fresh=False), "rotation_hung"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason
