"""Bars: the counter and the elapsed whole seconds are facts, the rate is not."""

import re

import pytest

from pfid.formats.dialects import bar as bar_module
from pfid.formats.dialects import lightning, tqdm
from pfid.formats.dialects.bar import read_bar
from pfid.formats.dialects.tqdm import BarRole


def test_a_bar_with_a_total_is_read_whole() -> None:
    bar = read_bar("\r 20%|██        | 2/10 [00:03<00:13,  1.65s/it]".strip().encode())
    assert bar is not None
    assert (bar.n, bar.total, bar.elapsed_s, bar.rate_s, bar.unit) == (2, 10, 3.0, 1.65, "it")
    assert (bar.description, bar.postfix, bar.nested, bar.rank) == ("", "", False, None)


def test_the_rate_is_turned_round_where_the_bar_flips_to_steps_a_second() -> None:
    bar = read_bar(b" 20%|## | 2/10 [00:04<08:53,  4.00it/s]")
    assert bar is not None
    assert bar.rate_s == pytest.approx(0.25)


def test_a_bar_prints_no_days() -> None:
    bar = read_bar(b" 15%|# | 2000/13000 [27:46:40<149:48:28, 50.00s/it]")
    assert bar is not None
    assert bar.elapsed_s == 100_000


def test_a_bar_that_has_done_nothing_has_no_rate() -> None:
    bar = read_bar(b"  0%|          | 0/10 [00:00<?, ?it/s]")
    assert bar is not None
    assert (bar.n, bar.rate_s) == (0, None)


def test_a_bar_without_a_total_is_read() -> None:
    bar = read_bar(b"1200it [12:46:40, 38.33s/it]")
    assert bar is not None
    assert (bar.n, bar.total, bar.elapsed_s) == (1200, None, 46_000)


def test_a_rate_in_thousands_is_not_taken_and_a_counter_in_thousands_is_no_counter() -> None:
    bar = read_bar(b" 10%|# | 9000/90000 [00:07<01:00, 1.2kit/s]")
    assert bar is not None
    assert bar.rate_s is None
    assert read_bar(b" 10%|# | 9.00k/90.0k [00:07<01:00, 1.2kit/s]") is None


@pytest.mark.parametrize(
    "line",
    [
        " 20%|██▎       | 2/10 [00:03<00:13,  1.65s/it]",
        "100%|██████████| 16/16 [15:19<00:00, 55.00s/it]",
        "  1%|          | 10/1312 [27:46:40<149:48:28, 3.00it/s]",
        "  0%|          | 1/10 [00:00<?, 0.00it/s]",
    ],
)
def test_the_short_way_and_the_long_way_give_the_same_bar(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = read_bar(line.encode())
    monkeypatch.setattr(bar_module, "_PLAIN", re.compile(rb"(?!)"))
    assert short is not None
    assert read_bar(line.encode()) == short


def test_text_glued_behind_a_bar_and_a_postfix_do_not_disturb_it() -> None:
    glued = b" 50%|## | 5/10 [00:09<00:05, 1.49s/it, loss=2.31][transformers] Saving model [1:2"
    bar = read_bar(glued)
    assert bar is not None
    assert (bar.n, bar.postfix) == (5, "loss=2.31")


@pytest.mark.parametrize(
    ("label", "rank"),
    [(b"[rank3]: ", 3), (b"3: ", 3), (b"[default3]:", 3), (b"[1,3]<stderr>:", 3), (b"", None)],
)
def test_a_launchers_label_gives_the_rank(label: bytes, rank: int | None) -> None:
    bar = read_bar(label + b" 50%|## | 5/10 [00:09<00:05, 1.49s/it]")
    assert bar is not None
    assert (bar.rank, bar.description) == (rank, "")


def test_colour_does_not_hide_a_bar() -> None:
    bar = read_bar(b"\x1b[32m 50%|## |\x1b[0m 5/10 [00:09<00:05, 1.49s/it]\x1b[0m")
    assert bar is not None
    assert bar.n == 5


@pytest.mark.parametrize(
    ("line", "role"),
    [
        (b" 50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.STEPS),
        (b" 50%|# | 5/10 [00:09<00:05, 1.49s/it]\x1b[A", BarRole.EVALUATION),
        (b"Steps:  50%|# | 5/10 [00:09<00:05, 1.49s/it, lr=1e-4]", BarRole.STEPS),
        (b"Training:  50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.STEPS),
        (b"my run 7:  50%|# | 5/10 [00:09<00:05, 1.49s/it, loss=1]", BarRole.STEPS),
        (b"worker-1:  50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.STEPS),
        (b"Map (num_proc=8):  50%|# | 5/10 [00:09<00:05, 2500.11 examples/s]", BarRole.OTHER),
        (b"Map:  50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.OTHER),
        (b"Loading checkpoint shards:  50%|# | 2/4 [00:09<00:05, 1.49s/it]", BarRole.OTHER),
        (b"model.safetensors:  50%|# | 5/10 [00:09<00:05, 100MB/s]", BarRole.OTHER),
        (b"Something else:  50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.OTHER),
        (b"Epoch:  50%|# | 1/2 [00:09<00:05, 9.49s/it]", BarRole.OTHER),
        (b"Evaluating:  50%|# | 5/10 [00:09<00:05, 1.49s/it]", BarRole.EVALUATION),
        (b"Validation DataLoader 0:  50%|# | 5/10 [00:09<00:05, 1.49it/s]", BarRole.EVALUATION),
        (b"Skipping the first batches:  5%|# | 5/10 [00:09<00:05, 1.49it/s]", BarRole.RESUME_SKIP),
    ],
)
def test_only_a_training_bar_counts_steps(line: bytes, role: BarRole) -> None:
    bar = read_bar(line)
    assert bar is not None
    assert tqdm.role_of(bar) is role


def test_bars_are_told_apart_by_total_and_description() -> None:
    keys = set()
    for line in (
        b" 50%|# | 5/10 [00:09<00:05, 1.49s/it]",
        b" 50%|# | 5/11 [00:09<00:05, 1.49s/it]",
        b"Training:  50%|# | 5/10 [00:09<00:05, 1.49s/it]",
    ):
        bar = read_bar(line)
        assert bar is not None
        keys.add(tqdm.read(bar).key)
    assert len(keys) == 3


def test_an_epoch_bar_counts_on_over_the_epochs() -> None:
    bar = read_bar(b"Epoch 2/3:  50%|# | 5/10 [00:09<00:05, 1.49s/it]")
    assert bar is not None
    assert (tqdm.read(bar).step, tqdm.read(bar).lap) == (15, 1)


def test_lightning_counts_over_epochs_and_its_rounded_rate_is_not_used() -> None:
    bar = read_bar(
        "Epoch 1:   1%|▏ | 10/1312 [05:52<12:43:50,  0.00it/s, v_num=3, train_loss=2.310]".encode()
    )
    assert bar is not None
    reading = lightning.read(bar)
    assert reading is not None
    assert (reading.step, reading.lap, reading.clock_s, reading.rate_s) == (1322, 1, 352.0, None)
    assert reading.loss == 2.31


def test_another_bar_is_not_lightnings() -> None:
    bar = read_bar(b"Epoch 2/3:  50%|# | 5/10 [00:09<00:05, 1.49s/it]")
    assert bar is not None
    assert lightning.read(bar) is None
