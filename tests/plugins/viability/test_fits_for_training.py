"""What fits, and in which order doubts are told."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.fits_for_training import Limits, judge, observe

from pfid.domain.model import FeedForward, Mixer
from pfid.domain.training_plan import AttentionKind, Loss, Method, Optimizer
from pfid.domain.weights import Weights
from pfid.spec.fakes_viability import (
    DELTA_LAYER,
    DENSE,
    DENSE_LAYER,
    GIB,
    HYBRID,
    ON_DISK,
    PLAN,
    model,
    model_world,
)
from pfid.spec.ports.viability import KernelFacts


def said(facts=None, plan=PLAN, kernels=None):
    nobody = KernelFacts(problem="python_not_configured")
    world = model_world(model=facts or model(), plan=plan, kernels=kernels or nobody)
    return judge(observe(world), Limits())


def peak(**changed):
    figures = said(plan=replace(PLAN, **changed)).figures
    return figures["peak_low"].value, figures["peak_high"].value


@pytest.mark.parametrize(
    "more",
    [
        {"sequence": 8192},
        {"micro_batch": 2},
        {"checkpointing": False},
        {"loss": Loss.WHOLE},
        {"attention": AttentionKind.EAGER},
        {"rank": 512},
        {"method": Method.FULL},
    ],
)
def test_what_takes_more_is_told_to_take_more(more):
    assert all(now > before for now, before in zip(peak(**more), peak(), strict=True))


@pytest.mark.parametrize("less", [Optimizer.SGD, Optimizer.ADAFACTOR, Optimizer.ADAMW_8BIT])
def test_an_optimizer_with_smaller_states_takes_less(less):
    adam = peak(method=Method.FULL)
    assert peak(method=Method.FULL, optimizer=less)[1] < adam[1]


def test_the_items_sum_up_to_the_peak():
    figures = said().figures
    items = [n for n in figures if n.endswith("_high") and n != "peak_high"]
    assert sum(figures[n].value for n in items) == pytest.approx(figures["peak_high"].value, abs=9)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("sequence", [512, 4096, 16384])
def test_the_bounds_are_narrow_enough_to_decide(method, sequence):
    told = False if method is Method.QLORA else None  # its weights are small beside the doubt
    low, high = peak(method=method, sequence=sequence, float32=told)
    assert (high - low) / (high + low) <= 0.15


def test_quantised_weights_are_named_in_their_format():
    verdict = said(model(replace(DENSE, quantised="MXFP4")))
    assert verdict.reason == "quantised"
    assert verdict.summary.endswith("MXFP4")


def test_pointers_do_not_hide_that_the_weights_do_not_fit():
    facts = model(weights=replace(ON_DISK, pointers=4, on_disk=0))
    assert said(facts, replace(PLAN, gpu_memory_bytes=8 * GIB)).reason == "weights_do_not_fit"


def test_measuring_at_one_length_moves_the_peak_at_another():
    there = replace(PLAN, sequence=8192)
    plain = said(plan=there).figures["peak_high"].value
    low = said().figures["peak_low"].value
    calibrated = said(plan=replace(there, measured_bytes=int(low), measured_sequence=4096))
    assert calibrated.figures["calibration"].value < 1
    assert calibrated.figures["peak_high"].value < plain


def test_experts_that_four_bits_do_not_reach_stay_as_they_are():
    layer = replace(DENSE_LAYER, feed=FeedForward(experts=8, top_k=2, expert=14336))
    facts = model(replace(DENSE, layers=(layer,) * 32), Weights())
    verdict = said(facts, replace(PLAN, method=Method.QLORA))
    experts = 2 * verdict.figures["expert_parameters"].value
    assert verdict.figures["weights_low"].value >= experts
    assert any("three-dimensional" in line for line in verdict.evidence)


def test_an_untold_layer_leaves_the_weights_to_the_files():
    shape = replace(DENSE, layers=(replace(DENSE_LAYER, mixer=Mixer.UNKNOWN),))
    verdict = said(model(shape))
    assert verdict.reason == "shapes_unknown"
    assert verdict.figures["weights"].value == ON_DISK.size_bytes


HAS = KernelFacts(
    needed=("fla:chunk_gated_delta_rule", "fla:fused_recurrent_gated_delta_rule", "causal_conv1d:f")
)


def peak_with(kernels, shape=HYBRID, **changed):
    facts, plan = model(shape, Weights()), replace(PLAN, checkpointing=False, **changed)
    figures = said(facts, plan, kernels).figures
    return figures["peak_low"].value, figures["peak_high"].value


def test_without_fused_kernels_recurrent_layers_keep_several_times_more():
    missing = (("fla:chunk_gated_delta_rule", "ModuleNotFoundError"),)
    with_, without = peak_with(HAS), peak_with(replace(HAS, missing=missing))
    assert without[0] > with_[1]
    either = peak_with(None)
    assert either == pytest.approx((with_[0], without[1]))


@pytest.mark.parametrize("name", ["fla:fused_recurrent_gated_delta_rule", "causal_conv1d:f"])
def test_a_kernel_that_training_needs_not_changes_nothing(name):
    lost = replace(HAS, missing=((name, "ModuleNotFoundError"),))
    assert peak_with(lost) == peak_with(HAS)


def test_a_row_that_fills_no_chunk_is_counted_whole():
    missing = replace(HAS, missing=((HAS.needed[0], "ModuleNotFoundError"),))
    one, full = (peak_with(missing, sequence=n, micro_batch=4096 // n)[0] for n in (1, 64))
    assert one > 10 * full


def test_a_recurrence_that_nobody_counted_can_fail_and_never_pass_unmeasured():
    layers = (replace(DELTA_LAYER, recurrence=replace(DELTA_LAYER.recurrence, state=0)),) * 24
    facts = model(replace(HYBRID, layers=layers), Weights())
    assert said(facts, kernels=HAS).reason == "recurrent_unmeasured"
    assert said(facts, replace(PLAN, gpu_memory_bytes=GIB)).outcome.value == "fail"
    assert said(facts, replace(PLAN, measured_bytes=20 * GIB)).reason == "fits"


def test_a_dense_base_asks_no_interpreter():
    """Asking costs seconds; the port is not even set up here."""
    world = model_world(model=model(), plan=PLAN)
    assert judge(observe(world), Limits()).reason == "fits"


def test_a_layout_that_no_field_tells_is_not_judged():
    assert said(model(replace(DENSE, untold="streams"), Weights())).reason == "shapes_unknown"
