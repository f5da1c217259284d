"""A whole log in: segments, steps and facts out."""

import math
import random
from collections.abc import Iterable

import msgspec
import pytest

from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.formats.candidates import MAX_LINE_BYTES
from pfid.formats.log_stream import LogParser
from pfid.spec.ports.log import Marker

Point = tuple[int, float]


def clock(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes:02d}:{whole % 60:02d}"


def bar(n: int, elapsed: float, total: int = 100, rate: str = "20.00s/it", desc: str = "") -> str:
    return f"\r{desc} {n}%|##  | {n}/{total} [{clock(elapsed)}<1:00:00, {rate}]"


def jsonl(step: int, elapsed: float, loss: float = 0.5) -> str:
    return (
        f'{{"current_steps": {step}, "total_steps": 9000, "loss": {loss},'
        f' "elapsed_time": "{int(elapsed) // 3600}:{int(elapsed) // 60 % 60:02d}'
        f':{int(elapsed) % 60:02d}"}}\n'
    )


def nano(step: int, ms: float, loss: str = "3.2") -> str:
    return f"iter {step}: loss {loss}, time {ms:.2f}ms, mfu 31.20%\n"


def read(*texts: str) -> tuple[list[StepEvent], LogParser]:
    parser = LogParser()
    events = parser.feed("".join(texts).encode()) + parser.finish()
    return events, parser


def times(events: Iterable[StepEvent]) -> list[tuple[int, float | None, int]]:
    return [(event.index, event.seconds, event.interval_steps) for event in events]


def test_a_bars_steps_come_from_counter_and_elapsed_never_from_the_rate() -> None:
    events, parser = read(
        bar(0, 0, rate="?it/s"), bar(1, 45, rate="2566.00it/s"), bar(2, 66), bar(3, 85)
    )
    assert times(events) == [(1, 45, 1), (2, 21, 1), (3, 19, 1)]
    assert {event.clock for event in events} == {StepClock.COUNTER}
    assert parser.facts().dialects == ("tqdm",)


def test_a_redraw_of_the_same_step_is_no_step() -> None:
    events, _ = read(bar(0, 0), bar(1, 45), bar(1, 46), bar(1, 47), bar(2, 66), bar(2, 66))
    assert times(events) == [(1, 45, 1), (2, 21, 1)]


def test_the_first_difference_after_a_resume_jump_is_dropped() -> None:
    events, _ = read(bar(0, 0), bar(5, 1, rate="7.80it/s"), bar(6, 21), bar(7, 41))
    assert times(events) == [(5, None, 5), (6, 20, 1), (7, 20, 1)]


def test_a_jump_in_the_middle_is_dropped_too() -> None:
    events, _ = read(bar(0, 0), bar(1, 20), bar(2, 40), bar(30, 41), bar(31, 61))
    assert times(events)[2:] == [(30, None, 28), (31, 20, 1)]


def test_steps_too_short_for_whole_seconds_become_intervals() -> None:
    events, _ = read(bar(0, 0), *[bar(n, n * 0.5) for n in range(1, 21)])
    assert all(event.interval_steps > 1 for event in events)
    assert all(
        event.seconds is not None and event.seconds / event.interval_steps == 0.5
        for event in events[1:]
    )


def test_copies_of_one_bar_by_ranks_in_turn_are_counted_once() -> None:
    lines = [bar(n, n * 57 + rank % 2) for n in range(17) for rank in range(4)]
    events, parser = read(*lines)
    assert [event.index for event in events] == list(range(1, 17))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


def test_whole_copies_of_one_bar_one_after_another_are_counted_once() -> None:
    whole = [bar(n, n * 57, 16, f"{57 + n / 100:.2f}s/it") for n in range(1, 17)]
    block = "".join([bar(0, 0, 16, "?it/s"), *whole, "\ndone\n"])
    events, parser = read(block * 4)
    assert [event.index for event in events] == list(range(1, 17))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


