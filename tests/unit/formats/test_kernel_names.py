"""A name tells what it tells and no more."""

import pytest

from pfid.domain.kernel import DeviceCategory, GenerationFrom, KernelClass, KernelKey
from pfid.formats.kernel_names.capability import device_of, parse_capability
from pfid.formats.kernel_names.families import FAMILIES
from pfid.formats.kernel_names.identity import identify

NAME, FAMILY, COMPILED = GenerationFrom.NAME, GenerationFrom.FAMILY, GenerationFrom.COMPILED
FMHA_F = "fmha_cutlassF_bf16_aligned_32x128_gmem_sm80"
FMHA_B = "fmha_cutlassB_bf16_aligned_128x64_k65536_sm80"


def named(name, category=DeviceCategory.KERNEL):
    return identify(KernelKey(category, name))


@pytest.mark.parametrize(
    ("name", "kind", "family", "generation", "source"),
    [
        (FMHA_F, "attention", "mem_efficient", 80, NAME),
        ("void pytorch_flash::flash_fwd_kernel<x>", "attention", "flash_sdpa", 80, FAMILY),
        ("void flash::flash_fwd_splitkv_kernel<x>", "attention", "flash_2", 80, FAMILY),
        ("_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel", "attention", "flash_2", 80, FAMILY),
        ("cutlass::device_kernel<flash::FlashAttnFwdSm90<C>>", "attention", "flash_3", 90, NAME),
        (
            "flash_bwd_sm100_bf16_kernel_cutlass_kernel_flash_attncuteflash_bwd_sm100FlashAttention",
            "attention",
            "flash_4",
            100,
            NAME,
        ),
        (
            "void ck_tile::kentry<256, ck_tile::FmhaFwdKernel<x>>",
            "attention",
            "attention_amd",
            None,
            None,
        ),
        ("triton_per_fused__safe_softmax_1", "other", "triton_softmax", None, COMPILED),
        ("triton_red_fused__log_softmax_1", "other", "triton", None, COMPILED),
        (
            "cudnn_generated_fort_native_sdpa_sm90_knob_7_64x128x128_4x1x1_kernel0_0",
            "attention",
            "cudnn_sdpa",
            90,
            NAME,
        ),
        ("triton_tem_fused_flex_attention_0", "attention", "flex_template", None, COMPILED),
        ("ampere_sgemm_32x32_sliced1x4_tn", "gemm", "cublas_simt", 80, NAME),
        ("volta_sgemm_128x32_nt", "gemm", "cublas_simt", 70, NAME),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "gemm", "cublas", 90, NAME),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64>", "gemm", "cublas", 80, NAME),
        ("cutlass3x_sm100_tensorop_s256x256x16gemm", "gemm", "cutlass_3", 100, NAME),
        ("cutlass3x_sm120_bf16_gemm", "gemm", "cutlass_3", 120, NAME),
        ("cutlass::device_kernel<enable_3x_kernel_for_sm9x<G>>", "gemm", "cutlass_3", 90, NAME),
        ("cutlass::device_kernel<MainloopSm100TmaUmma<2>>", "gemm", "cutlass_3", 100, NAME),
        ("nvjet_tst_128x64_64x4_1x2_h_bz_TNT", "gemm", "cublas_nvjet", None, None),
        (
            "cutlass::device_kernel<enable_3x_kernel_for_sm9x<GemmUniversal<GroupProblemShape<S>>>>",
            "gemm",
            "grouped_gemm",
            90,
            NAME,
        ),
        ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", "gemm", "tensile", None, None),
        ("triton_poi_fused_add_mul_silu_7", "elementwise", "triton_pointwise", None, COMPILED),
        ("triton_red_fused_sum_1", "other", "triton", None, COMPILED),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "communication", "collective", None, None),
        ("ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16", "communication", "collective", None, None),
        ("ncclSymkDevKernel_ReduceScatter_LL_sum_f16", "communication", "collective", None, None),
        (
            "void vllm::cross_device_reduce_1stage<half, 8>",
            "communication",
            "collective",
            None,
            None,
        ),
        ("void deep_ep::intranode::dispatch<8>(int4*)", "communication", "collective", None, None),
        (
            "void at::native::vectorized_elementwise_kernel<4, F<float>>",
            "elementwise",
            "elementwise",
            None,
            None,
        ),
        ("void (anonymous namespace)::softmax_warp_forward<float>", "other", "softmax", None, None),
        ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)", "other", None, None, None),
        ("some_kernel_of_mine", "other", None, None, None),
    ],
)
def test_names_tell_class_family_and_generation(name, kind, family, generation, source):
    found = named(name)
    assert (found.kind.value, found.family) == (kind, family)
    assert (found.generation, found.generation_from) == (generation, source)


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("_attn_fwd", None),
        ("_flash_attn_fwd_kernel", None),
        ("parallel_attn_bwd_kernel_dq", None),
        ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaFwdKernelTma<x>>(y)", 100),
        ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm90FmhaBwdKernel<x>>(y)", 90),
    ],
)
def test_an_attention_that_several_write_is_of_no_vendor(name, generation):
    found = named(name)
    assert (found.kind, found.amd) == (KernelClass.ATTENTION, False)
    assert found.generation == generation


