"""Which kernels each attention implementation launches: the table that a flag is held against.

Source: transformers 5.24.0, ``ALL_ATTENTION_FUNCTIONS`` and its hub kernels
(``FLASH_ATTN_KERNEL_FALLBACK``); the kernels' names stand in ``formats/kernel_names/families.py``.
FlashAttention 2 exists twice: as Dao-AILab's package and as torch builds it for SDPA, and a trace
with the second says that SDPA ran.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

AMD: Final = "attention_amd"
"""AMD's kernels: Composable Kernel and aiter serve SDPA and flash_attn under one name."""
OTHER: Final = "attention_other"
"""Names that several give, AOTriton too, whose kernels SDPA and flash_attn launch on ROCm."""
_HUB: Final = re.compile(r"[\w.-]+/(?:vllm-)?flash-attn([234]?)(?:[@:].*)?")
_PAGED: Final = "paged|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """One attention implementation.

    Attributes:
        own: families that show it took.
        shared: families that it can launch, and another one as well: they show nothing.
        source: where that was learned.
    """

    own: frozenset[str]
    shared: frozenset[str] = frozenset()
    source: str


EAGER: Final = "eager"
SDPA: Final = "sdpa"
IMPLEMENTATIONS: Final = {
    EAGER: Implementation(
        own=frozenset(), source="transformers, eager_attention_forward: matmul, softmax, matmul"
    ),
    SDPA: Implementation(
        own=frozenset({"flash_sdpa", "mem_efficient", "cudnn_sdpa"}),
        shared=frozenset({"flash_3", "flash_4", AMD, OTHER}),
        source="torch.nn.attention.SDPBackend; its flash backend can be told to take FlashAttention"
        " 3 or 4 (activate_flash_attention_impl, torch 2.10 on)",
    ),
    "flash_attention_2": Implementation(
        own=frozenset({"flash_2"}),
        shared=frozenset({AMD, OTHER}),
        source="flash_attn 2, or kernels-community/flash-attn2; on ROCm Composable Kernel",
    ),
    "flash_attention_3": Implementation(
        own=frozenset({"flash_3"}),
        shared=frozenset({AMD, OTHER}),
        source="flash_attn_interface, or kernels-community/vllm-flash-attn3; on ROCm aiter",
    ),
    "flash_attention_4": Implementation(
        own=frozenset({"flash_4"}),
        source="flash_attn.cute, or kernels-community/flash-attn4",
    ),
    "flex_attention": Implementation(
        own=frozenset({"flex_template"}),
        shared=frozenset({"flash_4"}),
        source="torch/_inductor/kernel/flex: Triton templates, or flash_attn.cute (BACKEND=FLASH)",
    ),
}


def implementation_of(requested: Any) -> tuple[str, Implementation] | None:
    """Find an implementation as it may be configured; None for one whose kernels nobody knows.

    Args:
        requested: a name, with ``paged|`` before it or as a hub kernel's repository.
    """
    if not isinstance(requested, str):
        return None
    name = requested.removeprefix(_PAGED)
    hub = _HUB.fullmatch(name)
    if hub is not None:
        name = f"flash_attention_{hub[1] or 2}"
    found = IMPLEMENTATIONS.get(name)
    return None if found is None else (name, found)
