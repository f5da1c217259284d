"""Only a hybrid without its kernels is slow; nobody else is asked."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.hybrid_needs_kernel import judge, observe

from pfid.domain.errors import PortNotSetUpError
from pfid.domain.model import Mixer
from pfid.spec import NoLimits
from pfid.spec.fakes_viability import DENSE, HYBRID, model, model_world
from pfid.spec.ports.viability import KernelFacts


def test_an_interpreter_is_not_started_for_a_dense_model():
    verdict = judge(observe(model_world(model=model(DENSE))), NoLimits())
    assert verdict.reason == "not_hybrid"


def test_a_hybrid_is_asked_about():
    with pytest.raises(PortNotSetUpError):
        observe(model_world(model=model(HYBRID)))


def test_the_evidence_says_what_was_looked_for_and_what_it_costs():
    kernels = KernelFacts(
        transformers="5.24.0",
        needed=("fla:rule", "causal_conv1d:fn"),
        missing=(("fla:rule", "ModuleNotFoundError: No module named 'fla'"),),
    )
    verdict = judge(observe(model_world(model=model(HYBRID), kernels=kernels)), NoLimits())
    text = "\n".join(verdict.evidence)
    assert "18 layers of linear_attention" in text
    assert "transformers 5.24.0 looks for fla:rule, causal_conv1d:fn" in text
    assert "1,415" in text
    assert "packing" in text
    assert verdict.figures["kernels_missing"].value == 1


LOOKS = KernelFacts(transformers="5.24.0", needed=("fla:rule",))
LOST = replace(LOOKS, missing=(("fla:rule", "ModuleNotFoundError: fla"),))


def said(shape, kernels):
    return judge(observe(model_world(model=model(shape), kernels=kernels)), NoLimits())


@pytest.mark.parametrize(
    ("shape", "kernels", "reason", "outcome"),
    [
        (HYBRID, LOOKS, "kernels_present", "pass"),
        (HYBRID, LOST, "kernels_missing", "fail"),
        (DENSE, LOST, "not_hybrid", "pass"),
        (DENSE, LOOKS, "not_hybrid", "pass"),
        (HYBRID, replace(LOOKS, needed=()), "no_kernel_known", "unknown"),
        (HYBRID, KernelFacts(problem="no_transformers"), "no_transformers", "unknown"),
    ],
)
def test_only_the_intersection_fails(shape, kernels, reason, outcome):
    verdict = said(shape, kernels)
    assert (verdict.reason, verdict.outcome.value) == (reason, outcome)


@pytest.mark.parametrize("mixer", [Mixer.MAMBA, Mixer.CONV, Mixer.HYBRID, Mixer.DELTA])
def test_one_recurrent_layer_of_any_kind_is_enough(mixer):
    layer = replace(HYBRID.layers[0], mixer=mixer)
    assert said(replace(DENSE, layers=(*DENSE.layers, layer)), LOST).reason == "kernels_missing"
