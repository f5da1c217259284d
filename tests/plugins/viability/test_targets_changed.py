"""Every way in which a merge can miss is told from every other."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.targets_changed import judge, observe

from pfid.spec import NoLimits
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.lineage import ChangedFacts

TOOK = ChangedFacts(modules=10, targets=10, changed=10, right=10, untouched=5, relative_median=0.02)


def said(facts):
    return judge(observe(model_world(changed=facts)), NoLimits())


def test_a_merge_that_took_passes_with_how_far_targets_moved():
    verdict = said(TOOK)
    assert verdict.reason == "as_told"
    assert verdict.figures["relative_change"].value == 0.02


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"changed": 9}, "some_unchanged"),
        ({"changed": 0}, "nothing_changed"),
        ({"changed": 0, "rounded": 10}, "rounding_only"),
        ({"changed": 9, "rounded": 1}, "some_unchanged"),
        ({"changed": 0, "untouched_changed": 5}, "untouched_changed"),
        ({"zero": 10}, "adapter_zero"),
        ({"zero": 9}, "as_told"),
        ({"unmatched": 1}, "targets_unmatched"),
        ({"changed": 9, "incomplete": ("x",)}, "some_unchanged"),
        ({"right": 0, "scaled": 10, "factor": 2.0}, "wrong_factor"),
        ({"right": 9, "scaled": 1, "factor": 2.0}, "wrong_factor"),
        ({"right": 0, "scaled": 4, "otherwise": 6}, "another_change"),
        ({"changed": 9, "right": 0, "scaled": 9}, "some_unchanged"),
        ({"right": 4}, "amount_untold"),
        ({"right": 5}, "as_told"),
        ({"amount_untold": "of LOHA"}, "amount_untold"),
        ({"modules": 0, "right": 0, "unreached": 2}, "experts_unreached"),
        ({"unreached": 2, "partial": 1}, "some_unchanged"),
    ],
)
def test_each_has_its_own_reason(changes, reason):
    assert said(replace(TOOK, **changes)).reason == reason


def test_one_zero_module_of_a_first_save_is_enough():
    saved = ChangedFacts(kind="adapter", modules=10, zero=1)
    assert said(saved).reason == "adapter_zero"
    assert said(replace(saved, zero=0)).reason == "adapter_trained"


def test_experts_of_a_first_save_that_no_token_reached_are_unknown_unless_others_are_zero_too():
    saved = ChangedFacts(kind="adapter", modules=10, unreached=3)
    assert said(saved).reason == "experts_unreached"
    assert said(replace(saved, zero=1)).reason == "adapter_zero"


def test_a_wrong_factor_is_named():
    scaled = replace(TOOK, right=0, scaled=10, factor=1.414)
    assert "1.41 times what it makes" in said(scaled).summary