@pytest.mark.parametrize(
    "name",
    [
        "Cijk_Alik_Bljk_SB",
        "fmha_fwd_hd128_bf16_causal",
        "_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelIx",
        "void ck_tile::kentry<256, ck_tile::FmhaBwdDQDKDVKernel<x>>",
        "aiter::FmhaFwdV3Kernel",
    ],
)
def test_amds_own_libraries_are_known_by_name(name):
    assert named(name).amd


def test_a_name_that_is_cut_gives_no_generation():
    for name in (
        "fmha_cutlassF_bf16_aligned_32x128_gmem_sm8...",
        "pytorch_flash::flash_fwd_ker...",
    ):
        found = named(name)
        assert found.truncated
        assert found.generation is None


def test_tier_and_data_type_are_read():
    assert (named(FMHA_F).tier, named(FMHA_F).dtype) == ("gmem", "bf16")
    assert (named(FMHA_B).tier, named(FMHA_B).dtype) == ("k65536", "bf16")
    assert named("fmha_cutlassF_f32_aligned_64x64_rf_sm80").tier == "rf"
    assert named("fmha_cutlassF_f32_aligned_64x64_rf_sm80").dtype == "f32"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32", "tf32"),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4", "tf32"),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_cublas", "tf32"),
        ("cutlass_80_tensorop_s1688tf32gemm_f32_128x64_nt", "tf32"),
        ("void cutlass::Kernel<cutlass::gemm::Gemm<float, cutlass::tfloat32_t>>", "tf32"),
        ("sm90_xmma_gemm_f32f32_f32f32_f32_tn", "f32"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "bf16"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "f16"),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "f16"),
        ("volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", "f16"),
        ("volta_fp16_sgemm_fp16_128x64_tn", "f16"),
        ("ampere_bf16_s16816gemm_bf16_128x64", "bf16"),
        ("ampere_h16816gemm_128x64_ldg8_stages_64x3_tn", "f16"),
    ],
)
def test_the_type_multiplied_in_is_told_not_the_one_it_comes_from(name, dtype):
    assert named(name).dtype == dtype


@pytest.mark.parametrize(
    ("name", "f32"),
    [
        ("ampere_sgemm_32x32_sliced1x4_tn", True),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>", True),
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128>", True),
        ("void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128>", False),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, __nv_bfloat16>", False),
        ("void gemvNSP_kernel<cuComplex>", False),
        ("ampere_bf16_s16816gemm_bf16_128x64", False),
    ],
)
def test_fp32_without_tensor_cores_is_said_only_of_what_is_fp32(name, f32):
    assert named(name).simt_f32 is f32


def test_whether_a_newer_kernel_exists_is_said_only_where_it_is_known():
    assert named(FMHA_F).newer_known is False
    assert named("ampere_bf16_s16816gemm_bf16_128x64").newer_known is True
    assert named("void pytorch_flash::flash_fwd_kernel<x>").newer_known is None


def test_copies_are_memory_whatever_they_are_called():
    found = named("Memcpy sm80 gemm", DeviceCategory.MEMCPY)
    assert (found.kind, found.generation) == (KernelClass.MEMORY, None)


def test_every_row_of_the_table_has_a_source_and_a_name_of_its_own():
    assert all(family.source for family in FAMILIES)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


A100 = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0}
OTHER = {"id": 1, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0}
MI250 = {"id": 2, "name": "AMD Radeon Graphics", "computeMajor": 9, "computeMinor": 0}


def test_the_device_is_the_one_that_has_rows():
    device = device_of({"deviceProperties": [A100, OTHER]}, ["1"])
    assert (device.name, device.capability) == ("NVIDIA H100", 90)


def test_an_amd_cards_numbers_are_no_compute_capability():
    device = device_of({"deviceProperties": [MI250]}, ["2"])
    assert device.amd
    assert device.capability is None


def test_kernels_decide_whose_card_it_is_only_where_it_has_no_name():
    unnamed = {"id": 1, "computeMajor": 9, "computeMinor": 0}
    told = device_of({"deviceProperties": [OTHER]}, ["1"], amd_names=True)
    assert (told.amd, told.capability) == (False, 90)
    assert device_of({"deviceProperties": [unnamed]}, ["1"], amd_names=True).capability is None
    assert device_of({}, ["1"], amd_names=True).amd
    assert device_of({"deviceProperties": [unnamed]}, ["1"]).capability == 90


@pytest.mark.parametrize(
    ("major", "minor"), [(8, -3), (8, 10), (0, 0), (-8, 0), (100, 0), ("8", 0), (8, True)]
)
def test_a_capability_that_is_none_is_unknown(major, minor):
    odd = {**A100, "computeMajor": major, "computeMinor": minor}
    assert device_of({"deviceProperties": [odd]}, ["0"]).capability is None


@pytest.mark.parametrize("facts", [{}, {"deviceProperties": 3}, {"deviceProperties": [1, {}]}])
def test_a_device_that_is_not_told_is_unknown(facts):
    assert device_of(facts, ["0"]).capability is None


def test_two_kinds_of_device_have_no_one_capability():
    assert device_of({"deviceProperties": [A100, OTHER]}, ["0", "1"]).capability is None


def test_capabilities_are_written_with_a_point():
    assert [parse_capability(text) for text in ("8.0", "12.0", "80", "x")] == [80, 120, None, None]
