"""Only a state runs from one document into the next, and only kernels that are told stop it."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.packing_boundaries import judge, observe

from pfid.domain.errors import PortNotSetUpError
from pfid.domain.training_plan import Packing
from pfid.spec import NoLimits
from pfid.spec.fakes_viability import DENSE, HYBRID, PLAN, model, model_world
from pfid.spec.ports.viability import KernelFacts

KERNELS = KernelFacts(transformers="5.24.0", needed=("fla:rule",), boundaries=True)


def said(shape, packing, **subjects):
    world = model_world(model=model(shape), plan=replace(PLAN, packing=packing), **subjects)
    return judge(observe(world), NoLimits())


@pytest.mark.parametrize(
    ("kernels", "reason"),
    [
        (KERNELS, "boundaries_handed"),
        (replace(KERNELS, boundaries=False), "boundaries_lost"),
        (replace(KERNELS, missing=(("fla:rule", "ImportError: x"),)), "kernels_missing"),
    ],
)
def test_boundaries_need_code_that_hands_them_on_and_a_kernel_that_takes_them(kernels, reason):
    assert said(HYBRID, Packing.BOUNDARIES, kernels=kernels).reason == reason


def test_joined_documents_bleed_whatever_is_installed():
    verdict = said(HYBRID, Packing.PLAIN)
    assert verdict.reason == "state_crosses"
    assert verdict.figures["recurrent_layers"].value == 18


def test_an_interpreter_is_started_only_where_boundaries_are_meant():
    assert said(DENSE, Packing.BOUNDARIES).reason == "attention_alone"
    assert said(HYBRID, Packing.NONE).reason == "not_packed"
    with pytest.raises(PortNotSetUpError):
        said(HYBRID, Packing.BOUNDARIES)
