"""What fits, and in which order doubts are told."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.fits_for_training import Limits, judge, observe

from pfid.domain.model import Attention, FeedForward, Layer, Mixer, NormKind
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


SMALL_LAYER = Layer(
    mixer=Mixer.FULL,
    attention=Attention(heads=16, kv_heads=8, head_dim=128, value_dim=128),
    feed=FeedForward(dense=3072),
)
SMALL = replace(
    DENSE, model_type="qwen3", hidden=1024, vocabulary=151936, tied=True,
    layers=(SMALL_LAYER,) * 28, norms=2, norms_behind=0, head_norms=True,
    norm_kind=NormKind.ROUNDED,
)  # fmt: skip
EXPERT_LAYER = replace(DENSE_LAYER, feed=FeedForward(experts=8, top_k=2, expert=14336))
TOLD = {"norms": 2, "norms_behind": 0, "head_norms": False, "norm_kind": NormKind.ROUNDED}
REAL = {
    "8B": model(),
    "8B, no files": model(replace(DENSE, **TOLD), Weights()),
    "0.6B": model(SMALL, Weights()),
    "8x7B": model(replace(DENSE, layers=(EXPERT_LAYER,) * 32, **TOLD), Weights()),
    "9B hybrid": model(replace(HYBRID, **TOLD), Weights()),
}
"""Models at their own depth, by files or by their configuration alone, with the norms of their
classes, which tests/contract/viability/test_norms.py holds. Below some 3 GiB a CUDA context alone,
which nobody knows to 0.4 GiB, is more than the share: there half a GiB either side is enough."""


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("checkpointing", [True, False])
@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("name", REAL)
def test_the_bounds_that_are_reported_are_narrow_enough_to_decide(
    name, method, checkpointing, fused
):
    kernels = HAS if fused else replace(HAS, missing=((HAS.needed[0], "ModuleNotFoundError"),))
    for rows, sequence in ((1, 512), (1, 4096), (4, 4096), (2, 16384)):
        plan = replace(
            PLAN, method=method, checkpointing=checkpointing, sequence=sequence, micro_batch=rows
        )
        figures = said(REAL[name], plan, kernels).figures
        low, high = figures["peak_low"].value, figures["peak_high"].value
        half = (high - low) / 2
        assert half <= max(0.15 * (low + half), 0.5 * GIB), (rows, sequence)


@pytest.mark.parametrize("checkpointing", [True, False])
@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize("optimizer", list(Optimizer))
@pytest.mark.parametrize("name", REAL)
def test_the_bounds_are_as_narrow_with_every_optimizer(name, optimizer, momentum, checkpointing):
    plan = replace(
        PLAN,
        method=Method.FULL,
        optimizer=optimizer,
        momentum=momentum,
        checkpointing=checkpointing,
    )
    figures = said(REAL[name], plan, HAS).figures
    low, high = figures["peak_low"].value, figures["peak_high"].value
    assert high - low <= max(0.15 * (low + high), GIB)


def test_a_momentum_of_sgd_is_one_more_copy_of_the_weights():
    plain = peak(method=Method.FULL, optimizer=Optimizer.SGD)
    more = peak(method=Method.FULL, optimizer=Optimizer.SGD, momentum=True)
    weights = said().figures["weights"].value
    assert [b - a for a, b in zip(plain, more, strict=True)] == pytest.approx(
        [weights] * 2, rel=1e-4
    )
    adam = peak(method=Method.FULL, momentum=True)
    assert adam == peak(method=Method.FULL)


def test_quantised_weights_are_named_in_their_format():
    verdict = said(model(replace(DENSE, quantised="MXFP4")))
    assert verdict.reason == "quantised"
    assert verdict.summary.endswith("MXFP4")


FOUR = replace(DENSE, quantised="bitsandbytes 4-bit", quantised_bits=4)


@pytest.mark.parametrize(
    ("shape", "method", "reason"),
    [
        (FOUR, Method.QLORA, "fits"),
        (FOUR, Method.LORA, "quantised"),
        (FOUR, Method.FULL, "quantised"),
        (replace(FOUR, quantised="GPTQ"), Method.QLORA, "quantised"),
        (replace(FOUR, quantised="FP8", quantised_bits=8), Method.QLORA, "quantised"),
    ],
)
def test_packed_weights_are_a_base_for_adapters_over_bitsandbytes_alone(shape, method, reason):
    assert said(model(shape, Weights()), replace(PLAN, method=method)).reason == reason


@pytest.mark.parametrize(("bits", "low", "high"), [(4, 4.5e9, 7e9), (8, 8e9, 1.05e10)])
def test_packed_weights_without_an_index_are_counted_as_they_are_packed(bits, low, high):
    figures = said(model(replace(FOUR, quantised="GPTQ", quantised_bits=bits), Weights())).figures
    assert low <= figures["weights"].value <= high


def test_packed_weights_on_disk_are_counted_as_they_lie():
    weights = replace(ON_DISK, size_bytes=5 * GIB, parameters=None)
    figures = said(model(FOUR, weights), replace(PLAN, method=Method.QLORA)).figures
    assert (figures["weights_low"].value, figures["weights_high"].value) == (5 * GIB, 5 * GIB)


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


STRANGER = replace(DENSE, held=False)


def test_a_type_that_nobody_held_is_decided_by_wide_bounds_alone():
    kept = replace(PLAN, checkpointing=False)
    known, wide = peak(checkpointing=False), said(model(STRANGER), kept).figures
    low, high = wide["peak_low"].value, wide["peak_high"].value
    assert low < known[0]
    assert high > known[1]
    for card, reason in (
        (high / 0.98 + GIB, "fits"),
        (known[1] / 0.98 + GIB, "activations_never_held"),
        (known[0] / 0.98, "activations_never_held"),
        (low / 0.98 - GIB, "does_not_fit"),
    ):
        plan = replace(kept, gpu_memory_bytes=int(card))
        assert said(model(STRANGER), plan).reason == reason


def test_the_wide_bounds_hold_a_class_that_keeps_its_scores():
    plan = replace(PLAN, attention=AttentionKind.EAGER, checkpointing=False, sequence=8192)
    eager = said(model(), plan).figures["peak_high"].value
    plan = replace(plan, attention=AttentionKind.SDPA)
    assert said(model(STRANGER), plan).figures["peak_high"].value > eager


def test_a_measured_step_decides_about_a_type_that_nobody_held():
    card = int(said(model(STRANGER)).figures["peak_high"].value)
    plan = replace(PLAN, gpu_memory_bytes=card)
    assert said(model(STRANGER), plan).reason == "activations_never_held"
    measured = int(peak()[1])
    assert said(model(STRANGER), replace(plan, measured_bytes=measured)).outcome.value == "pass"


def test_wide_bounds_say_so_and_why():
    def lines(facts, **changed):
        return "\n".join(said(facts, replace(PLAN, checkpointing=False, **changed)).evidence)

    assert "never held" in lines(model(STRANGER))
    assert "--measured-peak" in lines(model(STRANGER))
    assert "either way" not in lines(model())
    assert "--python decides" in lines(model(HYBRID, Weights()))
    tiny = replace(DENSE, layers=DENSE.layers[:1], vocabulary=64, **TOLD)
    assert "a CUDA context" in lines(model(tiny, Weights()), sequence=64)


def test_heads_that_predict_further_tokens_make_no_other_model_of_it():
    heads = 600_000_000
    size = ON_DISK.size_bytes + 2 * heads
    more = replace(ON_DISK, parameters=ON_DISK.parameters + heads, size_bytes=size)
    assert said(model(weights=more)).reason == "sizes_disagree"
    for told in (heads, None):
        facts = model(
            replace(DENSE, mtp_layers=1), replace(more, mtp_tensors=9, mtp_parameters=told)
        )
        assert said(facts).reason == "fits"
        weights = said(facts).figures["weights_low"].value
        assert weights <= ON_DISK.size_bytes
    lost = replace(more, mtp_tensors=9, mtp_parameters=heads // 4)
    assert said(model(replace(DENSE, mtp_layers=1), lost)).reason == "sizes_disagree"
