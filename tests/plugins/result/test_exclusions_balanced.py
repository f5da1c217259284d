"""What was lost is said before any comparison, and nothing is called new without looking."""

from dataclasses import replace

import pytest
from pfid_plugins.result.exclusions_balanced import Limits, judge, observe

from pfid.spec.fakes_results import INSTRUMENT, arm, record, result_facts, result_world
from pfid.spec.ports.results import PreviousResult
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.exclusions_balanced import ExclusionsGate

COUNTS = ("candidate_lost", "candidate_items", "baseline_lost", "baseline_items")


def lost(count, items=192, name="candidate", flags=(), reason="length"):
    records = [
        record(n, finish_reason=reason if n < count else "stop", flags=flags if n < count else ())
        for n in range(items)
    ]
    return arm(records, name)


def verdict(candidate, baseline, gate=None, **more):
    gates = Gates(exclusions_balanced=gate)
    facts = result_facts(candidate, baseline, gates=gates, **more)
    return judge(observe(result_world(facts)), Limits())


def earlier(*counts):
    figures = {"exclusions_balanced": dict(zip(COUNTS, map(float, counts), strict=True))}
    return PreviousResult(name="run-01", judged_at_s=1_787_788_800.0, figures=figures)


@pytest.mark.parametrize("base", [1, 2])
def test_18_of_192_against_1_or_2_is_said(base):
    found = verdict(lost(18), lost(base, name="baseline"))
    assert found.reason == "lopsided"
    assert f"18 of 192 against {base} of 192" in found.summary
    assert "no earlier record" in found.summary


def test_what_the_run_before_had_already_is_not_new():
    found = verdict(lost(18), lost(2, name="baseline"), previous=earlier(18, 192, 1, 192))
    assert found.reason == "lopsided_again"
    assert found.summary.endswith("earlier record of 2026-08-27: 18 of 192 against 1 of 192")


def test_an_earlier_record_of_another_instrument_is_not_compared_with():
    """A cap that was lowered in silence loses other items; that is no history."""
    before = earlier(18, 192, 1, 192)
    other = replace(before, candidate=replace(INSTRUMENT, max_tokens=9_000), baseline=INSTRUMENT)
    found = verdict(lost(18), lost(2, name="baseline"), previous=other)
    assert found.reason == "lopsided"
    assert "of another instrument (max_tokens) and is not compared with" in found.summary
    same = replace(before, candidate=INSTRUMENT, baseline=INSTRUMENT)
    assert verdict(lost(18), lost(2, name="b"), previous=same).reason == "lopsided_again"


def test_its_own_figures_are_what_the_next_run_finds():
    first = verdict(lost(18), lost(2, name="baseline"))
    kept = {name: figure.value for name, figure in first.figures.items()}
    before = PreviousResult(name="x", judged_at_s=0.0, figures={"exclusions_balanced": kept})
    again = verdict(lost(18), lost(2, name="baseline"), previous=before)
    assert again.reason == "lopsided_again"


@pytest.mark.parametrize("counts", [(18, 0, 1, 192), (200, 192, 1, 192), (-1, 192, 0, 192)])
def test_a_damaged_record_says_nothing(counts):
    found = verdict(lost(18), lost(2, name="baseline"), previous=earlier(*counts))
    assert found.reason == "lopsided"


def test_a_record_that_cannot_be_read_lets_nothing_be_called_new():
    found = verdict(lost(18), lost(2, name="b"), previous_problem="store is damaged")
    assert "nothing here can be called new" in found.summary
    assert "damaged" not in found.summary


def test_only_flags_that_count_lose_an_item():
    candidate, baseline = lost(18, flags=("noted",), reason="stop"), lost(0, name="baseline")
    assert verdict(candidate, baseline).reason == "lopsided"
    assert verdict(candidate, baseline, ExclusionsGate(flags=["void"])).reason == "balanced"


