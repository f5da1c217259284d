"""Loops of many kinds; prints how many lines of the step file each of them made.

many_loops.py          one process
torchrun many_loops.py distributed
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import torch
from torch import nn

STEPS = 10


def lines():
    """Step lines by optimizer so far, of every rank file."""
    folder = Path(os.environ.get("PFID_RUN_DIR", "/nowhere")) / "steps"
    rank = os.environ.get("RANK", "0")
    file = folder / f"rank-{rank}.jsonl"
    read = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return Counter(line.get("opt", 0) for line in read if "step" in line)


def small(optimizer=torch.optim.AdamW, **options):
    model = nn.Linear(8, 8)
    return model, optimizer(model.parameters(), **options)


def backward(model, scale=1.0):
    (model(torch.randn(4, 8)).pow(2).mean() * scale).backward()


def plain(**options):
    model, optimizer = small(**options)
    for _ in range(STEPS):
        backward(model)
        optimizer.step()
        optimizer.zero_grad()


def scheduled():
    model, optimizer = small(torch.optim.SGD, lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        backward(model)
        optimizer.step()
        scheduler.step()


def accumulated():
    model, optimizer = small()
    for micro in range(4 * STEPS):
        backward(model)
        if micro % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def adversarial():
    (judge, judges), (maker, makes) = small(), small()
    for _ in range(STEPS):
        for _ in range(3):
            backward(judge)
            judges.step()
        backward(maker)
        makes.step()


def closure():
    model, optimizer = small(torch.optim.LBFGS, max_iter=20)

    def evaluate():
        optimizer.zero_grad()
        loss = model(torch.ones(4, 8)).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(evaluate)


def scaled(**options):
    """Two of ten steps overflow: an ordinary optimizer does not step then, a fused one is asked."""
    model, optimizer = small(torch.optim.SGD, lr=0.01, **options)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(STEPS):
        backward(model, float("inf") if step in {3, 6} else 1.0)
        for parameter in model.parameters():
            parameter.grad = parameter.grad * scaler.scale(torch.ones(()))
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def in_backward():
    model = nn.Linear(8, 8)
    each = {p: torch.optim.SGD([p], lr=0.01) for p in model.parameters()}
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: each[p].step())
    for _ in range(STEPS):
        backward(model)


def unhashable():
    class Odd(torch.optim.SGD):
        __hash__ = None

        def __eq__(self, other):
            return False

    plain(optimizer=Odd, lr=0.01)


def own_step():
    """A step that is put on the instance is none of torch's."""
    model, optimizer = small(torch.optim.SGD, lr=0.01)
    optimizer.step = lambda: None
    for _ in range(STEPS):
        backward(model)
        optimizer.step()


def ten_classes():
    """As many optimizers of as many classes, turn by turn."""
    kinds = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "RAdam", "Rprop", "ASGD")
    pairs = [small(getattr(torch.optim, kind)) for kind in (*kinds, "Adadelta")]
    for _ in range(STEPS):
        for model, optimizer in pairs:
            backward(model)
            optimizer.step()


def none_of_torchs():
    """A class of one's own that only looks like an optimizer."""
    model = nn.Linear(8, 8)

    class Own:
        def step(self):
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(0.01 * parameter.grad)

    optimizer = Own()
    for _ in range(STEPS):
        backward(model)
        optimizer.step()


def pooled():
    """Workers of pools, however they are started, are no training."""
    import multiprocessing

    for how in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            pool.map(abs, range(4))
    plain()


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 2 * STEPS

    def __getitem__(self, index):
        return torch.randn(8)


def loaded():
    model, optimizer = small()
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2):
        model(batch).pow(2).mean().backward()
        optimizer.step()


LOOPS = {
    "plain": plain,
    "foreach": lambda: plain(foreach=True),
    "fused": lambda: plain(fused=True),
    "scheduled": scheduled,
    "accumulated": accumulated,
    "adversarial": adversarial,
    "closure": closure,
    "scaled": scaled,
    "scaled_fused": lambda: scaled(fused=True),
    "in_backward": in_backward,
    "unhashable": unhashable,
    "own_step": own_step,
    "ten_classes": ten_classes,
    "none_of_torchs": none_of_torchs,
    "pooled": pooled,
    "loaded": loaded,
}


def wrapped(module):
    model = module(nn.Linear(8, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        backward(model)
        optimizer.step()


def sharded_state():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
    for _ in range(STEPS):
        backward(model)
        optimizer.step()


def fully_sharded(module):
    from torch.distributed.fsdp import fully_shard

    return fully_shard(module) or module


def wrapped_whole(module):
    from torch.distributed.fsdp import FullyShardedDataParallel

    return FullyShardedDataParallel(module, device_id=torch.device("cpu"))


DISTRIBUTED = {
    "ddp": lambda: wrapped(nn.parallel.DistributedDataParallel),
    "zero": sharded_state,
    "fsdp1": lambda: wrapped(wrapped_whole),
    "fsdp2": lambda: wrapped(fully_sharded),
}


def main():
    distributed = "RANK" in os.environ
    if distributed:
        torch.distributed.init_process_group("gloo")
    told = {}
    for name, loop in (DISTRIBUTED if distributed else LOOPS).items():
        before = lines()
        loop()
        told[name] = sorted((lines() - before).values(), reverse=True)
    sys.stdout.write(f"{json.dumps(told)}\n")
    sys.stdout.flush()
    if distributed:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
