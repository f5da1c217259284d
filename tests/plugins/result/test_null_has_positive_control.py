"""Is a null held back until its own function was seen to be otherwise?"""

import pytest
from pfid_plugins.result.null_has_positive_control import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.known_answers import DrivenMetric, KnownAnswer, KnownAnswersFacts

ANSWERS = tuple(
    KnownAnswer(kind=kind, low=low, high=high, answer=answer)
    for kind, low, high, answer in (
        ("identical", 100.0, 100.0, 100.0),
        ("half", 5.0, 95.0, 65.38),
        ("unrelated", 0.0, 0.0, 0.0),
        ("empty", 0.0, 0.0, 0.0),
    )
)


def held(values, name="m", **more):
    return arm(record(i, scores={name: v}, **more) for i, v in enumerate(values))


def said(candidate, baseline=None, driven=()):
    world = result_world(
        result_facts(candidate, baseline), known_answers=KnownAnswersFacts(metrics=tuple(driven))
    )
    return judge(observe(world), NoLimits())


def test_a_clean_zero_is_unknown_until_its_function_was_driven():
    zero = held([0.0] * 72)
    assert said(zero).reason == "null_not_earned"
    assert said(zero).evidence == ("m: zero for every item; not earned",)
    verdict = said(zero, driven=[DrivenMetric(metric="m", answers=ANSWERS, own="tied")])
    assert verdict.reason == "nulls_earned"
    assert "m: half: 65.38" in verdict.evidence


def test_equal_in_both_arms_says_nothing_either():
    verdict = said(held([0.25, 0.75]), held([0.6, 0.4]))
    assert verdict.reason == "null_not_earned"
    assert verdict.evidence == ("m: 0.5 in both arms; not earned",)


@pytest.mark.parametrize(
    ("here", "there", "evidence"),
    [
        ([0.25, 0.75], [0.0] * 9, ("m: zero for every item of the baseline; not earned",)),
        ([0.25, 0.75], [0.6] * 9, ("m: 0.6 for every item of the baseline; not earned",)),
        ([0.0] * 9, [0.0] * 9, ("m: zero for every item; not earned",)),
        ([0.0] * 9, [0.2, 0.3], ("m: zero for every item; not earned",)),
        ([0.0] * 9, [1.0] * 9, ("m: zero for every item; not earned",
                                "m: 1 for every item of the baseline; not earned")),
    ],
)  # fmt: skip
def test_each_arm_is_asked_whether_it_says_anything(here, there, evidence):
    verdict = said(held(here), held(there))
    assert (verdict.reason, verdict.evidence) == ("null_not_earned", evidence)


def test_a_family_in_which_nothing_moves_is_named():
    rp = [record(i, family="rp", scores={"hit": 0.0}) for i in range(5)]
    story = [record(i, family="story", scores={"hit": 0.1 * i}) for i in range(5)]
    verdict = said(arm([*rp, *story]))
    assert verdict.evidence == ("hit: 0 for every item of rp: not measured; not earned",)


def test_only_the_metrics_that_are_null_are_asked_for():
    records = [record(i, scores={"dead": 0.0, "alive": 0.1 * i, "some": i or None})
               for i in range(4)]  # fmt: skip
    verdict = said(arm(records))
    assert verdict.figures["nulls"].value == 1
    assert verdict.figures["metrics"].value == 3


def test_a_metric_that_scored_nobody_is_no_clean_evaluation():
    records = [record(i, scores={"alive": 0.1 * i, "gone": None}) for i in range(4)]
    verdict = said(arm(records))
    assert verdict.reason == "metric_missing"
    assert verdict.evidence == ("gone: not one record has a score",)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"answers": ANSWERS[2:]}, "constant_answer"),
        ({"answers": ANSWERS[3:]}, "control_proves_nothing"),
        ({"own": "other"}, "not_its_own"),
        ({"own": "untied"}, "function_untied"),
        ({"answers": (), "problem": "no_answer", "detail": "nan is no finite number"}, "no_answer"),
    ],
)
def test_a_function_that_shows_nothing_earns_nothing(changed, reason):
    driven = DrivenMetric(**{"metric": "m", "answers": ANSWERS, "own": "tied", **changed})
    assert said(held([0.0] * 4), driven=[driven]).reason == reason


def test_a_constant_needs_an_answer_that_is_another():
    driven = DrivenMetric(metric="m", answers=ANSWERS[:1] * 1, own="tied")
    assert said(held([100.0] * 9), driven=[driven]).reason == "control_proves_nothing"
    assert said(held([0.0] * 9), driven=[driven]).reason == "nulls_earned"
