"""Time the user's own training step at several widths, narrowest first.

    python start.py scaling MODULE:STEP_FACTORY --widths 512,1024,2048,4096 --batch 2

``STEP_FACTORY`` takes any of ``width``, ``batch`` and ``device`` by name and returns a function
without arguments: forward and backward of one micro-batch of that shape. It is called once a
width, before the clock runs; a model that is slow to load belongs in the module.

Says ``ready``, then for each width ``begin``, ``timing`` after ``timing`` (one a repetition) and
``memory``; where memory ends, ``sweep_ended`` with the width, and nothing wider is tried.
"""

import argparse
from typing import Any, Callable, List, Optional

from .channel import is_out_of_memory, say, short
from .device import chosen, described, give_back, peak_bytes, waiting
from .user_step import Factory


def probe(arguments: List[str]) -> None:
    """Sweep."""
    asked = _parsed(arguments)
    device = chosen(asked.device)
    factory = Factory(asked.target)
    say("ready", **described(device))
    sweep(factory, asked, device, waiting(device))


def sweep(factory: Factory, asked: Any, device: str, wait: Callable[[], None]) -> Optional[int]:
    """Time every width; the widest that fits, None if none does."""
    widest = None
    for width in asked.widths:
        say("begin", width=width)
        try:
            _time(factory, asked, width, device, wait)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            say("sweep_ended", width=width, reason="out_of_memory", detail=short(error))
            break
        finally:
            give_back(device)
        widest = width
    return widest


def _time(factory: Factory, asked: Any, width: int, device: str, wait: Callable[[], None]) -> None:
    step = factory.step({"width": width, "batch": asked.batch, "device": device}, wait)
    for _ in range(asked.warm):
        step.run()
    for _ in range(asked.repeats):
        seconds, targets = step.timed()
        say("timing", width=width, seconds=seconds, targets=targets)
    peak = peak_bytes(device)
    if peak is not None:
        say("memory", width=width, peak_bytes=peak)


def _parsed(arguments: List[str]) -> Any:
    parser = argparse.ArgumentParser(prog="scaling")
    parser.add_argument("target")
    parser.add_argument("--widths", type=lambda text: [int(w) for w in text.split(",")])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    return parser.parse_args(arguments)
