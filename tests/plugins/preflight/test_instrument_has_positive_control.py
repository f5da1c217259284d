"""Can the metric go red, and does it answer what is known?"""

import pytest
from pfid_plugins.preflight.instrument_has_positive_control import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import MetricFacts, MetricsFacts


def said(facts):
    return judge(observe(project_world(metrics=facts)), NoLimits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (MetricsFacts(metrics=()), "not_configured"),
        (
            MetricsFacts(
                metrics=(MetricFacts(function="m:f", answers=(1.0, 0.0), expected=(1.0, 0.0)),)
            ),
            "answers_known",
        ),
        (
            MetricsFacts(metrics=(MetricFacts(function="m:f", answers=(0.0,), expected=(0.0,)),)),
            "no_positive_control",
        ),
        (
            MetricsFacts(
                metrics=(
                    MetricFacts(
                        function="m:f", answers=(0.0, 0.0), expected=(1.0, 0.0), wrong=("x",)
                    ),
                )
            ),
            "constant_answer",
        ),
        (
            MetricsFacts(
                metrics=(
                    MetricFacts(
                        function="m:f", answers=(0.5, 0.0), expected=(1.0, 0.0), wrong=("x",)
                    ),
                )
            ),
            "wrong_answer",
        ),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason
