"""Are steps counted as the framework counts them, in each of its versions?"""

import json
import os
import subprocess
import sys

import pytest

from pfid.trainer.step_arithmetic import optimizer_steps, warmup_steps_from_ratio

NEW, OLD = "5.24.0", "4.51.3"


def test_the_count_that_a_real_run_printed():
    assert optimizer_steps(20_982, 2, 8, version=NEW) == 1_312
    assert 20_982 // (2 * 8) == 1_311


@pytest.mark.parametrize(
    ("records", "batch", "accumulation", "more", "new", "old"),
    [
        (25, 2, 3, {"epochs": 2}, 10, 8),
        (20_982, 2, 8, {}, 1_312, 1_311),
        (7, 2, 1, {}, 4, 4),
        (7, 2, 1, {"drop_last": True}, 3, 3),
        (1, 8, 8, {}, 1, 1),
        (1, 8, 8, {"drop_last": True}, 1, 1),
        (100, 4, 2, {"world": 4}, 4, 3),
        (100, 4, 2, {"world": 4, "drop_last": True}, 3, 3),
        (100, 4, 1, {"epochs": 0.5}, 13, 13),
        (10, 1, 4, {"epochs": 2.5}, 8, 5),
    ],
)
def test_every_rounding_is_the_frameworks(records, batch, accumulation, more, new, old):
    assert optimizer_steps(records, batch, accumulation, version=NEW, **more) == new
    assert optimizer_steps(records, batch, accumulation, version=OLD, **more) == old


@pytest.mark.parametrize(("version", "steps"), [("4.51.3", 1), ("4.52.0", 2), ("5.0.0.dev0", 2)])
def test_the_short_last_window_counts_since_4_52(version, steps):
    assert optimizer_steps(3, 1, 2, version=version) == steps


def test_the_installed_version_is_asked(monkeypatch):
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda _: OLD)
    assert optimizer_steps(3, 1, 2) == 1

    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", none)
    assert optimizer_steps(3, 1, 2) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": 0},
        {"batch": 0},
        {"accumulation": -1},
        {"world": 0},
        {"batch": 2.0},
        {"batch": True},
        {"epochs": 0},
        {"epochs": float("inf")},
        {"epochs": float("nan")},
        {"version": "newest"},
        {"version": "5"},
    ],
)
def test_nonsense_is_refused(wrong):
    given = {"records": 10, "batch": 1, "accumulation": 1, **wrong}
    with pytest.raises(ValueError, match=r"must be|no version"):
        optimizer_steps(**given)


@pytest.mark.parametrize(
    ("ratio", "total", "steps"),
    [(0.03, 1_312, 40), (0.0, 1_312, 0), (1.0, 1_312, 1_312), (0.1, 0, 0), (0.001, 10, 1)],
)
def test_a_ratio_becomes_steps_rounded_up(ratio, total, steps):
    assert warmup_steps_from_ratio(ratio, total) == steps


@pytest.mark.parametrize(("ratio", "total"), [(-0.1, 10), (1.1, 10), (float("nan"), 10), (0.1, -1)])
def test_what_is_no_ratio_is_refused(ratio, total):
    with pytest.raises(ValueError, match=r"ratio|steps"):
        warmup_steps_from_ratio(ratio, total)


@pytest.mark.full
@pytest.mark.torch
def test_the_installed_trainer_counts_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    class Rows(torch.utils.data.Dataset):
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

        def __getitem__(self, index):
            return {"x": torch.tensor(float(index))}

    for n, batch, accumulation, epochs, drop in (
        (20_982, 2, 8, 1, False),
        (25, 2, 3, 2, False),
        (25, 2, 3, 2, True),
        (7, 8, 8, 3, False),
        (10, 1, 4, 2.5, False),
    ):
        args = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            num_train_epochs=epochs,
            dataloader_drop_last=drop,
            use_cpu=True,
            report_to=[],
        )
        trainer = transformers.Trainer(torch.nn.Linear(1, 1), args, train_dataset=Rows(n))
        counted = trainer.set_initial_training_values(args, trainer.get_train_dataloader())
        ours = optimizer_steps(n, batch, accumulation, epochs=epochs, drop_last=drop)
        assert counted[-1] == ours
        ratio = transformers.TrainingArguments(output_dir=str(tmp_path), warmup_steps=0.03)
        assert ratio.get_warmup_steps(ours) == warmup_steps_from_ratio(0.03, ours)


RANK = """
import json, os, sys
import torch, transformers

class Rows(torch.utils.data.Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, index): return {"input_ids": torch.tensor([index % 8]), "labels": 0}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Embedding(8, 1)
    def forward(self, input_ids, labels): return {"loss": self.layer(input_ids).mean()}

came = []
for n, batch, accumulation, epochs, drop, trains in json.loads(sys.argv[1]):
    args = transformers.TrainingArguments(
        output_dir=sys.argv[2], per_device_train_batch_size=batch, num_train_epochs=epochs,
        gradient_accumulation_steps=accumulation, dataloader_drop_last=drop, use_cpu=True,
        report_to=[], save_strategy="no", disable_tqdm=True,
    )
    trainer = transformers.Trainer(Model(), args, train_dataset=Rows(n))
    if trains:
        trainer.train()
        came.append([trainer.state.max_steps, trainer.state.global_step])
    else:
        loader = trainer.get_train_dataloader()
        came.append([trainer.set_initial_training_values(args, loader)[-1]])
with open(os.path.join(sys.argv[2], os.environ["RANK"] + ".json"), "w") as file:
    json.dump([int(os.environ["WORLD_SIZE"]), came], file)
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


@pytest.mark.full
@pytest.mark.torch
def test_the_installed_trainer_counts_the_same_in_each_of_two_ranks(tmp_path):
    cases = [
        (20_982, 2, 8, 1, False, False),
        (25, 2, 3, 2, False, True),
        (25, 2, 3, 2, True, True),
        (26, 2, 3, 1, False, False),
        (7, 8, 8, 3, False, False),
        (10, 1, 4, 2.5, False, False),
    ]
    (tmp_path / "rank.py").write_text(RANK)
    launched = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "rank.py"]
    done = subprocess.run(
        [sys.executable, *launched, json.dumps(cases), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ours = [
        [optimizer_steps(n, batch, accumulation, epochs=epochs, world=2, drop_last=drop)]
        * (2 if trains else 1)
        for n, batch, accumulation, epochs, drop, trains in cases
    ]
    for rank in "01":
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == [2, ours]
