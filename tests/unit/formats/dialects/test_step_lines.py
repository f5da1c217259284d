"""Dialects whose lines end: each reads its literal line, and leaves its neighbours alone."""

import math

import pytest

from pfid.domain.step import StepClock
from pfid.formats.dialects import (
    composer,
    deepspeed,
    hf_dict,
    json_lines,
    megatron,
    nanogpt,
    torchtitan,
)
from pfid.formats.dialects.regex_dialect import RegexDialect
from pfid.formats.linear_regex import PatternError

_MEGATRON = (
    b" [2026-08-22 15:22:22.123456] iteration      120/  500000 | consumed samples: 122880 |"
    b" elapsed time per iteration (ms): 20533.4 | throughput per GPU (TFLOP/s/GPU): 612.3 |"
    b" learning rate: 2.400000E-05 | global batch size:  1024 | %b 3.210000E+00 |"
    b" number of skipped iterations:   %d | number of nan iterations:   0 |"
)


@pytest.mark.parametrize("key", [b"lm loss:", b"lm-loss:"])
def test_megatron_prints_milliseconds_under_two_spellings_of_the_loss(key: bytes) -> None:
    reading = megatron.read(_MEGATRON % (key, 0))
    assert reading is not None
    assert (reading.step, reading.total, reading.clock) == (120, 500_000, StepClock.PRINTED)
    assert reading.printed_s == pytest.approx(20.5334)
    assert (reading.loss, reading.skipped, reading.pauses_inside) == (3.21, 0, False)


def test_megatron_says_when_the_update_was_skipped() -> None:
    line = (
        b" iteration        1/    1000 | elapsed time per iteration (ms): 150891.7 | learning rate:"
        b" 0.000E+00 | loss scale: 4294967296.0 | number of skipped iterations:   1 |"
    )
    reading = megatron.read(b"0: " + line)
    assert reading is not None
    assert (reading.rank, reading.loss, reading.skipped) == (0, None, 1)


def test_megatrons_breakdown_is_not_a_step() -> None:
    assert megatron.read(b"time (ms) | forward-compute: 28697.63 | optimizer: 59.13") is None
    assert megatron.read(b"(min, max) time across ranks (ms): 3") is None


def test_torchtitan_has_stamps_and_colours_and_no_seconds() -> None:
    line = (
        b"[titan] 2026-08-21 10:11:12,345 - root - INFO - \x1b[31mstep: 1,310  \x1b[32mloss:"
        b"  3.91235  \x1b[38;2;180;60;0mgrad_norm:  0.5321  memory: 45.21GiB(57.08%)  tps: 7,321"
    )
    reading = torchtitan.read(b"[rank0]:" + line)
    assert reading is not None
    assert (reading.step, reading.loss, reading.rank) == (1310, 3.91235, 0)
    assert reading.clock is StepClock.STAMPED
    assert reading.clock_s is not None
    assert reading.clock_s % 1 == pytest.approx(0.345, abs=1e-3)
    assert torchtitan.read(b"INFO - step: preparing") is None


def test_deepspeeds_running_means_are_not_step_times() -> None:
    stamped = b"[2026-08-21 10:11:12,345] [INFO] [timer.py:264:stop] epoch=0/micro_step=80/"
    reading = deepspeed.read(
        stamped + b"global_step=10, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.1"
    )
    assert reading is not None
    assert (reading.step, reading.printed_s, reading.clock) == (10, None, StepClock.STAMPED)


def test_deepspeeds_other_two_lines_are_read() -> None:
    plain = deepspeed.read(b"step=20, skipped=1, lr=[1e-05], mom=[(0.9, 0.95)]")
    assert plain is not None
    assert (plain.step, plain.clock) == (20, StepClock.ARRIVAL)
    pipe = deepspeed.read(b"steps: 10 loss: 2.3012 iter time (s): 20.533 samples/sec: 12.3")
    assert pipe is not None
    assert (pipe.step, pipe.printed_s, pipe.loss) == (10, 20.533, 2.3012)
    assert deepspeed.read(b"iter time (s): 20.533") is None


