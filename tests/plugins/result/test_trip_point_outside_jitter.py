"""Is a trip point that flips refused, with the distance it needs, and are seeds told from noise?"""

from dataclasses import replace

import pytest
from pfid_plugins.result.trip_point_outside_jitter import Limits, judge, observe

from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.trip_point_outside_jitter import TripPoint, TripPointGate

LIMITS = Limits()
PLAYBOOK = [(9, 94), (12, 95), (9, 94)]


def runs(counts, seed=7):
    return [
        record(i, f"{seed}: answer {i}", seed=seed, repeat=r, scores={"m": float(i < hits)})
        for r, (hits, n) in enumerate(counts)
        for i in range(n)
    ]


POINT = TripPoint(name="p", threshold=0.1591, metric="m")


def said(records, threshold, limits=LIMITS, **point):
    points = [TripPoint(name="p", threshold=threshold, **{"metric": "m", **point})]
    gates = Gates(trip_point_outside_jitter=TripPointGate(points=points))
    return judge(observe(result_world(result_facts(arm(records), gates=gates))), limits)


def test_the_playbooks_budget_is_inside_its_own_jitter_and_told_where_to_go():
    verdict = said(runs(PLAYBOOK), 0.10)
    assert verdict.reason == "inside_jitter"
    figures = {name: figure.value for name, figure in verdict.figures.items()}
    assert figures["jitter_sd"] == pytest.approx(0.0177, abs=5e-5)
    assert figures["rate"] == pytest.approx(30 / 283)
    assert figures["distance_needed"] == pytest.approx(3 * 0.01765, abs=1e-4)
    assert "needs more than 5.30 pp: 5.30% or less, or 15.90% or more" in verdict.summary


def test_runs_of_two_instruments_say_nothing_of_the_stacks_jitter():
    gates = Gates(trip_point_outside_jitter=TripPointGate(points=[POINT]))
    mixed = arm(runs(PLAYBOOK), mixed=("decoding", "max_tokens"))
    verdict = judge(observe(result_world(result_facts(mixed, gates=gates))), LIMITS)
    assert verdict.reason == "runs_differ"
    assert verdict.summary.endswith("not the stack's jitter; decoding, max_tokens")


def test_the_point_that_it_names_is_far_enough():
    assert said(runs(PLAYBOOK), 0.1591).reason == "outside_jitter"
    assert said(runs(PLAYBOOK), 0.0530).reason == "outside_jitter"


def test_seeds_and_repeats_are_never_pooled():
    blocks = [r for s, hits in enumerate((5, 14, 9, 16)) for r in runs([(hits, 96)], seed=s)]
    verdict = said([*blocks, *runs([(12, 96), (12, 96), (12, 96)], seed=9)], 0.20)
    figures = {name: figure.value for name, figure in verdict.figures.items()}
    assert figures["jitter_sd"] == 0.0, "repeats of one seed all agree"
    assert figures["block_sd"] > 0.04
    assert figures["seeds"] == 5
    assert verdict.reason == "outside_jitter"


def test_a_spread_no_larger_than_chance_is_said_to_be_none():
    hits = (14, 8, 12, 9, 15, 10, 12, 10)
    blocks = [r for s, h in enumerate(hits) for r in runs([(h, 96)], seed=s)]
    verdict = said(blocks, 0.5)
    assert verdict.reason == "too_few_repeats"
    assert "no more than chance (binomial 3.28 pp)" in verdict.evidence[0]
    wild = [r for s, h in enumerate((1, 30, 2, 28)) for r in runs([(h, 96)], seed=s)]
    assert ", more than chance" in said(wild, 0.5).evidence[0]


def test_the_playbooks_eight_blocks_vary_no_more_than_chance():
    """2.78 pp from block to block, beside 3.29 pp that 90 of 764 make by chance at n = 96."""
    counts = zip((11, 9, 15, 11, 9, 12, 15, 8), (96, 96, 96, 96, 95, 95, 95, 95), strict=True)
    blocks = [one for seed, count in enumerate(counts) for one in runs([count], seed=seed)]
    verdict = said([*blocks, *runs(PLAYBOOK, seed=99)], 0.25)
    assert verdict.reason == "outside_jitter"
    only = said(blocks, 0.25)
    figures = {name: figure.value for name, figure in only.figures.items()}
    assert only.reason == "too_few_repeats"
    assert figures["rate"] == pytest.approx(90 / 764)
    assert figures["block_sd"] == pytest.approx(0.0278, abs=5e-5)
    assert figures["block_binomial_sd"] == pytest.approx(0.0329, abs=1e-4)
    assert figures["excess_variance"] == 0
    assert "jitter_sd" not in figures, "blocks of other seeds say nothing of the stack"
    assert (
        "8 seeds differ by sd 2.78 pp, no more than chance (binomial 3.30 pp)" in (only.evidence[0])
    )


