"""A real ``transformers`` Trainer on a tiny random model; its own bar and its own log lines.

No weights, no tokenizer and no hub: the model is made from a configuration, the data are random.
"""

import argparse
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

SEQUENCE = 128
BATCH = 4
ACCUMULATION = 2


class RandomTokens(torch.utils.data.Dataset):
    """Rows of random token ids, each its own label."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(0, 512, (SEQUENCE,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def main(argv: list[str]) -> None:
    """Train for the asked number of optimizer steps in the asked folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--out", required=True)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)  # threads that wait for each other on a busy box blur the steps
    config = GPT2Config(n_layer=4, n_head=4, n_embd=256, vocab_size=512, n_positions=SEQUENCE)
    arguments = TrainingArguments(
        output_dir=options.out,
        max_steps=options.steps,
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=ACCUMULATION,
        logging_steps=5,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=False,
    )
    rows = options.steps * BATCH * ACCUMULATION
    Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=RandomTokens(rows)).train()


if __name__ == "__main__":
    main(sys.argv[1:])