def test_nanogpts_time_is_that_of_one_iteration() -> None:
    reading = nanogpt.read(b"iter 100: loss nan, time 345.12ms, mfu 31.20%")
    assert reading is not None
    assert (reading.step, reading.interval) == (100, 1)
    assert reading.printed_s == pytest.approx(0.34512)
    assert reading.loss is not None
    assert math.isnan(reading.loss)
    assert nanogpt.read(b"epoch 3: loss 3.2101") is None


def test_composer_gives_a_counter_and_no_time() -> None:
    reading = composer.read(b"[epoch=2/3][batch=10/100]:")
    assert reading is not None
    assert (reading.step, reading.clock_s, reading.clock) == (110, None, StepClock.ARRIVAL)


def test_the_trainers_dict_is_read_with_and_without_quoted_numbers() -> None:
    new = hf_dict.read(b"{'loss': '4.162', 'grad_norm': '0.6211', 'epoch': '0.4615'}")
    old = hf_dict.read(b"   {'loss': 4.162, 'learning_rate': 5e-05, 'epoch': 0.4615}")
    assert new is not None
    assert old is not None
    assert new.loss == old.loss == 4.162
    lost = hf_dict.read(b"{'loss': nan, 'epoch': 0.46}")
    assert lost is not None
    assert lost.loss is not None
    assert math.isnan(lost.loss)


def test_the_trainers_dict_says_when_an_evaluation_or_the_training_is_over() -> None:
    evaluated = hf_dict.read(b"{'eval_loss': '4.6', 'eval_runtime': '0.08', 'epoch': '0.5'}")
    over = hf_dict.read(b"{'train_runtime': '15.16', 'train_steps_per_second': '0.66'}")
    assert evaluated is not None
    assert evaluated.evaluated
    assert over is not None
    assert over.over
    assert hf_dict.read(b"args = {'loss': fn}") is None


def test_llama_factorys_days_are_read() -> None:
    line = (
        b'{"current_steps": 5000, "total_steps": 6566, "loss": 0.39, "lr": 1e-06,'
        b' "elapsed_time": "1 day, 0:08:23", "remaining_time": "0:00:49"}'
    )
    reading = json_lines.JsonLines(json_lines.PRESETS).read(line)
    assert reading is not None
    assert (reading.step, reading.total, reading.clock_s) == (5000, 6566, 86_903.0)
    assert (reading.key, reading.from_zero) == ("jsonl/llama_factory", True)


def test_json_lines_take_the_keys_they_are_told_and_the_preset_that_knows_most() -> None:
    presets = {**json_lines.PRESETS, "own": {"step": "n", "ms": "dt", "loss": "l"}}
    reading = json_lines.JsonLines(presets).read(b'{"n": 7, "dt": 250, "l": "NaN"}')
    assert reading is not None
    assert (reading.step, reading.printed_s, reading.interval) == (7, 0.25, 1)
    assert reading.loss is not None
    assert math.isnan(reading.loss)
    timed = json_lines.JsonLines(presets).read(
        b'{"step": 3, "step_time_ms": 12.5, "loss": Infinity}'
    )
    assert timed is not None
    assert (timed.key, timed.printed_s, timed.loss) == ("jsonl/step_time_ms", 0.0125, math.inf)


@pytest.mark.parametrize(
    "line",
    [
        b'{"step": true}',
        b'{"step": -1}',
        b'{"step": 1.5}',
        b'{"step": 1e300}',
        b'["step", 1]',
        b'{"step": 1',
        b'text before it all, far too much of it to be a prefix of a JSON line {"step": 1}',
        b'{"other": 1}',
        b"[" * 5000,
    ],
)
def test_what_is_no_step_in_json_is_none(line: bytes) -> None:
    assert json_lines.JsonLines(json_lines.PRESETS).read(line) is None


def test_a_dialect_from_configuration_reads_its_named_groups() -> None:
    dialect = RegexDialect("mine", r"^S(?P<step>\d+) .*t=(?P<elapsed>[\d:]+) l=(?P<loss>\S+)")
    reading = dialect.read(b"S12 x t=1:00:05 l=0.5")
    assert reading is not None
    assert (reading.step, reading.clock_s, reading.loss) == (12, 3605.0, 0.5)
    assert reading.clock is StepClock.COUNTER
    assert dialect.read(b"T12") is None