def test_the_nearest_of_several_points_decides():
    points = [
        TripPoint(name="far", metric="m", threshold=0.9),
        TripPoint(name="near", metric="m", threshold=0.11),
    ]
    gates = Gates(trip_point_outside_jitter=TripPointGate(points=points))
    world = result_world(result_facts(arm(runs(PLAYBOOK)), gates=gates))
    verdict = judge(observe(world), Limits())
    assert verdict.reason == "inside_jitter"
    assert verdict.figures["threshold"].value == 0.11
    assert [line.split(":")[0] for line in verdict.evidence] == ["far", "near"]


def test_records_without_a_seed_tell_nothing():
    records = [record(i, scores={"m": 0.0}) for i in range(9)]
    assert said(records, 0.1).reason == "rate_missing"


@pytest.mark.parametrize("lacking", [{"scores": {"m": None}}, {"seed": None}])
def test_a_rate_of_the_others_is_none_of_the_evaluation(lacking):
    """Every fifth answer was never scored, or names no seed: that was a clean PASS once."""
    held = [replace(r, **lacking) if n % 5 == 0 else r for n, r in enumerate(runs(PLAYBOOK))]
    verdict = said(held, 0.5)
    assert verdict.reason == "records_left_out"
    assert verdict.figures["left_out"].value == 57
    assert "57 of 283 records have no score or no seed" in verdict.evidence[0]
    assert said(runs(PLAYBOOK), 0.5).reason == "outside_jitter"


def test_a_run_that_was_never_scored_is_not_passed_over():
    held = [replace(r, scores={"m": None}) if r.repeat == 1 else r for r in runs(PLAYBOOK)]
    assert said(held, 0.5).reason == "records_left_out"


def test_seeds_that_were_not_taken_are_said_without_a_trip_point():
    same = [record(i, "word for word", seed=s) for s in (1, 2, 3) for i in range(20)]
    facts = result_facts(arm(same))
    assert judge(observe(result_world(facts)), Limits()).reason == "seed_not_taken"
    taken = [record(i, f"{s} word {i}", seed=s) for s in (1, 2, 3) for i in range(20)]
    facts = result_facts(arm(taken))
    assert judge(observe(result_world(facts)), Limits()).reason == "not_configured"


def under_seeds(text, items=30):
    """Three runs of each of three seeds."""
    return [record(i, text(i, s, r), seed=s, repeat=r, scores={"m": float(i < 2)})
            for s in (1, 2, 3) for r in range(3) for i in range(items)]  # fmt: skip


def test_seeds_of_which_one_item_tells_never_pass():
    """One of thirty answers depends on the seed, as far as can be seen: a clean PASS once."""
    verdict = said(under_seeds(lambda i, s, _: str(s) * 9 if i == 7 else "yes"), 0.9)
    assert verdict.reason == "seeds_untold"
    assert "1 of 30 items have outputs that differ" in verdict.evidence[-2]
    assert "items whose outputs differ, under every seed" in verdict.evidence[-1]
    flip = said(under_seeds(lambda i, s, r: "no" if (i, s, r) == (7, 1, 1) else "yes"), 0.9)
    assert flip.reason == "seed_not_taken"
    assert said(under_seeds(lambda i, s, _: f"{s} {i}"), 0.9).reason == "outside_jitter"


def test_that_too_few_items_tell_of_seeds_is_said():
    few = [record(i, f"{r} word {i}", seed=1, repeat=r, scores={"m": float(i < 2)})
           for r in range(3) for i in range(9)]  # fmt: skip
    assert any("cannot be told" in line for line in said(few, 0.9).evidence)
    assert not any("cannot be told" in line for line in said(runs(PLAYBOOK), 0.9).evidence)
    unseeded = [record(i, scores={"m": 1.0}) for i in range(9)]
    assert not any("cannot be told" in line for line in said(unseeded, 0.9).evidence)


def test_scores_that_are_no_shares_have_no_interval():
    records = [record(i, f"{i}{r}", seed=1, repeat=r, scores={"m": 7.5 + r}) for r in range(3)
               for i in range(4)]  # fmt: skip
    assert "rate_low" not in said(records, 100.0).figures


def long_answers(seeds):
    """3000 letters; repeats of a seed part after 50 to 80 of them, seeds at once."""
    return [
        record(i, f"{s}" * (50 + 10 * r + i % 9) + chr(97 + r) * 2_900, seed=s, repeat=r,
               scores={"m": float(i < 6)})
        for s in seeds for r in range(3) for i in range(60)
    ]  # fmt: skip


@pytest.mark.parametrize("seeds", [(1, 2, 3), (1,)])
def test_seeds_that_were_taken_are_not_accused_for_long_answers_that_part_early(seeds):
    """Evidence said "seeds taken, by chance 2e-16" and the verdict that they never were."""
    verdict = said(long_answers(seeds), 0.5)
    assert verdict.reason == "outside_jitter"
    assert len(seeds) == 1 or "seeds taken" in verdict.evidence[-1]
    assert said(long_answers(seeds), 0.1).reason == "inside_jitter"


def test_repeats_of_one_seed_that_part_at_once_were_not_drawn_with_it():
    held = [replace(r, output=f"{r.repeat} {r.output}") for r in long_answers((1,))]
    assert said(held, 0.5).reason == "seed_not_taken"
