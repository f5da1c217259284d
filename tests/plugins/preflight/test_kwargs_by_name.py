"""Is an argument that the installed library does not have found, whatever else is wrong?"""

import pytest
from pfid_plugins.preflight.kwargs_by_name import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import KwargsFacts, TargetFacts


def said(facts):
    return judge(observe(project_world(kwargs=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (KwargsFacts(targets=(TargetFacts(target="a:B", tried=1),)), "accepted"),
        (KwargsFacts(targets=()), "nothing_given"),
        (
            KwargsFacts(
                targets=(
                    TargetFacts(target="a:B", tried=1, problem="python_hung"),
                    TargetFacts(target="a:C", tried=1, unknown=(("x", ""),)),
                )
            ),
            "unknown_argument",
        ),
        (
            KwargsFacts(
                targets=(
                    TargetFacts(target="a:B", tried=1),
                    TargetFacts(target="a:C", problem="target_missing", tried=1),
                )
            ),
            "target_missing",
        ),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason


def test_the_argument_and_its_successor_are_named():
    target = TargetFacts(target="t:Args", tried=1, unknown=(("warmup_ratio", "warmup_steps"),))
    (line,) = said(KwargsFacts(targets=(target,))).evidence
    assert line == "t:Args does not take 'warmup_ratio'; is it 'warmup_steps'?"
