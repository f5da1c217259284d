"""Ten optimizer steps of four micro-batches in a framework, left alone and then with a callback.

framework_loops.py transformers|lightning|accelerate FOLDER [alone|wrapped|in_place]

``wrapped`` and ``in_place`` say how torch compiles the model of transformers.
"""

import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import torch
from torch import nn

STEPS, MICRO = 10, 4
SAVED, EVALUATED = 5, 5
COMPILED = sys.argv[3] if sys.argv[3:] and sys.argv[3] != "alone" else ""


class Rows(torch.utils.data.Dataset):
    """Enough rows for the asked steps, one micro-batch each."""

    def __len__(self):
        return STEPS * MICRO * int(os.environ.get("WORLD_SIZE", "1"))

    def __getitem__(self, index):
        return torch.randn(8, generator=torch.Generator().manual_seed(index))


class Tokens(Rows):
    """The same as token ids, a quarter of them padding."""

    def __getitem__(self, index):
        ids = torch.randint(1, 64, (16,), generator=torch.Generator().manual_seed(index))
        mask = torch.ones(16, dtype=torch.long)
        mask[12:] = 0
        return {"input_ids": ids, "labels": ids, "attention_mask": mask}


def transformers(callback, folder):
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=64, n_positions=16)
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=STEPS,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=MICRO,
        logging_steps=2,
        save_strategy="steps",
        save_steps=SAVED,
        eval_strategy="steps",
        eval_steps=EVALUATED,
        include_num_input_tokens_seen="no" if COMPILED else "all",
        torch_compile=COMPILED == "wrapped",
        torch_compile_backend="aot_eager" if COMPILED == "wrapped" else None,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    callbacks = []
    if callback:
        from pfid.trainer.callbacks.transformers import TransformersSteps

        callbacks = [TransformersSteps()]
    model = GPT2LMHeadModel(config)
    if COMPILED == "in_place":
        model.compile(backend="aot_eager")
    Trainer(
        model=model,
        args=arguments,
        train_dataset=Tokens(),
        eval_dataset=Tokens(),
        callbacks=callbacks,
    ).train()
    return model


def lightning(callback, folder):
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def training_step(self, batch, _index):
            return self.layer(batch).pow(2).mean()

        validation_step = training_step

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    callbacks = []
    if callback:
        from pfid.trainer.callbacks.lightning import lightning_steps

        callbacks = [lightning_steps(measure=lambda b: {"tokens": b.numel(), "width": b.shape[-1]})]
    module = Module()
    loader = torch.utils.data.DataLoader(Rows(), batch_size=1)
    pl.Trainer(
        max_epochs=1,
        accumulate_grad_batches=MICRO,
        accelerator="cpu",
        devices=1,
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        val_check_interval=20,
        limit_val_batches=2,
        num_sanity_val_steps=0,
        callbacks=callbacks,
    ).fit(module, loader, loader)
    return module


def accelerate(callback, _folder):
    from accelerate import Accelerator

    accelerator = Accelerator(gradient_accumulation_steps=MICRO, cpu=True)
    model = nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(Rows(), batch_size=1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    steps = None
    if callback:
        from pfid.trainer.callbacks.accelerate import AccelerateSteps

        steps = AccelerateSteps(accelerator)
    for batch in loader:
        if steps is not None:
            steps.begin()
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).pow(2).mean())
            optimizer.step()
            if steps is not None:
                steps.report(tokens=batch.numel(), real_tokens=6)
            optimizer.zero_grad()
    return model


def main():
    framework, folder, *how = sys.argv[1:]
    for callback in (False,) if "alone" in how else (False, True):
        torch.manual_seed(7)
        made = globals()[framework](callback, folder)
        total = sum(p.detach().double().abs().sum().item() for p in made.parameters())
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"] if COMPILED else 0
        sys.stdout.write(f"sum {total.hex()} {graphs}\n")
        if COMPILED:
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
    if torch.distributed.is_initialized():
        torch.distributed.barrier()  # gloo aborts a rank whose neighbour has left
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
