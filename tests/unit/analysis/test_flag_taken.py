"""Held against names as profilers write them, by the table that names kernels."""

from array import array

import pytest

from pfid.analysis.attention_families import IMPLEMENTATIONS, implementation_of
from pfid.analysis.flag_taken import ATTENTION, EXPERTS, flag_taken, unbound
from pfid.analysis.kernel_launches import (
    FALLBACK_OPERATOR,
    Attention,
    Experts,
    Launches,
    count_launches,
)
from pfid.analysis.kernel_table import KernelTable
from pfid.domain.kernel import DeviceCategory, KernelClass, KernelKey
from pfid.domain.outcome import Outcome
from pfid.domain.trace_rows import DeviceRows, TraceNames, Track
from pfid.formats.kernel_names.families import FAMILIES
from pfid.formats.kernel_names.identity import identify

TOOK, NOT, BLIND = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
SOFTMAX = (
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float,"
    " c10::BFloat16, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*)"
)
LOSS = SOFTMAX.replace("::SoftMaxForwardEpilogue", "::LogSoftMaxForwardEpilogue")
WARP = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, {}, false>(float*)"
OWN_FLASH_2 = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(flash::Flash_fwd_params)"
BARE_FLASH_2 = "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>()"
TORCH_FLASH = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128>>(x)"
TORCH_FLASH_BACK = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<x>(y)"
FLASH_3 = "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<C>>>(P)"
FLASH_3_BEFORE = "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<tuple>>(P)"
FLASH_4 = (
    "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__"
    "tensor0000o11101213_None_None_0"
)
MEM_EFFICIENT = "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::X::Params)"
CUDNN = "cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_36"
FLEX = "triton_tem_fused_flex_attention_backward_2"
CK = "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::X>>(x)"
GROUPED = "void cutlass::device_kernel<enable_3x_kernel_for_sm9x<GroupProblemShape<S>>>(P)"
OURS = "_my_attention_kernel"
MATH = "aten::_scaled_dot_product_attention_math"
FLASH_CALL = "aten::_scaled_dot_product_flash_attention"


def launched(*names, operators=None):
    """What so many kernels of a microsecond each launch."""
    kernels = TraceNames(
        kernels=[KernelKey(DeviceCategory.KERNEL, name) for name in names],
        tracks=[Track("0", "7")],
    )
    table = KernelTable(kernels, identify)
    numbers = range(len(names))
    table.add(
        DeviceRows(
            start_ns=array("q", [2_000 * n for n in numbers]),
            duration_ns=array("q", [1_000] * len(names)),
            kernel=array("I", numbers),
            track=array("I", [0] * len(names)),
        ),
        {},
    )
    table.finish({})
    return count_launches(table, operators or {}, 0)


@pytest.mark.parametrize(
    ("requested", "names", "outcome"),
    [
        ("flash_attention_2", [OWN_FLASH_2], TOOK),
        ("flash_attention_2", [BARE_FLASH_2], TOOK),
        ("kernels-community/flash-attn2", [OWN_FLASH_2], TOOK),
        ("kernels-community/flash-attn@v1.0", [OWN_FLASH_2], TOOK),
        ("paged|flash_attention_2", [OWN_FLASH_2], TOOK),
        ("flash_attention_2", [TORCH_FLASH], NOT),
        ("flash_attention_2", [TORCH_FLASH_BACK], NOT),
        ("flash_attention_2", [FLASH_3], NOT),
        ("flash_attention_2", [FLASH_4], NOT),
        ("flash_attention_2", [MEM_EFFICIENT], NOT),
        ("flash_attention_2", [CUDNN], NOT),
        ("flash_attention_2", [FLEX], NOT),
        ("flash_attention_2", [GEMM, SOFTMAX], NOT),
        ("flash_attention_2", [GEMM, LOSS], BLIND),
        ("flash_attention_2", [OWN_FLASH_2, TORCH_FLASH], BLIND),
        ("flash_attention_2", [CK], BLIND),
        ("flash_attention_3", [FLASH_3], TOOK),
        ("flash_attention_3", [FLASH_3_BEFORE], TOOK),
        ("kernels-community/vllm-flash-attn3", [FLASH_3], TOOK),
        ("flash_attention_3", [OWN_FLASH_2], NOT),
        ("flash_attention_3", [TORCH_FLASH], NOT),
        ("flash_attention_4", [FLASH_4], TOOK),
        ("flash_attention_4", [OWN_FLASH_2], NOT),
        ("flash_attention_4", [FLASH_3], NOT),
        ("sdpa", [TORCH_FLASH], TOOK),
        ("sdpa", [MEM_EFFICIENT], TOOK),
        ("sdpa", [CUDNN], TOOK),
        ("paged|sdpa", [CUDNN], TOOK),
        ("sdpa", [OWN_FLASH_2], NOT),
        ("sdpa", [FLEX], NOT),
        ("sdpa", [FLASH_3], BLIND),
        ("sdpa", [FLASH_4], BLIND),
        ("sdpa", [CK], BLIND),
        ("sdpa", [GEMM, SOFTMAX], BLIND),
        ("flex_attention", [FLEX], TOOK),
        ("flex_attention", [FLASH_4], BLIND),
        ("flex_attention", [TORCH_FLASH], NOT),
        ("flex_attention", [OWN_FLASH_2], NOT),
        ("flex_attention", [GEMM, SOFTMAX], NOT),
        ("flex_attention", [GEMM, "triton_per_fused__softmax_add_3"], NOT),
        ("flex_attention", [GEMM, "triton_red_fused__log_softmax_nll_loss_3"], BLIND),
        ("flex_attention", [GEMM], BLIND),
        ("eager", [MEM_EFFICIENT], NOT),
        ("eager", [TORCH_FLASH], NOT),
        ("eager", [OWN_FLASH_2], NOT),
        ("eager", [FLEX], NOT),
        ("eager", [GEMM, SOFTMAX], BLIND),
        ("eager", [GEMM, SOFTMAX, TORCH_FLASH], BLIND),
        ("kernels-community/paged-attention", [FLEX], BLIND),
        ("mine", [TORCH_FLASH], BLIND),
        ({"text_config": "sdpa"}, [TORCH_FLASH], BLIND),
        ("flash_attention_2", [GEMM, SOFTMAX, OURS], BLIND),
    ],
)
def test_attention_is_known_by_kernels_of_its_own(requested, names, outcome):
    assert flag_taken(ATTENTION, requested, launched(*names)).outcome is outcome


