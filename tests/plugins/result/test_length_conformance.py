"""Lengths are a distribution: no floor for all, and the cap is the same shift at its other end."""

import pytest
from pfid_plugins.result.length_conformance import Limits, judge, observe

from pfid.config.tables import build_table
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.length_conformance import FamilyLengths, LengthGate


def verdict(records, baseline=None, **gate):
    gates = Gates(length_conformance=LengthGate(**gate))
    facts = result_facts(arm(records), arm(baseline, "b") if baseline else None, gates=gates)
    return judge(observe(result_world(facts)), Limits())


def story(lengths, **more):
    return [record(n, "word " * words, family="story", **more) for n, words in enumerate(lengths)]


def target(**quartiles):
    return [FamilyLengths(family="story", **quartiles)]


def test_the_six_word_answer_is_correct_and_passes():
    lisbon = "The capital of Portugal is **Lisbon**."
    records = [record(n, lisbon, reference=lisbon, family="fact") for n in range(30)]
    found = verdict(records)
    assert found.reason == "conforms"
    assert found.figures["with_floor"].value == 30


def test_the_same_six_words_where_much_is_known_to_be_good_do_not():
    lisbon = "The capital of Portugal is **Lisbon**."
    known = {str(n): ["word " * 400, "word " * 300] for n in range(30)}
    found = verdict([record(n, lisbon) for n in range(30)], known_good=known)
    assert found.reason == "under_own_floor"
    assert "30 of 30 are under their own floor" in found.summary


def test_a_key_for_one_floor_does_not_exist():
    problems = []
    build_table(LengthGate, {"floor_words": 15}, "gates.length_conformance", problems)
    assert problems[0].startswith("gates.length_conformance.floor_words: unknown key")


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ({"families": [FamilyLengths(family="a")]}, ".families[0]: state p25, median or p75"),
        (
            {"families": [FamilyLengths(family="a", p25=9, median=5)]},
            ".families[0]: p25, median and p75 must rise",
        ),
        (
            {"families": [FamilyLengths(median=5), FamilyLengths(median=6)]},
            ".families[1].family: '' stands there twice",
        ),
        (
            {"unit": "tokens", "known_good": {"1": ["a"]}},
            ".known_good: is counted in words; the unit is tokens",
        ),
    ],
)
def test_a_section_that_contradicts_itself_is_named(gate, problem):
    assert LengthGate(**gate).problems() == [problem]


def test_a_learnt_habit_of_short_turns_is_a_shift_and_truncation_its_mirror():
    """Run 2 of the playbook: stories grew from 669 to 727 words and the cap clipped their tail."""
    grown = [727 + n % 100 - 50 for n in range(384)]
    records = [
        record(n, "word " * min(words, 740), family="story",
               finish_reason="length" if words > 740 else "stop")
        for n, words in enumerate(grown)
    ]  # fmt: skip
    found = verdict(records, families=target(median=500, within=0.2))
    assert found.reason == "longer"
    assert "were cut off at the cap, the same shift from its other end" in found.summary
    assert found.figures["cut_off"].value > 100


def test_a_quartile_among_answers_that_were_cut_off_is_a_lower_bound():
    records = story([400] * 60) + [
        record(f"c{n}", "word " * 512, family="story", finish_reason="length") for n in range(40)
    ]
    assert verdict(records, families=target(p75=520)).reason == "cut_off"
    assert verdict(records, families=target(p75=300)).reason == "longer"
    assert verdict(records, families=target(median=400)).reason == "conforms"


def test_reasoning_and_template_are_no_words_of_the_answer():
    long = "<think>" + "hm " * 900 + "</think>Lisbon, of course.<|im_end|>"
    records = [record(n, long, family="story") for n in range(60)]
    assert verdict(records, families=target(median=3)).reason == "conforms"


def test_chinese_is_counted_in_words():
    text = "\u8461\u8404\u7259\u7684\u9996\u90fd\u662f\u91cc\u65af\u672c\u3002" * 20
    records = [record(n, text, family="story") for n in range(60)]
    assert verdict(records, families=target(median=100)).reason == "conforms"


def test_tokens_are_those_that_the_records_state():
    records = story([10] * 60, output_tokens=700)
    assert verdict(records, families=target(median=700), unit="tokens").reason == "conforms"


def test_kinds_without_targets_and_the_other_arm_are_shown():
    other = [record(f"x{n}", "a b c", family="\x1bchat") for n in range(5)]
    found = verdict([*story([400] * 60), *other], story([300] * 9), families=target(median=400))
    assert found.reason == "conforms"
    assert "\\x1bchat: 5, p25 median p75 3 3 3, no target" in found.evidence
    assert "baseline story: 9, p25 median p75 300 300 300, no target" in found.evidence


def test_a_shift_within_few_items_is_not_called_one():
    assert verdict(story([290] * 2 + [410]), families=target(median=400)).reason == "too_few_items"


@pytest.mark.parametrize(("lengths", "reason"), [([260] * 99, "shorter"), ([560] * 99, "longer")])
def test_the_figure_and_its_target_stand_in_the_summary(lengths, reason):
    found = verdict(story(lengths), families=target(median=400))
    assert found.reason == reason
    assert f"story median {lengths[0]}, target 400" in found.summary
    assert found.figures["median_low"].value == found.figures["median_high"].value == lengths[0]
