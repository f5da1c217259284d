"""What a profiled step achieved: by its model's configuration, by its modules, or not known."""

import pytest

from pfid.analysis.nd_accounting import Counted
from pfid.bootstrap.step_probe import StepProbeError, StepSaid
from pfid.cli.profile_accounting import NO_MODEL, accounted_step, counted_step

PROFILED = {"event": "profiled", "steps": 2, "wall_s": 4.0, "tokens": 1_024, "width": 512}
MODEL = {"event": "model", "parameters": 900, "multiplied": 800, "trained": 100, "config": None}
LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 128, "vocab_size": 1_000,
}  # fmt: skip


def said(*events):
    return StepSaid(events=list(events))


def test_modules_are_counted_where_there_is_no_configuration():
    told = said(MODEL, PROFILED)
    found, unknown = accounted_step(told, counted_step(told, None))
    assert found.flops == 1_024 * (4 * 700 + 6 * 100)
    assert (found.seconds, found.attention_flops, unknown) == (2.0, None, None)


def test_a_configuration_tells_attention_too_and_the_modules_what_is_trained():
    told = said({**MODEL, "config": LLAMA}, PROFILED)
    found, _ = accounted_step(told, counted_step(told, None))
    assert found.source == "the configuration of the step's model"
    assert found.trained == 100
    assert found.attention_flops == 12 * 3 * 64 * 512 * 1_024


@pytest.mark.parametrize("config", [{}, {"hidden_size": 4}, {**LLAMA, "vocab_size": 0}, "text"])
def test_a_configuration_that_tells_no_shapes_leaves_it_to_the_modules(config):
    told = said({**MODEL, "config": config}, PROFILED)
    assert counted_step(told, None).parameters == 800


def test_what_the_user_names_outranks_the_step():
    named = Counted(parameters=5, trained=5, all_parameters=5, source="x")
    assert counted_step(said(MODEL), named) is named


def test_what_is_not_known_says_why():
    assert accounted_step(said(PROFILED), counted_step(said(PROFILED), None)) == (None, NO_MODEL)
    counted = counted_step(said(MODEL), None)
    assert accounted_step(said(MODEL), counted) == (None, "no step was profiled")
    empty = said({**MODEL, "multiplied": 0, "trained": 0})
    assert counted_step(empty, None) is None
    at_once = said({**PROFILED, "wall_s": 0.0})
    assert accounted_step(at_once, counted)[1] == "the profiled steps took no time"


@pytest.mark.parametrize("broken", [{"trained": "many"}, {"multiplied": None}])
def test_a_probe_that_says_what_cannot_be_is_named(broken):
    with pytest.raises(StepProbeError, match="said what cannot be"):
        counted_step(said({**MODEL, **broken}), None)
