"""Attention that is a kernel of the hub: named with a slash, registered when a model is loaded.

Whatever function it brings, transformers gives it one of its own masks: flash attention's, or, from
5.2x on, sdpa's where what is loaded is no flash attention. Nothing is loaded here, so that only of
kernels known to be flash attention it is known which.
"""

import re
from typing import Dict, Iterable, Optional

FLASH = "flash_attention_2"
_KERNEL = re.compile(r"[^/:|]+/[^/:@|]+(?:@[^/:|]+)?(?::[^/:|]+)?")
_FLASH = re.compile(r"kernels-community/(?:vllm-|aiter-)?flash-attn\d?(?:@[^/:|]+)?")


def asked_as(name: str) -> str:
    """The implementation whose masks are asked for in its place; itself if it is no kernel."""
    return FLASH if _KERNEL.fullmatch(name) else name


def kernels(names: Iterable[str]) -> Dict[str, Optional[str]]:
    """Which of some names are kernels, and whose masks each takes; None where that is unknown."""
    found = [name for name in names if _KERNEL.fullmatch(name)]
    return {name: FLASH if _FLASH.fullmatch(name) else None for name in found}
