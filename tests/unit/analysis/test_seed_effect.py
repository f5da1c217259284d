"""Are seeds that never were taken told from those that were, in every draw of many?"""

import random
from collections import Counter
from itertools import combinations, permutations

import pytest

from pfid.analysis.seed_effect import (
    LEVEL,
    Seeds,
    _Likened,
    _variance,
    outputs_by_seed,
    seed_effect,
)
from pfid.spec.fakes_results import record

WORDS = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
DRAWS = range(60)


def text(chance):
    return " ".join(chance.choices(WORDS, k=6))


def greedy(chance, runs, items=30, jitter=0.02):
    """One text an item, whatever the seed; batching changes a few."""
    held = []
    for _ in range(items):
        usual, other = text(chance), text(chance)
        held.append({s: [other if chance.random() < jitter else usual for _ in range(r)]
                     for s, r in runs.items()})  # fmt: skip
    return held


def own_draws(chance, runs, items=30):
    """The engine draws by itself: every run is another sample."""
    return [{s: [text(chance) for _ in range(r)] for s, r in runs.items()} for _ in range(items)]


def taken(chance, runs, items=30, jitter=0.1, open_share=1.0):
    """Every seed has its own text, but for answers that have but one; jitter changes a few."""
    held = []
    for _ in range(items):
        only = text(chance) if chance.random() >= open_share else None
        own = {s: only or text(chance) for s in runs}
        held.append({s: [text(chance) if chance.random() < jitter else own[s] for _ in range(r)]
                     for s, r in runs.items()})  # fmt: skip
    return held


THRICE = {1: 3, 2: 3, 3: 3}
BLOCKS = {**dict.fromkeys(range(1, 8), 1), 8: 3}


def told(make, runs, **how):
    """How often each is said over the draws."""
    said = Counter()
    for draw in DRAWS:
        said[seed_effect(make(random.Random(f"{make.__name__} {draw}"), runs, **how)).seeds] += 1
    return said


@pytest.mark.parametrize(
    ("make", "runs", "how"),
    [
        (greedy, THRICE, {}),
        (greedy, THRICE, {"jitter": 0.004}),
        (greedy, BLOCKS, {"items": 60}),
        (greedy, {1: 1, 2: 1, 3: 1, 4: 1}, {"items": 96}),
        (own_draws, THRICE, {}),
        (own_draws, BLOCKS, {}),
        (own_draws, {1: 2, 2: 2}, {"items": 60}),
    ],
)
def test_seeds_that_never_were_taken_are_never_taken_for_it(make, runs, how):
    said = told(make, runs, **how)
    assert said[Seeds.TAKEN] == 0
    assert said[Seeds.UNTOLD] <= 3, "two standard deviations by chance: one draw in forty"


@pytest.mark.parametrize(
    ("runs", "how"),
    [
        (THRICE, {}),
        (BLOCKS, {"items": 60}),
        (THRICE, {"items": 20, "jitter": 0.2}),
        (THRICE, {"items": 96, "open_share": 0.3}),
        ({1: 2, 2: 2}, {"items": 40}),
    ],
)
def test_seeds_that_were_taken_are_told(runs, how):
    assert told(taken, runs, **how) == {Seeds.TAKEN: len(DRAWS)}


def test_answers_that_hardly_vary_are_no_proof_of_either():
    """One open answer of thirty is split by its seeds: that may be chance, or not."""
    one = [{s: ["yes"] * 3 for s in THRICE} for _ in range(29)]
    effect = seed_effect([*one, {s: [str(s) * 9] * 3 for s in THRICE}])
    assert effect.seeds is Seeds.UNTOLD
    assert effect.telling == 1
    assert effect.items_needed > 1
    flipped = seed_effect(
        [*one, {1: ["yes", "no!", "yes"], 2: ["yes"] * 3, 3: ["no!", "yes", "yes"]}]
    )
    assert flipped.seeds is Seeds.NOT_TAKEN


@pytest.mark.parametrize("repeats", [1, 3])
def test_one_seed_of_eight_that_says_other_things_speaks_for_itself_alone(repeats):
    items = [
        {s: [f"{'b' if s == 8 else 'a'} {n}"] * repeats for s in range(1, 9)} for n in range(40)
    ]
    assert seed_effect(items).seeds is Seeds.NOT_TAKEN


def test_most_answers_the_same_under_eight_seeds_are_said_without_repeats():
    items = [{s: [f"{n}" if n < 79 else f"{s} {n}"] for s in range(1, 9)} for n in range(96)]
    effect = seed_effect(items)
    assert effect.seeds is Seeds.NOT_TAKEN
    assert effect.same_share == pytest.approx(79 / 96)


def test_without_repeats_other_outputs_show_nothing():
    items = [{s: [f"{s} {n}"] for s in range(1, 9)} for n in range(96)]
    effect = seed_effect(items)
    assert effect.seeds is Seeds.UNTOLD
    assert effect.items_needed is None


def test_one_seed_alone_is_no_matter_of_this():
    assert seed_effect([{1: ["a", "b"]}]) is None
    assert seed_effect([]) is None


def test_the_variance_is_that_over_all_labels():
    item = _Likened.of({1: ["aaaa", "aab"], 2: ["abcd", "aacd"], 3: ["b"]})
    labels = item.seeds
    found = []
    for handed in set(permutations(labels)):
        within = [x for x in combinations(range(5), 2) if handed[x[0]] == handed[x[1]]]
        between = [x for x in combinations(range(5), 2) if {handed[x[0]], handed[x[1]]} == {1, 3}]
        found.append(sum(item.likeness[x] for x in within) / len(within)
                     - sum(item.likeness[x] for x in between) / len(between))  # fmt: skip
    within = [x for x in combinations(range(5), 2) if labels[x[0]] == labels[x[1]]]
    between = [x for x in combinations(range(5), 2) if {labels[x[0]], labels[x[1]]} == {1, 3}]
    assert sum(found) / len(found) == pytest.approx(0, abs=1e-12)
    assert _variance(item, within, between) == pytest.approx(
        sum(one**2 for one in found) / len(found)
    )


def test_the_power_is_what_is_said():
    """Two seeds, three runs each; twenty items under jitter are among the draws above."""
    held = [{s: [str(s) * 9] * 3 for s in (1, 2)} for _ in range(7)]
    assert seed_effect(held).chance <= LEVEL
    assert seed_effect(held[:6]).chance > LEVEL
    assert seed_effect(held[:6]).seeds is Seeds.UNTOLD
    assert seed_effect(held[:6]).items_needed == 7


def test_many_seeds_are_each_held_against_the_next():
    items = [{s: [f"{s} {n}" if s != 40 else f"39 {n}"] * 2 for s in range(60)} for n in range(12)]
    assert seed_effect(items).seeds is Seeds.NOT_TAKEN


def test_outputs_are_told_apart_by_item_and_in_order_of_their_repeats():
    held = [record(1, "b", seed=1, repeat=1), record(1, "a", seed=1, repeat=0), record(2, "c"),
            record(1, "d", seed=0, repeat=0, family="f")]  # fmt: skip
    assert outputs_by_seed(held) == [{1: ["a", "b"]}, {0: ["d"]}]
