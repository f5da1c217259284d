"""Was the watchdog seen to fire lately?"""

import pytest
from pfid_plugins.preflight.watchdog_tested_negative import Limits, judge, observe

from pfid.spec import Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import WatchdogFacts


def said(facts):
    return judge(observe(project_world(watchdog=facts)), Limits())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (WatchdogFacts(), "nobody_watches"),
        (WatchdogFacts(who="daemon"), "never_tested"),
        (WatchdogFacts(who="daemon", age_s=0.0), "tested"),
        (WatchdogFacts(who="daemon", age_s=7 * 86_400.0), "tested"),
        (WatchdogFacts(who="daemon", age_s=7 * 86_400.0 + 1), "test_old"),
        (WatchdogFacts(who="daemon", age_s=-1.0), "test_old"),
        (WatchdogFacts(who="engine", age_s=1.0, failed=("run_gone",)), "did_not_fire"),
    ],
)
def test_what_was_seen_is_judged(facts, reason):
    assert said(facts).reason == reason


def test_an_untested_watchdog_is_a_failure_and_none_at_all_is_unknown():
    assert said(WatchdogFacts(who="engine")).outcome is Outcome.FAIL
    assert said(WatchdogFacts()).outcome is Outcome.UNKNOWN