@pytest.mark.parametrize(
    ("requested", "operators", "outcome"),
    [
        ("eager", {"aten::_softmax": 4}, TOOK),
        ("eager", {"aten::_softmax": 4, MATH: 4}, NOT),
        ("eager", {"aten::_safe_softmax": 4, "aten::_softmax": 4, MATH: 4}, NOT),
        ("eager", {"aten::_softmax": 8, MATH: 4}, BLIND),
        ("eager", {"aten::_safe_softmax": 4, "aten::_softmax": 4}, BLIND),
        ("sdpa", {"aten::_safe_softmax": 4, "aten::_softmax": 4}, BLIND),
        ("eager", {"aten::_grouped_mm": 4}, BLIND),
        ("sdpa", {"aten::_safe_softmax": 4, "aten::_softmax": 4, MATH: 4}, TOOK),
        ("sdpa", {"aten::_softmax": 8, MATH: 4}, TOOK),
        ("sdpa", {"aten::_softmax": 4}, NOT),
        ("flash_attention_2", {"aten::_softmax": 4, MATH: 4}, NOT),
        ("flex_attention", {"aten::_softmax": 4}, NOT),
    ],
)
def test_unfused_ways_are_told_apart_by_what_the_host_called(requested, operators, outcome):
    for softmax in (SOFTMAX, WARP.format("false")):
        found = launched(GEMM, softmax, operators=operators)
        assert flag_taken(ATTENTION, requested, found).outcome is outcome


def test_an_unnamed_kernel_of_weight_may_be_attention():
    operators = {"aten::_softmax": 4}
    named = launched(GEMM, SOFTMAX, operators=operators)
    assert flag_taken(ATTENTION, "eager", named).outcome is TOOK
    blind = launched(GEMM, SOFTMAX, OURS, operators=operators)
    assert flag_taken(ATTENTION, "eager", blind).outcome is BLIND
    assert blind.unnamed_share == pytest.approx(1 / 3)


@pytest.mark.parametrize(("name", "kernel"), [("3", FLASH_3), ("4", FLASH_4)])
def test_sdpa_that_was_told_to_take_another_flash_is_not_that_flag(name, kernel):
    alone = launched(kernel)
    assert flag_taken(ATTENTION, f"flash_attention_{name}", alone).outcome is TOOK
    called = launched(kernel, operators={FLASH_CALL: 2})
    assert flag_taken(ATTENTION, f"flash_attention_{name}", called).outcome is BLIND


@pytest.mark.parametrize("name", [LOSS, WARP.format("true"), WARP.format("(bool)1")])
def test_the_softmax_of_a_loss_is_none_of_attention(name):
    assert launched(GEMM, name).attention is Attention.NONE


