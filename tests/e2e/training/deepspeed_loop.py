"""Ten optimizer steps of two micro-batches under DeepSpeed, at one stage of ZeRO, on the CPU.

deepspeed_loop.py 0|1|2|3
"""

import os
import sys
from pathlib import Path

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")

import deepspeed
import torch
from torch import nn

STEPS, MICRO = 10, 2


def main():
    torch.manual_seed(7)
    meeting = f"file://{Path('meeting').absolute()}"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    model = nn.Linear(8, 8)
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": MICRO,
        "zero_optimization": {"stage": int(sys.argv[1])},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for _ in range(STEPS * MICRO):
        engine.backward(engine(torch.ones(4, 8)).pow(2).mean())
        engine.step()
    total = sum(p.detach().double().abs().sum().item() for p in model.parameters())
    sys.stdout.write(f"sum {total.hex()}\n")


if __name__ == "__main__":
    main()
