"""What the loss costs within a step: forward, recompute and gradients, each by itself.

    python start.py loss_head MODULE:STEP_FACTORY --loss MODULE:FUNCTION --width 2048 --batch 2

Says ``ready``, then ``loss_head`` for every repetition.
"""

import argparse
from typing import Any, List

from .channel import say
from .device import chosen, described, torch_here, waiting
from .loss_watch import LossWatch
from .user_step import Factory, Step, own


def probe(arguments: List[str]) -> None:
    """Measure."""
    asked = _parsed(arguments)
    device = chosen(asked.device)
    torch, wait = torch_here(), waiting(device)
    factory = Factory(asked.target)
    loss = own(asked.loss, "compute_loss")
    watch = LossWatch(torch, loss, wait)
    offered = {"width": asked.width, "batch": asked.batch, "device": device}
    say("ready", **described(device))
    with watch:
        # made under the watch, so that a step that keeps the loss in a variable keeps the timed one
        watched = factory.step(offered, wait)
        measure(watched, watch, asked.repeats, asked.warm)


def measure(step: Step, watch: LossWatch, repeats: int, warm: int) -> None:
    """Say what each repetition spent in the loss."""
    for _ in range(warm):
        step.run()
    for _ in range(repeats):
        watch.clear()
        seconds, targets = step.timed()
        say("loss_head", step_s=seconds, targets=targets, **watch.told())


def _parsed(arguments: List[str]) -> Any:
    parser = argparse.ArgumentParser(prog="loss_head")
    parser.add_argument("target")
    parser.add_argument("--loss")
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"))
    return parser.parse_args(arguments)
