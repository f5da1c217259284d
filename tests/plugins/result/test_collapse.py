"""Only collapse voids a block; what the playbook pooled with it does not."""

from statistics import stdev

import pytest
from pfid_plugins.result.collapse import Limits, judge, observe

from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.collapse import CollapseGate

ITEMS = (96, 96, 96, 96, 95, 95, 95, 95)
TOO_SHORT = (7, 8, 11, 11, 12, 13, 14, 14)
"""Eight seed blocks that have every figure the playbook gives of them."""
TURN = "She set the lamp on the sill and looked out over the harbour until the last ferry had gone."


def verdict(records, **gate):
    gates = Gates(collapse=CollapseGate(**gate)) if gate else Gates()
    return judge(observe(result_world(result_facts(arm(records), gates=gates))), Limits())


def figures(found):
    return {name: figure.value for name, figure in found.figures.items()}


def blocks(short, flags):
    return [
        record(n, short if n < few else TURN, seed=seed, flags=flags if n < few else ())
        for seed, (items, few) in enumerate(zip(ITEMS, TOO_SHORT, strict=True))
        for n in range(items)
    ]


def test_the_blocks_are_those_of_the_playbook():
    shares = [100 * few / items for few, items in zip(TOO_SHORT, ITEMS, strict=True)]
    assert (sum(TOO_SHORT), sum(ITEMS)) == (90, 764)
    assert round(100 * 90 / 764, 2) == 11.78
    assert round(stdev(shares), 2) == 2.78


def test_the_pooled_budget_voids_6_of_8_blocks_and_the_separated_one_none():
    found = verdict(blocks("She nodded, and said nothing.", ("too_short",)))
    said = figures(found)
    assert found.reason == "steady"
    assert (said["blocks"], said["blocks_void"], said["blocks_pooled_void"]) == (8, 0, 6)
    assert found.summary.endswith("a budget pooled with other flags would void 6")


def test_the_same_blocks_are_void_if_what_was_flagged_had_looped():
    found = verdict(blocks("and so it goes " * 40, ("repeated_trigrams",)))
    assert found.reason == "void"
    assert figures(found)["blocks_void"] == 6


@pytest.mark.parametrize("cut", [0, 40])
def test_an_answer_that_the_cap_cut_off_is_no_collapse(cut):
    records = [record(n, TURN, finish_reason="length" if n < cut else "stop") for n in range(40)]
    assert verdict(records).reason == "steady"


def test_a_loop_in_the_reasoning_counts():
    records = [record(n, "Lisbon.", reasoning="wait, no " * 90) for n in range(20)]
    assert verdict(records).reason == "void"


def test_a_translation_is_in_the_alphabet_that_the_known_good_answer_has():
    words = "\u0414\u043e\u0431\u0440\u044b\u0439 \u0434\u0435\u043d\u044c"
    asked = [record(n, words, prompt="Say good day in Russian.") for n in range(20)]
    known = [record(n, words, prompt="Say it", reference=words) for n in range(20)]
    assert verdict(asked).reason == "void"
    assert verdict(asked, scripts=["cyrillic"]).reason == "steady"
    assert verdict(known).reason == "steady"


def test_a_family_that_is_not_looked_at_is_counted():
    loops = [record(n, "no no no " * 30, family="chant") for n in range(20)]
    good = [record(n, TURN, family="prose") for n in range(20)]
    found = verdict([*loops, *good], families=["prose"])
    assert found.reason == "steady"
    assert figures(found)["left_out"] == 20


def test_what_collapsed_is_named_without_its_text():
    hostile = record("\x1b[2Jitem", "\x1b[31m no " * 60, family="f")
    found = verdict([hostile])
    assert found.evidence[0] == "loop: 1"
    assert "\x1b" not in "".join((found.summary, *found.evidence))
    assert " no " not in "".join(found.evidence)