def test_truncation_can_be_left_to_others():
    gate = ExclusionsGate(truncation=False)
    found = verdict(lost(18), lost(0, name="baseline"), gate)
    assert found.reason == "losses_not_told"


def test_tokens_at_the_cap_are_truncation_where_the_engine_says_nothing():
    full = arm([record(n, output_tokens=512, cap_tokens=512) for n in range(192)])
    short = arm([record(n, output_tokens=90, cap_tokens=512) for n in range(192)], "baseline")
    assert verdict(full, short).reason == "lopsided"


def scored(nulls, items=192, name="candidate", reason="stop", family=""):
    records = [
        record(n, family=family, finish_reason=reason, scores={"f1": None if n < nulls else 0.5})
        for n in range(items)
    ]
    return arm(records, name)


def test_an_item_without_a_score_is_lost_by_its_arm_and_said():
    found = verdict(scored(18), scored(2, name="baseline"))
    assert found.reason == "lopsided"
    assert "18 of 192 against 2 of 192; without a score 18 against 2" in found.summary
    assert found.figures["candidate_unscored"].value == 18
    assert found.evidence[0].endswith("18 without a score; of 0 nobody says how they ended")
    assert verdict(scored(3), scored(2, name="baseline")).reason == "balanced"


def test_an_arm_that_was_never_scored_lost_all_of_it():
    assert verdict(scored(192), scored(0, name="baseline")).reason == "lopsided"
    assert verdict(scored(192), scored(192, name="baseline")).reason == "balanced"


def test_a_metric_of_another_kind_of_prompt_is_not_missed():
    def both(name):
        rest = [record(f"b{n}", family="b", finish_reason="stop", scores={"f1": None})
                for n in range(96)]  # fmt: skip
        return arm([*scored(0, 96, family="a").records, *rest], name)

    found = verdict(both("candidate"), both("baseline"))
    assert found.reason == "balanced"
    assert found.figures["candidate_unscored"].value == 0


def test_scores_that_count_can_be_named_and_left_out():
    ours, theirs = scored(18), scored(0, name="baseline")
    assert verdict(ours, theirs, ExclusionsGate(scores=["other"])).reason == "balanced"
    assert verdict(ours, theirs, ExclusionsGate(scores=["f1"])).reason == "lopsided"
    assert verdict(ours, theirs, ExclusionsGate(unscored=False)).reason == "balanced"


def test_an_answer_whose_scores_stand_on_another_of_its_item_lacks_none():
    first = scored(0, 96).records
    again = [replace(r, repeat=1, scores={}, scored=False) for r in first]
    assert verdict(arm([*first, *again]), arm([*first, *again], "b")).reason == "balanced"
    again = [replace(r, scored=True) for r in again]
    assert verdict(arm([*first, *again]), arm(first, "b")).reason == "lopsided"


@pytest.mark.parametrize(
    ("told", "reason"), [(0, "losses_not_told"), (140, "losses_not_told"), (190, "balanced")]
)
def test_an_ending_that_nobody_tells_is_not_taken_for_a_good_one(told, reason):
    def half(name):
        return arm(
            [record(n, finish_reason="stop" if n < told else None, flags=("x",) if not n else ())
             for n in range(192)], name,
        )  # fmt: skip

    found = verdict(half("candidate"), half("baseline"))
    assert found.reason == reason
    assert found.figures["baseline_untold"].value == 192 - max(told, 1)


def test_what_is_lost_for_certain_is_said_though_endings_are_not_told():
    flagged = [record(n, flags=("too_short",) if n < 18 else ()) for n in range(192)]
    fine = [record(n, flags=("too_short",) if n < 2 else ()) for n in range(192)]
    assert verdict(arm(flagged), arm(fine, "baseline")).reason == "lopsided"
    assert verdict(arm(fine), arm(flagged, "baseline")).reason == "lopsided"
    untold = arm([record(n, flags=("x",) if not n else ()) for n in range(192)], "baseline")
    assert verdict(lost(18), untold).reason == "losses_not_told"