@pytest.mark.parametrize(
    ("groups", "clock", "seconds"),
    [
        (r"(?P<seconds>[\d.]+)", StepClock.PRINTED, 2.5),
        (r"(?P<ms>[\d.]+)", StepClock.PRINTED, 0.0025),
        (r"[\d.]+", StepClock.ARRIVAL, None),
    ],
)
def test_a_configured_dialect_names_its_clock(
    groups: str, clock: StepClock, seconds: float | None
) -> None:
    reading = RegexDialect("m", r"s=(?P<step>\d+) t=" + groups).read(b"s=3 t=2.5")
    assert reading is not None
    assert (reading.clock, reading.printed_s) == (clock, seconds)


@pytest.mark.parametrize(
    "pattern", [r"(?P<seconds>\d+)", r"(?P<step>\d+)(?P<stop>\d)", r"(?P<step>\d+)(", r"(?=x)"]
)
def test_a_pattern_that_cannot_be_used_is_refused_and_why(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"named group step|\("):
        RegexDialect("mine", pattern)


def test_a_hostile_pattern_takes_linear_time() -> None:
    dialect = RegexDialect("bomb", r"(?P<step>(a+)+)$")
    assert dialect.read(b"a" * 15_000 + b"b") is None


@pytest.mark.parametrize(
    ("line", "step", "clock", "seconds"),
    [
        (b"{'loss': '1.2', 'grad_norm': '0.6', 'epoch': '0.4', 'step': 10}", 10, "arrival", None),
        (b"{'step': 10, 'loss': 1.2}", 10, "arrival", None),
        (b"{'loss': 1.2, 'epoch': 0.4, 'global_step': '1,010'}", None, None, None),
        (b"{'loss': 1.2, 'epoch': 0.4, 'global_step': '1010'}", 1010, "arrival", None),
        (b"{'loss': 1.2, 'step': 10, 'elapsed': 33.5}", 10, "counter", 33.5),
        (b"{'loss': 1.2, 'step': 10, 'elapsed_time': '0:01:05'}", 10, "counter", 65.0),
        (b"{'loss': 1.2, 'step': 10, 'step_time': '0.25'}", 10, "printed", 0.25),
        (b"{'epoch': 0.4, 'iteration': 7}", 7, "arrival", None),
    ],
)
def test_a_dict_that_carries_its_step_is_a_step_line(line, step, clock, seconds) -> None:
    said = hf_dict.read(line)
    if step is None:
        assert said is None or said.reading is None
        return
    assert said is not None
    assert said.reading is not None
    assert (said.reading.step, said.reading.clock.value) == (step, clock)
    timed = said.reading.clock_s if clock == "counter" else said.reading.printed_s
    assert timed == seconds


@pytest.mark.parametrize(
    "line",
    [
        b"{'step': 10, 'shape': (1, 2)}",
        b"{'step': {'a': 1}, 'loss': 1}",
        b"{'loss': 1.2, 'step': -1}",
        b"{'loss': 1.2, 'step': 1e400}",
        b"{'loss': 1.2, 'step': 9999999999999999999999}",
        b"{'loss': 1.2, 'notes': 'step: 10'}",
        b"{'eval_loss': 1.2, 'step': 10}",
        b"{'train_runtime': 15.1, 'step': 10}",
    ],
)
def test_a_dict_that_is_about_no_step_is_none(line) -> None:
    said = hf_dict.read(line)
    assert said is None or said.reading is None


def test_the_last_dict_says_how_long_a_step_took_on_the_average() -> None:
    said = hf_dict.read(b"{'train_runtime': '15.16', 'train_steps_per_second': '0.5'}")
    assert said is not None
    assert said.step_s == 2.0
    nothing = hf_dict.read(b"{'train_runtime': '15.16', 'train_steps_per_second': '0.0'}")
    assert nothing is not None
    assert nothing.step_s is None
