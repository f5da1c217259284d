"""Families of kernels by name, first match wins; each row says where it was learned.

Read on 2026-11-29 in torch 2.14.1 with CUDA 13 and cuDNN 9.24 unless the source says otherwise.
Names of kernels change with every release: a row is a fact about those that were seen, and a name
that fits no row is unknown.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.kernel import KernelClass

_BINARIES: Final = "symbols in torch 2.14.1's libraries"
_KINETO: Final = "names in public Kineto traces (A100, V100)"
_AMD: Final = "names in a public Kineto trace (MI250)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One row.

    Attributes:
        pattern: anywhere in the name.
        generation: sm version of every kernel of the family, where the name carries no tag.
        compiled: compiled on the spot, for the device it runs on.
        newest: newest generation that the family is known to have a kernel for.
        complete: the family was searched whole, so that nothing newer than ``newest`` exists.
        source: where the row comes from.
    """

    name: str
    kind: KernelClass
    pattern: re.Pattern[str]
    source: str
    generation: int | None = None
    compiled: bool = False
    newest: int | None = None
    complete: bool = False
    amd: bool = False
    simt_f32: bool = False
    """On ordinary cores, not on tensor cores, where the name says FP32."""

    def newer_than(self, generation: int | None) -> bool | None:
        """Whether a kernel of a newer generation is known to exist; None: not known."""
        if generation is None or self.newest is None:
            return None
        return True if self.newest > generation else False if self.complete else None


def _family(name: str, kind: KernelClass, pattern: str, source: str, **more: Any) -> Family:
    compiled = re.compile(pattern, re.IGNORECASE)
    return Family(name=name, kind=kind, pattern=compiled, source=source, **more)


