"""Which layers reach which kernels."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.attention_shape import Limits, judge, observe

from pfid.spec.fakes_viability import DENSE, DENSE_LAYER, HYBRID, PLAN, model, model_world


def said(shape, plan=PLAN):
    return judge(observe(model_world(model=model(shape), plan=plan)), Limits())


def test_figures_count_layers_by_what_carries_them():
    wide = replace(DENSE_LAYER, attention=replace(DENSE_LAYER.attention, head_dim=512))
    verdict = said(replace(DENSE, layers=(DENSE_LAYER, DENSE_LAYER, wide)))
    counted = {name: figure.value for name, figure in verdict.figures.items()}
    assert counted == {
        "layers": 3,
        "flash_layers": 2,
        "cudnn_layers": 2,
        "windowed_layers": 0,
        "head_dim_max": 512,
        "grouped_queries": 4,
    }
    assert verdict.evidence[0].startswith("2 x full_attention: 32 heads of 128 on 8 keys")


def test_only_the_layers_that_attend_are_asked():
    assert said(HYBRID).reason == "every_path"
    assert said(HYBRID).figures["layers"].value == 6


def of(**changed):
    attention = replace(DENSE_LAYER.attention, **changed)
    return replace(DENSE, layers=(replace(DENSE_LAYER, attention=attention),) * 2)


@pytest.mark.parametrize(
    ("changed", "reason", "outcome"),
    [
        ({}, "every_path", "pass"),
        ({"head_dim": 256, "value_dim": 256}, "flash_only", "pass"),
        ({"value_dim": 64}, "flash_only", "pass"),
        ({"head_dim": 512, "value_dim": 512}, "dense_square", "fail"),
        ({"window": 1024}, "window_needs_care", "pass"),
        ({"window": 1024, "head_dim": 512, "value_dim": 512}, "dense_square", "fail"),
    ],
)
def test_the_widest_head_and_the_window_decide(changed, reason, outcome):
    verdict = said(of(**changed))
    assert (verdict.reason, verdict.outcome.value) == (reason, outcome)


def test_one_wide_layer_among_narrow_ones_fails():
    wide = of(head_dim=512, value_dim=512).layers[0]
    assert said(replace(DENSE, layers=(*DENSE.layers, wide))).reason == "dense_square"
