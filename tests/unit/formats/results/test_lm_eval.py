"""Which seed a run of lm-evaluation-harness was given, wherever its results file says so."""

import json

import pytest

from pfid.formats.results.lm_eval import instrument_of, records_of, seed_of

SAMPLE = {"doc_id": 1, "doc": {}, "resps": [["yes"], ["no"]], "metrics": ["acc"], "acc": 1.0}


def results(generation=None, **config):
    return {
        "config": {"model": "hf", **config},
        "configs": {"t": {"generation_kwargs": generation}},
    }


@pytest.mark.parametrize(
    ("told", "seed"),
    [
        (results(), None),
        (results(random_seed=0), 0),
        (results(random_seed=0, torch_seed=1234), 1234),
        (results(torch_seed=1, model_args="pretrained=x,seed=3"), 3),
        (results(torch_seed=1, model_args={"pretrained": "x", "seed": 4}), 4),
        (results(torch_seed=1, model_args="seed=3", gen_kwargs="do_sample=true,seed=5"), 5),
        (results(torch_seed=1, gen_kwargs={"seed": 6}), 6),
        (results({"seed": 7}, torch_seed=1), 7),
        (results({"seed": 7}, torch_seed=1, gen_kwargs={"seed": 8}), 8),
        (results(torch_seed="None", model_args="seed=none,x"), None),
        (results(torch_seed=[1], gen_kwargs=["seed"], model_args=7), None),
        ({}, None),
    ],
)
def test_the_seed_nearest_to_the_sampler_counts(told, seed):
    assert seed_of(told, "t") == seed


def test_two_seeds_are_no_two_instruments():
    one, other = (instrument_of(results({"temperature": 0.5, "seed": s}), "t") for s in (1, 2))
    assert one == other
    assert json.loads(one.decoding) == {"temperature": 0.5}


def test_a_request_s_own_seed_goes_first_and_scores_stand_on_the_first_answer():
    line = {**SAMPLE, "arguments": [["q", {"seed": 11}], ["q", {}]]}
    assert [(r.seed, r.scored) for r in records_of(line, "t", "f:1", 0, 5)] == [
        (11, True),
        (11, False),
    ]
    line["arguments"] = [["q", {}]]
    assert {r.seed for r in records_of(line, "t", "f:1", 0, 5)} == {5}
    assert {r.seed for r in records_of(line, "t", "f:1", 0)} == {None}