def test_every_family_of_attention_is_some_implementations_and_every_one_of_those_is_there():
    attention = {one.name for one in FAMILIES if one.kind is KernelClass.ATTENTION}
    used = set().union(*(one.own | one.shared for one in IMPLEMENTATIONS.values()))
    assert used == attention
    assert all(one.source for one in IMPLEMENTATIONS.values())
    owned = [family for one in IMPLEMENTATIONS.values() for family in one.own]
    assert len(owned) == len(set(owned))


@pytest.mark.torch
@pytest.mark.full
def test_every_implementation_that_transformers_registers_has_a_row():
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    assert all(implementation_of(name) for name in ALL_ATTENTION_FUNCTIONS.valid_keys())


def test_what_was_launched_is_told_by_family():
    found = flag_taken(ATTENTION, "flash_attention_2", launched(TORCH_FLASH, TORCH_FLASH_BACK))
    assert found.text.endswith("did not take: launched was flash_sdpa (2)")


@pytest.mark.parametrize(
    ("requested", "ran", "outcome"),
    [
        ("grouped_mm", Experts.GROUPED, TOOK),
        ("grouped_mm", Experts.FALLBACK, NOT),
        ("grouped_mm", Experts.ORDINARY, NOT),
        ("grouped_mm", Experts.NONE, BLIND),
        ("eager", Experts.GROUPED, NOT),
        ("eager", Experts.FALLBACK, NOT),
        ("eager", Experts.ORDINARY, BLIND),
        ("batched_mm", Experts.FALLBACK, NOT),
        ("sonicmoe", Experts.ORDINARY, BLIND),
        ("deepgemm", Experts.ORDINARY, BLIND),
    ],
)
def test_experts_are_known_by_what_was_launched(requested, ran, outcome):
    found = Launches(steps=1, families={}, operators={}, experts=ran, attention=Attention.NONE)
    assert flag_taken(EXPERTS, requested, found).outcome is outcome


def test_a_grouped_call_without_a_grouped_kernel_known_by_name_cannot_tell():
    called = launched(GEMM, operators={"aten::_grouped_mm": 4})
    assert flag_taken(EXPERTS, "grouped_mm", called).outcome is BLIND
    assert flag_taken(EXPERTS, "grouped_mm", launched(GEMM)).outcome is NOT


def test_deep_gemm_is_known_by_its_namespace():
    found = launched("void deep_gemm::sm90_bf16_gemm_impl<x>(y)")
    assert flag_taken(EXPERTS, "deepgemm", found).outcome is TOOK
    assert flag_taken(EXPERTS, "grouped_mm", found).outcome is NOT


@pytest.mark.parametrize(
    ("field", "requested", "found", "whole", "part"),
    [
        (ATTENTION, "flex_attention", launched(TORCH_FLASH), NOT, BLIND),
        (ATTENTION, "flex_attention", launched(FLEX), TOOK, TOOK),
        (ATTENTION, "flash_attention_3", launched(FLASH_3), TOOK, BLIND),
        (ATTENTION, "sdpa", launched(TORCH_FLASH), TOOK, TOOK),
        (ATTENTION, "sdpa", launched(GEMM, SOFTMAX, operators={MATH: 4}), TOOK, BLIND),
        (ATTENTION, "eager", launched(GEMM, SOFTMAX, operators={"aten::_softmax": 4}), TOOK, BLIND),
        (ATTENTION, "eager", launched(TORCH_FLASH), NOT, BLIND),
        (EXPERTS, "grouped_mm", launched(GEMM), NOT, BLIND),
        (EXPERTS, "grouped_mm", launched(GROUPED), TOOK, BLIND),
        (EXPERTS, "grouped_mm", launched(GEMM, operators={FALLBACK_OPERATOR: 2}), NOT, NOT),
        (EXPERTS, "eager", launched(GROUPED), NOT, NOT),
        (EXPERTS, "deepgemm", launched("void deep_gemm::sm90_gemm<x>(y)"), TOOK, TOOK),
    ],
)
def test_of_a_trace_that_was_read_in_part_only_what_was_seen_is_told(
    field, requested, found, whole, part
):
    assert flag_taken(field, requested, found).outcome is whole
    told = flag_taken(field, requested, found, "it is cut")
    assert told.outcome is part
    assert ("it is cut" in told.text) is (part is BLIND)


@pytest.mark.parametrize("field", [ATTENTION, EXPERTS])
def test_a_run_launched_without_the_flag_says_nothing_about_it(field):
    found = flag_taken(field, None, launched(FLEX, GEMM))
    assert (found.outcome, found.reason) == (BLIND, "launched_without")
    assert "nothing about the flag" in found.text


def test_a_trace_that_is_not_the_runs_says_nothing():
    found = unbound(ATTENTION, "sdpa", "another time")
    assert (found.outcome, found.reason, found.requested) == (BLIND, "cannot_tell", "sdpa")