def test_the_next_epochs_bar_goes_on_counting() -> None:
    first = [bar(n, n * 20, 5, f"{20 + n / 9:.2f}s/it") for n in range(6)]
    second = [bar(n, n * 23, 5, f"{23 + n / 7:.2f}s/it") for n in range(6)]
    events, parser = read(*first, *second)
    assert [event.index for event in events] == list(range(1, 11))
    assert {event.seconds for event in events[5:]} == {23}
    assert parser.facts().rewinds == 0


def test_a_relaunch_after_a_traceback_is_a_second_attempt_even_if_it_runs_alike() -> None:
    run = "".join(bar(n, n * 20, rate="20.00s/it") for n in range(6))
    events, parser = read(run, "\nTraceback (most recent call last):\n", run)
    assert [event.index for event in events] == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    assert parser.facts().rewinds == 1
    assert len({event.writer for event in events}) == 2


def test_evaluation_and_data_bars_are_no_steps_and_mark_the_gap() -> None:
    events, parser = read(
        "Map: 50%|# | 5/10 [00:05<00:05, 1.00 examples/s]\n",
        bar(0, 0),
        bar(1, 20),
        bar(2, 40),
        "\n  0%| | 0/8 [00:00<?, ?it/s]\x1b[A\n 50%|# | 4/8 [00:30<00:30, 7.00s/it]\x1b[A\n",
        "{'eval_loss': '4.6', 'epoch': '0.5'}\n",
        bar(3, 120),
        bar(4, 140),
    )
    assert [event.index for event in events] == [1, 2, 3, 4]
    assert [event.phase for event in events] == [Phase.TRAIN, Phase.TRAIN, Phase.EVAL, Phase.TRAIN]
    assert parser.other_bars() == ("Map",)


def test_a_nameless_evaluation_bar_on_its_own_line_is_known_by_the_figures_behind_it() -> None:
    events, parser = read(
        bar(0, 0), bar(1, 20), "\n", bar(0, 0, 8), bar(4, 9, 8), bar(8, 18, 8),
        "\n{'eval_loss': 4.6, 'epoch': 0.5}\n", bar(2, 60), "\n",
        bar(0, 0, 8), bar(4, 9, 8), bar(8, 18, 8), "\n{'eval_loss': 4.5, 'epoch': 1}\n",
    )  # fmt: skip
    assert [series.key for series in parser.series()] == ["tqdm/100"]
    assert [event.index for event in events if event.writer == "tqdm/100"] == [1, 2]


def test_lightnings_epochs_run_on_and_a_step_of_400_s_is_400_s() -> None:
    def line(epoch: int, n: int, elapsed: float) -> str:
        return f"\rEpoch {epoch}:  1%|# | {n}/3 [{clock(elapsed)}<1:00:00,  0.00it/s, v_num=3]"

    events, parser = read(
        *[line(epoch, n, 400 * n) for epoch in range(2) for n in range(4)],
        "\rValidation DataLoader 0: 50%|# | 1/2 [00:01<00:01, 1.00it/s]",
    )
    assert [event.index for event in events] == [1, 2, 3, 4, 5, 6]
    assert {event.seconds for event in events} == {400}
    assert parser.facts().rewinds == 0


def test_torchtitans_times_are_differences_of_stamps_over_its_logging_interval() -> None:
    lines = [
        f"[titan] 2026-08-21 10:{m:02d}:00,500 - root - INFO - step: {s:2d}  loss:  3.9  tps: 7\n"
        for m, s in ((0, 1), (3, 10), (6, 20))
    ]
    events, _ = read(*lines)
    assert times(events) == [(1, None, 1), (10, 180.0, 9), (20, 180.0, 10)]
    assert events[1].clock is StepClock.STAMPED


def test_a_mean_over_an_interval_is_an_interval() -> None:
    lines = [
        f" iteration {n}/ 1000 | elapsed time per iteration (ms): 2000.0 | lm loss: 1.0E+00 |\n"
        for n in (10, 20, 30)
    ]
    events, _ = read(*lines)
    assert times(events) == [(10, 20.0, 10), (20, 20.0, 10), (30, 20.0, 10)]


