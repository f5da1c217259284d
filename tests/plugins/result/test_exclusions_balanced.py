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