FAMILIES: Final = (
    _family(
        "collective",
        KernelClass.COMMUNICATION,
        r"nccl(?:Symk?)?(?:Dev)?Kernel|rccl|(?:one|two)_shot_all_reduce|multimem_|nvshmem"
        r"|cross_device_reduce_|\bdeep_ep::",
        _KINETO + "; symmetric memory: torch/csrc/distributed/c10d/cuda, NVIDIA/nccl from 2.27 on"
        " (src/device/symmetric); vLLM's and SGLang's custom all-reduce; deepseek-ai/DeepEP",
    ),
    _family(
        "mem_efficient",
        KernelClass.ATTENTION,
        r"fmha_cutlass[FB]_|PyTorchMemEffAttention",
        _BINARIES + ": 207 names, sm50, sm70, sm75 and sm80 only",
        newest=80,
        complete=True,
    ),
    _family(
        "cudnn_sdpa",
        KernelClass.ATTENTION,
        r"cudnn_generated_fort_native_sdpa|cudnn.*sdpa",
        _BINARIES + "; sm100 in public traces",
        newest=100,
    ),
    _family(
        "flash_4",
        KernelClass.ATTENTION,
        r"flash_attn\w{0,40}cute|kernel_cutlass_kernel_\w{0,80}FlashAttention(?:Forward|Backward)",
        "Dao-AILab/flash-attention, flash_attn/cute: CuTe's names of its kernels, also where torch"
        " compiles flex_attention to them or SDPA was told to take them",
    ),
    _family(
        "flash_3",
        KernelClass.ATTENTION,
        r"FlashAttn(?:Fwd|Bwd)(?:Sm\d+|Combine|Preprocess|Postprocess)|flash_attn_3"
        r"|prepare_varlen_num_blocks",
        "Dao-AILab/flash-attention, hopper/",
    ),
    _family(
        "flash_sdpa",
        KernelClass.ATTENTION,
        r"pytorch_flash",
        _BINARIES + ": FlashAttention 2 as torch builds it for SDPA, without a tag",
        generation=80,
    ),
    _family(
        "flash_2",
        KernelClass.ATTENTION,
        r"flash(?:::|_)(?:flash_)?(?:fwd|bwd)",
        "Dao-AILab/flash-attention, csrc/flash_attn: FlashAttention 2, without a tag",
        generation=80,
    ),
    _family(
        "flex_template",
        KernelClass.ATTENTION,
        r"flex_attention|flex_decoding",
        "torch/_inductor/kernel/flex: names of the templates",
        compiled=True,
    ),
    _family(
        "attention_amd",
        KernelClass.ATTENTION,
        r"\bfmha_(?:fwd|bwd)|ck_tile\w*::Fmha"
        r"|(?<!sm\d\d)(?<!sm\d\d\d)Fmha(?:Fwd|Bwd)\w*Kernel",
        "Composable Kernel's and aiter's names",
        amd=True,
    ),
    _family(
        "attention_other",
        KernelClass.ATTENTION,
        r"attn_fwd|attn_bwd|Fmha(?:Fwd|Bwd)\w*Kernel",
        "names that several give: Triton's tutorial (_attn_fwd), fla-org/flash-linear-attention and"
        " AMD's AOTriton alike; CUTLASS's own FMHA for sm90 and sm100",
    ),
    _family(
        "triton_template",
        KernelClass.GEMM,
        r"triton_tem_fused_.*(?:mm|bmm|matmul|linear|conv)|triton_mm",
        "torch/_inductor: tem is a template",
        compiled=True,
    ),
    _family(
        "triton_pointwise",
        KernelClass.ELEMENTWISE,
        r"triton_poi_fused",
        "torch/_inductor: poi is pointwise",
        compiled=True,
    ),
    _family(
        "triton_softmax",
        KernelClass.OTHER,
        r"triton_\w+fused\w*(?<!log)_softmax",
        "torch/_inductor: names list what is fused",
        compiled=True,
    ),
    _family(
        "triton",
        KernelClass.OTHER,
        r"\btriton_",
        "torch/_inductor: red and per are reductions",
        compiled=True,
    ),
    _family("tensile", KernelClass.GEMM, r"^Cijk_", _AMD, amd=True),
    _family(
        "deep_gemm",
        KernelClass.GEMM,
        r"deep_gemm",
        "deepseek-ai/DeepGEMM: its namespace",
    ),
    _family(
        "grouped_gemm",
        KernelClass.GEMM,
        r"GroupProblemShape|KernelPtrArray",
        _BINARIES + ": CUTLASS 3, one launch for all experts",
    ),
    _family(
        "convolution",
        KernelClass.GEMM,
        r"xmma_(?:fprop|dgrad|wgrad)|implicit_(?:con)?gemm|implicit_convolve|scudnn|winograd",
        _KINETO,
    ),
    _family(
        "cublas_nvjet",
        KernelClass.GEMM,
        r"nvjet_",
        _BINARIES + ": no tag; Hopper or newer",
    ),
    _family(
        "cublas_simt",
        KernelClass.GEMM,
        r"(?:maxwell|pascal|volta|turing|ampere)_sgemm|cutlass_\d\d_simt|gemmSN|gemv|gemmk1",
        _KINETO + ": ordinary cores; gemv is of any type, and FP32 only where it says so",
        simt_f32=True,
    ),
    _family(
        "cutlass_3",
        KernelClass.GEMM,
        r"cutlass3x_sm\d+|enable_3x_kernel_for_sm\d+|MainloopSm\d+|cutlass::device_kernel",
        _BINARIES,
    ),
    _family(
        "cublas",
        KernelClass.GEMM,
        r"(?:volta|turing|ampere|ada|hopper|blackwell)_\w*gemm|cutlass_\d\d_|sm\d+_xmma_gemm"
        r"|xmma_gemm|splitKreduce|cublasLt",
        _BINARIES + " (cutlass3x_sm120); " + _KINETO,
        newest=120,
    ),
    _family(
        "gemm",
        KernelClass.GEMM,
        r"(?<!fb)gemm|matmul|\bbmm\b",
        "the word itself, but for the library fbgemm",
    ),
    _family(
        "log_softmax",
        KernelClass.OTHER,
        r"log_?softmax|softmax_warp_\w+<[^<>]*\d\s*,\s*(?:true|\(bool\)1)",
        "ATen: aten/src/ATen/native/cuda/PersistentSoftmax.cuh: of a loss, not of attention",
    ),
    _family("softmax", KernelClass.OTHER, r"softmax", "ATen: aten/src/ATen/native/cuda/SoftMax.cu"),
    _family(
        "normalization",
        KernelClass.OTHER,
        r"layer_?norm|rms_?norm|batch_?norm|group_?norm|\bbn_",
        "ATen: aten/src/ATen/native/cuda",
    ),
    _family(
        "reduction", KernelClass.OTHER, r"reduce_kernel|DeviceReduce|DeviceScan|cub::", _KINETO
    ),
    _family(
        "elementwise",
        KernelClass.ELEMENTWISE,
        r"elementwise|multi_tensor_apply|FillFunctor|CatArrayBatchedCopy|dropout_kernel"
        r"|direct_copy|nchwToNhwc|nhwcToNchw|copy_kernel|distribution_",
        _KINETO,
    ),
)
"""Families, first match wins."""
