"""Are rates counted over the right records, and seeds told from repeats?"""

import pytest

from pfid.analysis.rates import Count
from pfid.analysis.result_rates import alike, count, counts_by_seed, left_out, seed_margin
from pfid.spec.fakes_results import record
from pfid.spec.result_gates.rate import Rate

RECORDS = [
    record(1, "a b c", family="rp", seed=1, scores={"words": 3.0}, flags=("too_short",)),
    record(2, "a" * 50, family="story", seed=1, scores={"words": 20.0}),
    record(3, "b" * 50, family="story", seed=2, scores={"words": None}, flags=("too_short", "x")),
    record(4, "c" * 50, family="story", seed=None, scores={"words": 9.0}),
]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Rate(flag="too_short"), Count(2, 4)),
        (Rate(flag="too_short", family="rp"), Count(1, 1)),
        (Rate(flag="nobody_has_it"), Count(0, 4)),
        (Rate(metric="words"), Count(32, 3)),
        (Rate(metric="words", below=15), Count(2, 3)),
        (Rate(metric="words", below=3), Count(0, 3)),
        (Rate(metric="words", family="rp"), Count(3, 1)),
        (Rate(metric="gone"), None),
        (Rate(flag="too_short", family="gone"), None),
    ],
)
def test_a_rate_is_counted_over_what_it_applies_to(rate, expected):
    assert count(RECORDS, rate) == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Rate(metric="words"), Count(1, 4)),
        (Rate(metric="words", family="story"), Count(1, 3)),
        (Rate(metric="words", below=15), Count(1, 4)),
        (Rate(metric="gone"), Count(0, 0)),
        (Rate(flag="x"), Count(0, 4)),
    ],
)
def test_what_a_rate_is_not_over_is_counted(rate, expected):
    assert left_out(RECORDS, rate) == expected


def test_a_kind_of_prompt_that_nobody_scores_by_a_metric_lacks_none():
    other = [record(9, family="fact", scores={"words": None}), record(10, family="fact")]
    assert left_out([*RECORDS, *other], Rate(metric="words")) == Count(1, 4)


def test_runs_are_apart_by_seed_and_a_record_without_one_is_in_none():
    runs = counts_by_seed(
        [record(i, seed=s, repeat=r, scores={"m": float(i < s)}) for s in (1, 2) for r in (1, 0)
         for i in range(3)]
        + [record(9, scores={"m": 1.0})],
        Rate(metric="m"),
    )  # fmt: skip
    assert runs == {1: [Count(1, 3), Count(1, 3)], 2: [Count(2, 3), Count(2, 3)]}


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("same", "same", 1.0),
        ("", "", 1.0),
        ("", "x", 0.0),
        ("abcd", "abxy", 0.5),
        ("abc", "abcdef", 0.5),
    ],
)
def test_texts_are_alike_as_far_as_they_begin_the_same(one, other, share):
    assert alike(one, other) == share == alike(other, one)


def answers(said):
    return [
        record(item, output, seed=seed, repeat=repeat)
        for (seed, repeat), outputs in said.items()
        for item, output in enumerate(outputs)
    ]


def test_a_seed_that_was_taken_makes_its_own_runs_more_alike():
    said = {(1, 0): ["left", "up"], (1, 1): ["left", "up"], (2, 0): ["right", "down"]}
    assert seed_margin(answers(said)) == 1.0


def test_a_seed_that_was_never_handed_on_makes_all_runs_as_unlike():
    said = {(1, 0): ["ax", "bx"], (1, 1): ["cx", "dx"], (2, 0): ["ex", "fx"]}
    assert seed_margin(answers(said)) == 0.0


def test_the_same_outputs_under_other_seeds_are_no_further_samples():
    said = {(1, 0): ["left", "up"], (2, 0): ["left", "up"]}
    assert seed_margin(answers(said)) == 0.0


def test_an_answer_that_is_always_the_same_tells_nothing_of_seeds():
    said = {(1, 0): ["yes", "left"], (1, 1): ["yes", "left"], (2, 0): ["yes", "right"]}
    assert seed_margin(answers(said)) == 1.0


def test_repeats_of_one_seed_without_a_common_beginning_were_not_drawn_with_it():
    first = [f"{n}a" for n in range(10)]
    assert seed_margin(answers({(1, 0): first, (1, 1): [f"x{n}b" for n in range(10)]})) == 0.0
    assert seed_margin(answers({(1, 0): first, (1, 1): [f"{n}b" for n in range(10)]})) == 0.5
    assert seed_margin(answers({(1, 0): first, (1, 1): first})) == 1.0


def test_one_seed_without_repeats_or_with_few_items_tells_nothing():
    assert seed_margin(answers({(1, 0): ["a"] * 20})) is None
    nine = {(1, 0): ["a"] * 9, (1, 1): ["b"] * 9}
    assert seed_margin(answers(nine)) is None
    assert seed_margin([record(1), record(2)]) is None