def test_one_iteration_printed_every_ten_is_a_single_step() -> None:
    events, _ = read(nano(0, 50_000), nano(10, 345), nano(20, 346))
    assert times(events) == [(0, 50.0, 1), (10, 0.345, 1), (20, 0.346, 1)]


def test_two_writers_with_clocks_of_their_own_are_two_series() -> None:
    lines = []
    for n in range(1, 60):
        lines.append((n * 150.0, jsonl(n * 10, n * 150)))
        lines.append((n * 153.0 + 1, jsonl(n * 10, n * 153 + 1)))
    events, parser = read(*[text for _, text in sorted(lines)])
    assert parser.facts().writers == 2
    assert parser.facts().rewinds == 0
    first, second = ([e for e in events if e.writer.endswith(end)] for end in ("factory", "#2"))
    assert {event.seconds for event in first} == {150}
    assert {event.seconds for event in second} == {153}


def test_two_writers_that_jitter_and_save_are_never_taken_for_a_third() -> None:
    lines = []
    for seed, pace in ((1, 150.0), (2, 151.0)):
        chance, now = random.Random(seed), 0.0
        for n in range(1, 400):
            now += pace + chance.uniform(-8, 8) + (70 if n % 100 == 0 else 0)
            now -= 40 if n % 100 == 1 else 0
            lines.append((now, jsonl(n * 10, now)))
    _, parser = read(*[text for _, text in sorted(lines)])
    assert (parser.facts().writers, parser.facts().rewinds) == (2, 0)
    assert len(parser.series()) == 2


@pytest.mark.parametrize("seed", [23, 147, 156, 173])
def test_two_writers_stay_apart_over_saves_that_make_one_late_and_one_early(seed: int) -> None:
    chance, lines = random.Random(seed), []
    for ahead, begin_s in ((1, 0.0), (0, 13.0)):
        now_s = begin_s
        for n in range(1, 120):
            now_s += 152 - ahead + chance.uniform(-12, 12)
            now_s += chance.uniform(20, 90) if n % 20 == 0 else 0
            now_s -= chance.uniform(0, 60) if n % 20 == 19 else 0
            now_s += chance.uniform(-40, 40) if n % 20 == 1 else 0
            lines.append((now_s, jsonl((n + ahead) * 10, now_s)))
    _, parser = read(*[text for _, text in sorted(lines)])
    assert (parser.facts().writers, len(parser.series())) == (2, 2)


def test_a_late_last_line_of_the_attempt_before_does_not_make_a_second_writer() -> None:
    old = [jsonl(n * 10, n * 150) for n in range(1, 20)]
    new = [jsonl(100 + n * 10, n * 150 + 8) for n in range(1, 20)]
    _, parser = read(*old[:-1], *new[:3], old[-1], *new[3:])
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


def test_live_the_next_epochs_bar_counts_even_if_it_is_as_long_to_the_second() -> None:
    parser, events = LogParser(), []
    for turn in range(12):
        n = turn % 6
        events += parser.feed(bar(n, n * 20, 5).encode(), 1000.0 + turn * 20)
    assert [event.index for event in events] == list(range(1, 11))


def test_ranks_in_step_that_print_the_same_lines_are_one_writer() -> None:
    lines = [jsonl(n * 10, n * 150 + rank % 2) for n in range(1, 60) for rank in range(4)]
    events, parser = read(*lines)
    assert len(events) == 59
    assert parser.facts().writers == 1


def test_a_counter_that_goes_back_is_a_rewind_and_with_a_resume_line_a_resume() -> None:
    before = [jsonl(n * 10, n * 150) for n in range(1, 20)]
    after = [jsonl(100 + n * 10, n * 150 + 8) for n in range(1, 20)]
    events, parser = read(*before, *after)
    assert (parser.facts().rewinds, parser.facts().resumes) == (1, 0)
    assert all(event.seconds is not None and event.seconds > 0 for event in events)
    _, parser = read(*before, "Resuming training from checkpoint /x/100\n", *after)
    assert (parser.facts().rewinds, parser.facts().resumes) == (0, 1)


