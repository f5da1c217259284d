"""Everything about one step in a single pass: scaling, padding, loss head, kernels.

    python start.py profile_step MODULE:STEP_FACTORY --widths 512,1024,2048 --batch 2 --trace FILE

``STEP_FACTORY`` as for ``scaling``; if it takes ``padding`` (the share of one record that is
padding), the penalty of padding is measured at the widest width that fits: same shape, mask only,
both turn by turn. Says what ``scaling`` says, then
``penalty`` (``padding`` 0 or not), ``loss_head``, ``model`` (its parameters) where the factory
returns one, and ``profiled`` once a trace is written.
"""

import argparse
import time
from typing import Any, Callable, Dict, List

from .channel import say
from .device import chosen, described, give_back, torch_here, waiting
from .loss_head import measure
from .loss_watch import LossWatch
from .model_size import sizes
from .scaling import sweep
from .user_step import Factory, Step, own

PROFILED_STEPS = 2


def probe(arguments: List[str]) -> None:
    """Measure."""
    asked = _parsed(arguments)
    device = chosen(asked.device)
    torch, wait = torch_here(), waiting(device)
    factory = Factory(asked.target)
    say("ready", takes_padding=factory.takes_padding, **described(device))
    widest = sweep(factory, asked, device, wait)
    if widest is None:
        return
    shape = {"width": widest, "batch": asked.batch, "device": device}
    if factory.takes_padding:
        penalty(factory, shape, asked, wait)
        give_back(device)
    if asked.loss:
        with LossWatch(torch, own(asked.loss, "compute_loss"), wait) as watch:
            measure(factory.step(shape, wait), watch, asked.repeats, asked.warm)
        give_back(device)
    if asked.trace:
        step = factory.step(shape, wait)
        counted = sizes(torch, step.model)
        if counted is not None:
            say("model", **counted)
        kernels(torch, step, device, asked.trace, shape)


def penalty(factory: Factory, shape: Any, asked: Any, wait: Callable[[], None]) -> None:
    """Time one shape without padding and with it, turn by turn: a drift hits both."""
    steps = [factory.step(dict(shape, padding=p), wait) for p in (0.0, asked.padding)]
    for step in steps:
        for _ in range(asked.warm):
            step.run()
    for _ in range(max(2, asked.repeats)):
        for share, step in zip((0.0, asked.padding), steps):
            seconds, targets = step.timed()
            say("penalty", padding=share, seconds=seconds, targets=targets, width=shape["width"])


def kernels(torch: Any, step: Step, device: str, path: str, shape: Dict[str, Any]) -> None:
    """Write a trace of some steps; their wall clock is taken in the same run."""
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(profiler.ProfilerActivity.CUDA)
    step.run()
    step.wait()
    plan = profiler.schedule(wait=0, warmup=1, active=PROFILED_STEPS)
    took = 0.0
    with profiler.profile(activities=activities, schedule=plan, with_flops=True) as running:
        for turn in range(1 + PROFILED_STEPS):
            began = time.perf_counter()
            step.run()
            step.wait()
            took += time.perf_counter() - began if turn else 0.0
            if turn < PROFILED_STEPS:
                running.step()
    running.export_chrome_trace(path)
    flops = sum(int(row.flops or 0) for row in running.key_averages())
    shaped = {"width": shape["width"], "tokens": shape["width"] * shape["batch"]}
    said = dict(shaped, steps=PROFILED_STEPS, wall_s=took, flops=flops or None)
    say("profiled", trace=path, **said)


def _parsed(arguments: List[str]) -> Any:
    parser = argparse.ArgumentParser(prog="profile_step")
    parser.add_argument("target")
    parser.add_argument("--widths", type=lambda text: [int(w) for w in text.split(",")])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--padding", type=float)
    parser.add_argument("--loss")
    parser.add_argument("--trace")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    return parser.parse_args(arguments)
