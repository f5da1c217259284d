"""Where a step runs: which device, how to wait for it, and what it says of itself."""

import gc
import sys
from typing import Any, Callable, Dict, Optional

from .channel import Refused


def torch_here() -> Any:
    """Import torch.

    Raises:
        Refused: if this interpreter has none.
    """
    try:
        import torch
    except ImportError as error:
        raise Refused("no_torch", error) from error
    return torch


def chosen(asked: str) -> str:
    """``cuda`` where torch has a device, unless another is asked for.

    A step need not be torch's: without it there is a CPU.

    Raises:
        Refused: if CUDA is asked for and there is none.
    """
    if asked == "cpu":
        return "cpu"
    try:
        cuda = torch_here().cuda.is_available()
    except Refused:
        if asked == "cuda":
            raise
        return "cpu"
    if cuda:
        return "cuda"
    if asked == "cuda":
        raise Refused("no_cuda")
    return "cpu"


def waiting(device: str) -> Callable[[], None]:
    """What waits until the device has done everything."""
    if device == "cuda":
        wait: Callable[[], None] = torch_here().cuda.synchronize
        return wait
    return lambda: None


def described(device: str) -> Dict[str, Any]:
    """What answers are about."""
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", None)
    if device != "cuda" or torch is None:
        return {"device": device, "name": "", "torch": version}
    card = torch.cuda.get_device_properties(0)
    uuid = str(getattr(card, "uuid", ""))
    return {"device": device, "name": card.name, "torch": version, "uuid": uuid}


def peak_bytes(device: str) -> Optional[int]:
    """Most memory of the device that was held since it was given back; None on a CPU."""
    return int(torch_here().cuda.max_memory_allocated()) if device == "cuda" else None


def give_back(device: str) -> None:
    """Free what one shape held: the next one is to be measured alone."""
    gc.collect()
    if device == "cuda":
        torch = torch_here()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