def test_a_rewind_of_lines_without_a_running_clock_is_seen_too() -> None:
    _, parser = read(*[nano(n, 300 + n) for n in range(30)], *[nano(n, 400 + n) for n in range(9)])
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


def test_losses_are_kept_as_printed() -> None:
    _, parser = read(nano(1, 300, "nan"), nano(2, 300, "inf"), bar(0, 0), bar(7, 3), "\n",
                     "{'loss': '0.0', 'epoch': '1'}\n")  # fmt: skip
    losses = parser.facts().losses
    assert math.isnan(losses[0].value)
    assert [(loss.index, loss.value) for loss in losses[1:]] == [(2, math.inf), (7, 0.0)]


def test_skipped_iterations_are_counted() -> None:
    lines = [
        f" iteration {n}/ 1000 | elapsed time per iteration (ms): 2000.0 |"
        " number of skipped iterations:   1 |\n"
        for n in (1, 2, 3)
    ]
    _, parser = read(*lines)
    assert parser.facts().markers[Marker.SKIPPED_STEP].count == 3


def test_phases_follow_what_the_log_says() -> None:
    parser = LogParser()
    assert parser.phase() is None
    for text, phase in (
        ("***** Running Evaluation *****\n", Phase.EVAL),
        (nano(1, 300), Phase.TRAIN),
        ("saving checkpoint to out\n", Phase.SAVE),
        ("  Fast-forwarding the dataloader past 0 epochs and 12 batches\n", Phase.RESUME_SKIP),
        ("Compiling each TransformerBlock with torch.compile\n", Phase.COMPILE),
    ):
        parser.feed(text.encode())
        assert parser.phase() is phase


def test_an_evaluation_does_not_colour_the_times_of_a_timer_that_was_stopped() -> None:
    line = " iteration {}/ 9 | elapsed time per iteration (ms): 2000.0 |\n"
    events, _ = read(
        line.format(1), " validation loss at iteration 1 | lm loss value: 3 |\n", line.format(2)
    )
    assert events[1].phase is Phase.TRAIN


def test_nul_bytes_of_copytruncate_are_counted_and_the_line_behind_them_is_read() -> None:
    parser = LogParser()
    events = parser.feed(b"\0" * 3_000_000) + parser.feed(b"\0\0" + nano(7, 300).encode())
    assert times(events) == [(7, 0.3, 1)]
    assert parser.facts().nul_prefix_bytes == 3_000_002


def test_a_truncation_begins_afresh() -> None:
    parser = LogParser()
    parser.feed(b"iter 5: loss 1.0, ti")
    parser.truncated()
    events = parser.feed(b"\0\0" + nano(6, 300).encode())
    facts = parser.facts()
    assert times(events) == [(6, 0.3, 1)]
    assert (facts.truncations, facts.nul_prefix_bytes) == (1, 2)


def test_a_line_of_megabytes_costs_no_memory_and_hides_nothing_behind_it() -> None:
    parser = LogParser()
    for _ in range(64):
        assert parser.feed(b"x: loss 1 " * 10_000) == []
        assert len(parser.state()["tail"]) <= MAX_LINE_BYTES
    assert times(parser.feed(b"\n" + nano(1, 300).encode())) == [(1, 0.3, 1)]
    whole, _ = read("x: loss 1 " * 100_000, "\n", nano(1, 300))
    assert times(whole) == [(1, 0.3, 1)]


def test_what_stood_before_the_run_is_only_counted() -> None:
    assert LogParser(size_at_start=78).facts().bytes_before_run == 78


