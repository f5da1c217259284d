"""Time the user's own training step at several widths, narrowest first.

    python start.py scaling MODULE:STEP_FACTORY --widths 512,1024,2048,4096 --batch 2

``STEP_FACTORY`` takes any of ``width``, ``batch`` and ``device`` by name and returns a function
without arguments: forward and backward of one micro-batch of that shape. It is called once a
width, before the clock runs; a model that is slow to load belongs in the module.

Says ``ready``, then for each width ``begin``, ``timing`` after ``timing`` (one a repetition) and
``memory``; where memory ends, ``sweep_ended`` with the width, and nothing wider is tried.
"""

import argparse
import gc
import sys
import time
from typing import Any, Callable, List

from .channel import Refused, is_out_of_memory, say, short
from .user_code import call, find

TINY = "tiny"


def probe(arguments: List[str]) -> None:
    """Sweep."""
    asked = _parsed(arguments)
    device = _device(asked.device)
    factory = _factory(asked.target)
    wait = _waiting(device)
    say("ready", **_described(device))
    for width in asked.widths:
        say("begin", width=width)
        try:
            _time(factory, asked, width, device, wait)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            say("sweep_ended", width=width, reason="out_of_memory", detail=short(error))
            return
        finally:
            _give_back(device)


def _parsed(arguments: List[str]) -> Any:
    parser = argparse.ArgumentParser(prog="scaling")
    parser.add_argument("target")
    parser.add_argument("--widths", type=lambda text: [int(w) for w in text.split(",")])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    return parser.parse_args(arguments)


def _factory(target: str) -> Callable[..., Any]:
    """The user's own, or the tiny one, by a name they share."""
    if target != TINY:
        found = find(target)
        return lambda **offered: call(found, offered, target)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Refused("no_torch", error) from error
    from .tiny_step import step_factory

    return step_factory


def _device(asked: str) -> str:
    """``cuda`` where torch has a device, unless another is asked for."""
    if asked == "cpu":
        return "cpu"
    try:
        import torch
    except ImportError as error:
        if asked == "cuda":
            raise Refused("no_torch", error) from error
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    if asked == "cuda":
        raise Refused("no_cuda")
    return "cpu"


def _waiting(device: str) -> Callable[[], None]:
    """What waits until the device has done everything."""
    if device == "cuda":
        import torch

        wait: Callable[[], None] = torch.cuda.synchronize
        return wait
    return lambda: None


def _described(device: str) -> Any:
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", None)
    if device != "cuda" or torch is None:
        return {"device": device, "name": "", "torch": version}
    card = torch.cuda.get_device_properties(0)
    uuid = str(getattr(card, "uuid", ""))
    return {"device": device, "name": card.name, "torch": version, "uuid": uuid}


def _time(
    factory: Callable[..., Any], asked: Any, width: int, device: str, wait: Callable[[], None]
) -> None:
    step = factory(width=width, batch=asked.batch, device=device)
    if isinstance(step, tuple) and len(step) == 2:
        step = step[0]  # its model comes beside it, for the probes that want to see it
    if not callable(step):
        raise Refused("no_step", f"the factory returned {type(step).__name__}, no function")
    for _ in range(asked.warm):
        step()
    wait()
    for _ in range(asked.repeats):
        began = time.perf_counter()
        step()
        wait()
        say("timing", width=width, seconds=time.perf_counter() - began)
    if device == "cuda":
        import torch

        say("memory", width=width, peak_bytes=int(torch.cuda.max_memory_allocated()))


def _give_back(device: str) -> None:
    """Free what one width held: the next one is to be measured alone."""
    gc.collect()
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
