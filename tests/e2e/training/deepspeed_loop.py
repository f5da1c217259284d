"""Ten optimizer steps of two micro-batches under DeepSpeed, at each stage of ZeRO, on the CPU."""

import os
import sys
from pathlib import Path

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")

import deepspeed
import torch
from torch import nn

STEPS, MICRO, STAGES = 10, 2, (0, 1, 2, 3)


def main():
    # Without it gloo carries what ranks say; a compiler would need a minute for it first.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    meeting = f"file://{Path('meeting').absolute()}"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    for stage in STAGES:
        sys.stdout.write(f"sum {stage} {trained(stage).hex()}\n")


def trained(stage):
    torch.manual_seed(7)
    model = nn.Linear(8, 8)
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": MICRO,
        "zero_optimization": {"stage": stage},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for _ in range(STEPS * MICRO):
        engine.backward(engine(torch.ones(4, 8)).pow(2).mean())
        engine.step()
    return sum(p.detach().double().abs().sum().item() for p in model.parameters())


if __name__ == "__main__":
    main()
