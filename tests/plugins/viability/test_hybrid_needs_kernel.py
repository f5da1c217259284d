"""Only a hybrid without its kernels is slow; nobody else is asked."""

import pytest
from pfid_plugins.viability.hybrid_needs_kernel import judge, observe

from pfid.domain.errors import PortNotSetUpError
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
