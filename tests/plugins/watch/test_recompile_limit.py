"""Was a recompile limit hit, and what did it cost?"""

import pytest
from pfid_plugins.watch.recompile_limit import judge, observe

from pfid.analysis.step_regime import SlowLimits
from pfid.domain.log_facts import LogFacts, Marker, MarkerSeen
from pfid.domain.outcome import Outcome
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog, FixedSteps, moving, step_series
from pfid.spec.world import World

LIMITS = SlowLimits()
BEFORE = Baseline(median_s=10.0, source=BaselineSource.EARLIER_RUNS, n=500)
OWN = Baseline(median_s=10.0, source=BaselineSource.OWN_EARLY_STEPS, n=32)
WARNING = "torch._dynamo hit config.recompile_limit (8)"


def hit(at, *, count=1, marker=Marker.RECOMPILE_LIMIT, **more):
    seen = MarkerSeen(count=count, first_line=9, first_step=at, line=WARNING, **more)
    return LogFacts(bytes_read=1, markers={marker: seen})


def said(facts, seconds, baseline=BEFORE, *, first_index=1):
    events = step_series(tuple(seconds), first_index=first_index)
    moves = moving(steps_seen=len(events), last_index=events[-1].index if events else None)
    world = World(
        subject=CONTROL_SUBJECT,
        log=FixedLog(log_facts=facts),
        steps=FixedSteps(events=events, held_against=baseline, moves=moves),
    )
    return judge(observe(world), LIMITS)


FAST, FALLEN = [10.0] * 200, [10.0] * 100 + [200.0] * 60
PARTLY = [10.0, 10.0, 10.0, 200.0] * 50


@pytest.mark.parametrize("seconds", [FALLEN, PARTLY, [16.0] * 200], ids=["whole", "part", "slow"])
@pytest.mark.parametrize("marker", [Marker.RECOMPILE_LIMIT, Marker.FLEX_UNCOMPILED])
def test_a_hit_that_cost_time_fails(marker, seconds):
    verdict = said(hit(50, marker=marker), seconds)
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "hit_consequence_seen")


def test_a_hit_that_cost_nothing_passes_and_says_so():
    verdict = said(hit(50), FAST)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASS, "hit_consequence_not_seen")
    assert verdict.figures["hits"].value == 1


def test_slow_steps_without_a_hit_are_not_laid_to_one():
    assert said(LogFacts(bytes_read=1), FALLEN).reason == "no_hit"


def test_the_words_in_a_source_listing_are_no_hit():
    assert said(hit(50, count=0, quoted=7), FALLEN).reason == "no_hit"


@pytest.mark.parametrize(
    ("facts", "seconds", "baseline"),
    [
        (hit(50), FAST, None),
        (hit(190), FAST, BEFORE),
        (hit(50), [10.0] * 10, BEFORE),
        (hit(50), [0.1] * 200, Baseline(median_s=0.1, source=BEFORE.source, n=500)),
        (hit(10), FAST, OWN),
        (hit(None), FAST, OWN),
        (hit(50), [], BEFORE),
    ],
    ids=[
        "no baseline",
        "hit just now",
        "few steps",
        "half a minute is not over",
        "within its own measure",
        "before any step, own measure",
        "no steps",
    ],
)
def test_what_it_cost_may_not_be_known(facts, seconds, baseline):
    verdict = said(facts, seconds, baseline)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "hit_consequence_unknown")


def test_a_fallback_is_seen_even_against_its_own_measure():
    assert said(hit(10), FALLEN, OWN).reason == "hit_consequence_seen"


def test_a_resumed_counter_does_not_hide_that_the_hit_was_early():
    assert said(hit(9_010), FAST, OWN, first_index=9_001).reason == "hit_consequence_unknown"
    assert said(hit(9_100), FAST, OWN, first_index=9_001).reason == "hit_consequence_not_seen"


def test_no_log_is_unknown():
    assert said(None, FALLEN).reason == "no_log"


def test_the_warning_itself_is_for_the_owner_alone():
    verdict = said(hit(50), FALLEN)
    assert verdict.evidence == (WARNING,)
    assert "dynamo" not in verdict.summary


def test_both_warnings_are_one_suspicion():
    both = LogFacts(
        markers={
            Marker.RECOMPILE_LIMIT: MarkerSeen(count=1, first_line=9, first_step=120),
            Marker.FLEX_UNCOMPILED: MarkerSeen(count=2, first_line=5, first_step=100),
        }
    )
    verdict = said(both, FAST)
    assert verdict.figures["hits"].value == 3
    assert verdict.figures["hit_step"].value == 100


def test_intervals_since_the_hit_count_as_their_steps():
    events = tuple(
        StepEvent(index=i * 10, seconds=100.0, interval_steps=10, clock=StepClock.PRINTED)
        for i in range(1, 21)
    )
    world = World(
        subject=CONTROL_SUBJECT,
        log=FixedLog(log_facts=hit(160)),
        steps=FixedSteps(
            events=events, held_against=BEFORE, moves=moving(steps_seen=200, last_index=200)
        ),
    )
    assert judge(observe(world), LIMITS).reason == "hit_consequence_not_seen"
