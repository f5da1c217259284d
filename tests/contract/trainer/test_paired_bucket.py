"""The sampler in torch's DataLoader, in Trainer and Lightning, and dealt out by accelerate."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.torch]

COMMON = """
import random, sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.data import DataLoader
from pfid.trainer import PairedBucketSampler
rng = random.Random(1)
LENGTHS = [min(900, int(rng.lognormvariate(5, 1)) + 1) for _ in range(1_001)]
SEEN = []

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return len(LENGTHS)
    def __getitem__(self, i):
        return i

def collate(indices):
    SEEN.append(list(indices))
    x = torch.tensor(indices, dtype=torch.float32)[:, None]
    return {"x": x, "labels": x}

def whole(epochs=1, batch=2, **more):
    return [b for e in range(epochs) for b in epoch(e, batch, **more)]

def epoch(number, batch=2, **more):
    sampler = PairedBucketSampler(LENGTHS, batch, **more)
    sampler.set_epoch(number)
    return list(sampler)
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", COMMON + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.splitlines()[-1] == "as promised", done.stdout


def test_a_data_loader_yields_its_batches_with_and_without_workers():
    run("""
for workers in (0, 2):
    loader = DataLoader(
        Data(), batch_sampler=PairedBucketSampler(LENGTHS, 2), collate_fn=list, num_workers=workers
    )
    assert len(loader) == 501
    assert [list(loader), list(loader)] == [epoch(0), epoch(1)]
print("as promised")
""")


def test_what_workers_fetched_ahead_is_trained_on_after_a_resume():
    run("""
sampler = PairedBucketSampler(LENGTHS, 2)
loader = DataLoader(Data(), batch_sampler=sampler, collate_fn=list, num_workers=2)
trained, batches = [], iter(loader)
for _ in range(100):
    trained.append(next(batches))
state = sampler.state_dict(done=100)
assert sampler.state_dict()["done"] > 100
second = PairedBucketSampler(LENGTHS, 2)
second.load_state_dict(state)
rest = list(DataLoader(Data(), batch_sampler=second, collate_fn=list, num_workers=2))
assert trained + rest == epoch(0)
print("as promised")
""")


def test_trainer_trains_on_its_batches_epoch_after_epoch():
    run("""
import tempfile
from transformers import Trainer, TrainingArguments

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def forward(self, x, labels):
        USED.append([int(i) for i in x[:, 0]])
        return {"loss": (self.layer(x) * 0).mean()}

USED = []
class Mine(Trainer):
    def get_train_dataloader(self):
        sampler = PairedBucketSampler(LENGTHS, 2)
        loader = DataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=collate)
        return self.accelerator.prepare(loader)

with tempfile.TemporaryDirectory() as folder:
    asked = TrainingArguments(
        folder, num_train_epochs=2, gradient_accumulation_steps=8, use_cpu=True, report_to=[],
        save_strategy="no", logging_strategy="no", disable_tqdm=True, per_device_train_batch_size=2,
    )
    trainer = Mine(Model(), asked, train_dataset=Data())
    trainer.train()
assert trainer.state.global_step == 2 * -(-501 // 8)
assert USED == whole(2)
print("as promised")
""")


def test_lightning_trains_on_its_batches_and_says_which_epoch_it_is():
    run("""
import logging
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning

USED = []
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def training_step(self, batch, _):
        USED.append([int(i) for i in batch["x"][:, 0]])
        return (self.layer(batch["x"]) * 0).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def train(**more):
    USED.clear()
    loader = DataLoader(Data(), batch_sampler=PairedBucketSampler(LENGTHS, 2), collate_fn=collate)
    lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False, **more
    ).fit(Model(), loader)

train(max_epochs=2)
assert USED == whole(2)
train(max_epochs=2, limit_train_batches=10)
assert USED == epoch(0)[:10] + epoch(1)[:10]  # cut short, and yet another order each epoch
print("as promised")
""")


def test_accelerate_deals_every_batch_out_and_loses_no_record():
    run("""
from accelerate.data_loader import BatchSamplerShard

def share(rank, world):
    return list(BatchSamplerShard(PairedBucketSampler(LENGTHS, 2), world, rank))

for world in (2, 3):
    shares = [share(rank, world) for rank in range(world)]
    assert len({len(one) for one in shares}) == 1
    seen = [i for one in shares for batch in one for i in batch]
    assert set(seen) == set(range(len(LENGTHS)))
    assert len(seen) - len(LENGTHS) < 2 * world
print("as promised")
""")


def test_beside_transformers_length_grouping_it_pads_less_and_mixes_as_well():
    run("""
from transformers.trainer_pt_utils import LengthGroupedSampler

def waste(batches):
    padded = sum(len(b) * max(LENGTHS[i] for i in b) for b in batches)
    return 1 - sum(LENGTHS) / padded

def roots(batches, window=8):
    source = [min(n // 60, 6) for n in LENGTHS]  # its length tells a record's source
    parts = [batches[i : i + window] for i in range(0, len(batches) - window + 1, window)]
    return sum(len({source[i] for b in part for i in b}) for part in parts) / len(parts)

for batch in (2, 8):
    torch.manual_seed(0)
    order = list(LengthGroupedSampler(batch, lengths=LENGTHS))
    theirs = [order[i : i + batch] for i in range(0, len(order), batch)]
    ours = epoch(0, batch)
    assert waste(ours) < waste(theirs) / 2, (waste(ours), waste(theirs))
    assert roots(ours) > roots(theirs)
print("as promised")
""")
