"""Which variables of a launch say something about what it trains, and may be written down."""

from collections.abc import Iterable, Mapping
from typing import Final

from pfid.policy.masking import MASK, mask_text, names_a_secret

ALWAYS: Final = (
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_HOME"),
    *("CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "PYTORCH_CUDA_ALLOC_CONF"),
    *("TORCH_LOGS", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"),
    *("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "PYTHONHASHSEED", "PYTHONPATH"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "LD_PRELOAD"),
    *("HF_HOME", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"),
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "SLURM_JOB_ID"),
)
"""Always written: null says that one was not set."""
PREFIXES: Final = (
    *("CUDA_", "CUDNN_", "CUBLAS_", "NCCL_", "NVTE_", "TORCH", "PYTORCH_", "TRITON_", "INDUCTOR_"),
    *("AOT_", "HIP_", "HSA_", "ROCR_", "ROCM_", "GLOO_", "UCX_", "FI_", "OMP_", "MKL_", "KMP_"),
    *("FLASH_ATTENTION_", "FLASH_ATTN_", "XFORMERS_", "SAGE_ATTN", "FLA_", "MAMBA_"),
    *("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "ACCELERATE_", "FSDP_", "DS_", "DEEPSPEED_"),
    *("UNSLOTH_", "BNB_", "BITSANDBYTES_", "PEFT_", "VLLM_", "LLAMAFACTORY_", "AXOLOTL_"),
    *("SLURM_JOB", "SLURM_N", "PYTHON"),
)
"""Written where they are set."""
VALUE_MAX_CHARS: Final = 4_096


def launch_environ(environ: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str | None]:
    """Return what may be written down, by name; a secret among it is masked.

    Args:
        environ: of the launch.
        also: names that the spec adds to those always written.
    """
    told = {name for name in environ if name.startswith(PREFIXES)}
    names = sorted({*ALWAYS, *also, *told})
    return {name: _value(name, environ.get(name)) for name in names}


def _value(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    return MASK if value and names_a_secret(name) else mask_text(value)[:VALUE_MAX_CHARS]
