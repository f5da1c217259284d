"""What adapters on every linear module would reach."""

from dataclasses import replace

from pfid_plugins.viability.adapter_reach import judge, observe

from pfid.domain.model import Tower
from pfid.spec import NoLimits
from pfid.spec.fakes_viability import DENSE, ON_DISK, PLAN, model, model_world

TOWER = Tower(key="vision_config", parameters_low=1, parameters_high=2, linears=9, linears_most=14)


def said(shape, weights, targets="all-linear"):
    world = model_world(model=model(shape, weights), plan=replace(PLAN, targets=targets))
    return judge(observe(world), NoLimits())


def test_modules_are_counted_and_the_renaming_is_told():
    weights = replace(
        ON_DISK, vision_linears=153, text_prefix="model.language_model.layers", mtp_tensors=4
    )
    verdict = said(replace(DENSE, towers=(TOWER,)), weights)
    assert verdict.figures["tower_modules"].value == 153
    assert verdict.figures["further_token_tensors"].value == 4
    assert "calls them model.layers" in verdict.evidence[-1]


def test_a_further_token_layer_that_is_declared_and_absent_is_not_reached():
    assert said(replace(DENSE, mtp_layers=1), ON_DISK).reason == "text_only"
    unlisted = replace(ON_DISK, mtp_tensors=None)
    assert said(replace(DENSE, mtp_layers=1), unlisted).reason == "reaches_beyond"


def test_a_base_that_sees_nothing_and_predicts_one_token_is_text():
    assert said(DENSE, ON_DISK).reason == "text_only"


def test_named_targets_reach_what_they_name():
    weights = replace(ON_DISK, vision_linears=153)
    assert said(DENSE, weights, "q_proj,v_proj").reason == "targets_named"
    assert said(DENSE, weights, "").reason == "targets_not_told"
    assert said(DENSE, weights).reason == "reaches_beyond"


def test_every_linear_module_is_meant_however_it_is_spelt():
    """PEFT does not look at the case of it."""
    weights = replace(ON_DISK, vision_linears=153)
    assert said(DENSE, weights, "ALL-LINEAR").reason == "reaches_beyond"


SIGHTED = replace(
    ON_DISK,
    vision_linears=72,
    tower_modules=(("model.vision_tower.layers.#.self_attn.q_proj", 27), ("visual.#.qkv", 45)),
)


def test_a_named_target_that_a_tower_has_as_well_reaches_it():
    verdict = said(DENSE, SIGHTED, "v_proj, q_proj")
    assert verdict.reason == "named_beyond"
    assert verdict.figures["named_tower_modules"].value == 27
    assert any("27 x model.vision_tower" in line for line in verdict.evidence)
    assert said(DENSE, SIGHTED, "self_attn.q_proj").reason == "named_beyond"


def test_a_name_is_matched_by_whole_parts_of_the_path():
    assert said(DENSE, SIGHTED, "proj,attn.q_proj,kv").reason == "targets_named"


def test_nobody_knows_what_modules_of_a_tower_are_called_that_no_file_lists():
    unlisted = replace(ON_DISK, vision_linears=None)
    verdict = said(replace(DENSE, towers=(TOWER,)), unlisted, "q_proj")
    assert verdict.reason == "names_not_listed"


def test_shapes_alone_bound_the_modules_of_a_tower_and_are_no_count():
    unlisted = replace(ON_DISK, vision_linears=None, mtp_tensors=None)
    verdict = said(replace(DENSE, towers=(TOWER,), mtp_layers=1), unlisted)
    figures = {name: figure.value for name, figure in verdict.figures.items()}
    assert (figures["tower_modules_low"], figures["tower_modules_high"]) == (9, 14)
    assert figures["further_token_layers"] == 1
    assert not {"tower_modules", "further_token_tensors"} & figures.keys()