def test_live_a_bar_is_seen_before_it_is_drawn_again() -> None:
    parser = LogParser()
    parser.feed(bar(0, 0).encode(), 100.0)
    events = parser.feed(bar(1, 20).encode(), 120.2)
    assert times(events) == [(1, pytest.approx(20.2), 1)]
    assert events[0].clock is StepClock.ARRIVAL
    assert parser.feed(bar(1, 21).encode(), 121.0) == []


def test_live_the_bars_own_clock_wins_where_arrival_disagrees() -> None:
    parser = LogParser()
    for n in range(3):
        parser.feed(bar(n, n * 20).encode(), 100.0 + n * 20)
    events = parser.feed(bar(3, 60).encode(), 400.0)
    assert [(event.seconds, event.clock) for event in events] == [(20.0, StepClock.COUNTER)]


def test_live_lines_without_a_time_are_timed_by_arrival() -> None:
    parser = LogParser()
    lines = [f"[epoch=1][batch={n}/100]:\n".encode() for n in range(1, 4)]
    assert parser.feed(lines[0], 10.0)[0].seconds is None
    event = parser.feed(lines[1], 12.5)[0]
    assert (event.seconds, event.clock) == (2.5, StepClock.ARRIVAL)
    assert parser.feed(lines[2], 12.5) == [], "no time has passed: wait"


def test_a_configured_dialect_works_beside_the_others_in_the_order_of_lines() -> None:
    parser = LogParser(regex_dialects={"own": r"^own (?P<step>\d+) (?P<seconds>[\d.]+)$"})
    text = "own 1 2.0\r" + nano(1, 300) + "xown 9 2.0\nown 2 2.5\n"
    events = parser.feed(text.encode())
    assert [(e.writer, e.index) for e in events] == [
        ("regex/own", 1), ("nanogpt#2", 1), ("regex/own", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pattern", [r"^S(?P<step>\d+)$", r"(?:^S|^T)(?P<step>\d+)", r"S(?P<step>\d+)"]
)
def test_a_configured_pattern_finds_every_line_with_and_without_an_anchor(pattern: str) -> None:
    parser = LogParser(regex_dialects={"own": pattern})
    events = parser.feed(b"S1\rS2\n\nS3\r\nS4\nS5\rS6") + parser.finish()
    assert [event.index for event in events] == [1, 2, 3, 4, 5, 6]


def test_json_keys_from_configuration_are_found() -> None:
    parser = LogParser(jsonl_keys={"own": {"step": "n", "seconds": "dt"}})
    assert times(parser.feed(b'{"n": 4, "dt": 1.5}\n')) == [(4, 1.5, 1)]


def test_memory_stays_flat_over_many_attempts_and_bars() -> None:
    parser = LogParser()
    for attempt in range(600):
        text = "\nTraceback (most recent call last):\n" + bar(0, 0) + bar(1, attempt + 1)
        parser.feed(text.encode() + bar(2, attempt + 21).encode())
    assert parser.facts().rewinds == 599
    assert len(parser.series()) <= 64
    assert len(msgspec.msgpack.encode(parser.state())) < 200_000


def test_log_dicts_with_a_step_are_steps_and_their_losses_are_told_once() -> None:
    parser = LogParser()
    lines = b"".join(
        b"{'loss': '%d', 'epoch': '0.1', 'step': %d, 'elapsed': %d}\n" % (n, 10 * n, 20 * n)
        for n in range(1, 5)
    )
    assert times(parser.feed(lines)) == [(10 * n, 20.0, 10) for n in range(1, 5)]
    assert [loss.value for loss in parser.facts().losses] == [1.0, 2.0, 3.0, 4.0]
    assert parser.facts().dialects == ("hf_dict",)


def test_log_dicts_with_a_step_but_no_time_are_timed_by_their_arrival() -> None:
    parser = LogParser()
    events = []
    for n in range(1, 5):
        events += parser.feed(b"{'loss': 1.0, 'epoch': 0.1, 'step': %d}\n" % n, 100.0 + 2 * n)
    assert [(e.index, e.seconds) for e in events[1:]] == [(2, 2.0), (3, 2.0), (4, 2.0)]
