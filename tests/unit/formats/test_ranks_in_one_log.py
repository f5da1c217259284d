"""Ranks of one run are one writer, however their times differ; two launches are two."""

import math
import random
from collections.abc import Callable, Iterable

import msgspec
import pytest

from pfid.domain.step import Phase, StepEvent
from pfid.formats.attempts import places
from pfid.formats.log_notes import log_notes
from pfid.formats.log_stream import LogParser
from pfid.formats.ranks import BEHIND, MAX_RANKS, SILENT

Line = Callable[[int, int, float, float], str]
"""Step, rank, seconds of the step, seconds since the start: a line."""


def nano(step: int, rank: int, seconds: float, _elapsed: float) -> str:
    return f"[rank{rank}]: iter {step}: loss 3.2, time {seconds * 1000:.2f}ms, mfu 31.20%\n"


def printed(step: int, rank: int, seconds: float, _elapsed: float) -> str:
    return f'{{"step": {step}, "seconds": {seconds:.4f}, "rank": {rank}, "loss": 1.0}}\n'


def elapsed(step: int, rank: int, _seconds: float, elapsed: float) -> str:
    return f'{{"step": {step}, "elapsed": {elapsed:.2f}, "rank": {rank}, "loss": 1.0}}\n'


KINDS = (nano, printed, elapsed)


def launch(line: Line, ranks: int, steps: Iterable[int], seed: int = 1) -> list[list[str]]:
    """One list of lines per step: the ranks in any order, with 4 % between their times.

    A rank of 3 and more started 20 s before the others.
    """
    chance, at_s, texts = random.Random(seed), 0.0, []
    for step in steps:
        seconds = chance.uniform(3.9, 4.1)
        at_s += seconds
        texts.append(
            [
                line(step, rank, seconds * chance.uniform(0.96, 1.04), at_s + 20 * (rank >= 3))
                for rank in chance.sample(range(ranks), ranks)
            ]
        )
    return texts


def read(*texts: str) -> tuple[list[StepEvent], LogParser]:
    parser = LogParser()
    events = parser.feed("".join(texts).encode()) + parser.finish()
    return events, parser


def flat(texts: list[list[str]]) -> str:
    return "".join(line for step in texts for line in step)


@pytest.mark.parametrize("line", KINDS)
def test_four_ranks_with_a_clock_each_are_one_writer_and_each_step_counts_once(line: Line) -> None:
    events, parser = read(flat(launch(line, 4, range(1, 200))))
    facts = parser.facts()
    assert (facts.writers, facts.rewinds, len(parser.series())) == (1, 0, 1)
    assert [event.index for event in events] == list(range(1, 200))
    assert all(event.seconds is not None and 3.5 < event.seconds < 4.5 for event in events[1:])


def test_ranks_whose_output_comes_in_blocks_are_one_writer() -> None:
    texts = launch(nano, 4, range(1, 400))
    chance, done, log = random.Random(3), [0] * 4, []
    while min(done) < len(texts):
        rank = chance.randrange(4)
        end = done[rank] + chance.randrange(40, 120)
        log += [
            next(text for text in step if text.startswith(f"[rank{rank}]"))
            for step in texts[done[rank] : end]
        ]
        done[rank] = end
    events, parser = read(*log)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
    assert [event.index for event in events] == list(range(1, 400))


def test_more_ranks_than_are_remembered_one_by_one_are_one_writer() -> None:
    _, parser = read(flat(launch(nano, 2 * MAX_RANKS, range(1, 60))))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize("ranks", [1, 4])
def test_two_launches_into_one_log_are_two_writers_though_their_ranks_are_known(
    line: Line, ranks: int
) -> None:
    one = launch(line, ranks, range(1, 120))
    other = launch(line, ranks, range(31, 150), seed=2)
    log = [flat(one[:30]), *(flat([a, b]) for a, b in zip(one[30:], other, strict=False))]
    _, parser = read(*log)
    assert parser.facts().writers == 2


UNLABELLED = (
    lambda step, seconds: f"iter {step}: loss 3.2, time {seconds * 1000:.2f}ms, mfu 31.20%\n",
    lambda step, seconds: f'{{"step": {step}, "seconds": {seconds:.4f}, "loss": 1.0}}\n',
)
"""Lines with a time of their own that do not say whose they are."""


@pytest.mark.parametrize("line", UNLABELLED)
@pytest.mark.parametrize("stride", [1, 10])
@pytest.mark.parametrize("skewed", [False, True])
def test_ranks_that_nothing_names_are_one_writer_where_they_tell_each_step_in_turn(
    line: Callable[[int, float], str], stride: int, *, skewed: bool
) -> None:
    chance, log = random.Random(7), []
    for step in range(stride, 200 * stride, stride):
        log += [line(step, chance.uniform(0.5, 1.5)) for _ in range(4)]
    if skewed:  # the last of a step after the first of the next one
        for at in range(3, len(log) - 1, 4):
            log[at : at + 2] = log[at + 1], log[at]
    events, parser = read(*log)
    facts = parser.facts()
    assert (facts.writers, facts.rewinds, len(parser.series())) == (1, 0, 1)
    assert [event.index for event in events] == list(range(stride, 200 * stride, stride))


def in_time(line: Callable[[int, float], str], *launches: tuple[float, float]) -> list[str]:
    """Lines of launches in the order they come: when each begins, and seconds of its steps."""
    lines = []
    for begins_s, seconds in launches:
        at_s, chance = begins_s, random.Random(f"{begins_s}/{seconds}")
        for step in range(1, 120):
            own = seconds * chance.uniform(0.97, 1.03)
            at_s += own
            lines.append((at_s, line(step, own)))
    return [text for _, text in sorted(lines)]


@pytest.mark.parametrize("line", UNLABELLED)
@pytest.mark.parametrize("other", [(0.0, 5.0), (0.0, 4.5), (2.0, 4.3), (40.0, 4.3), (1.0, 40.0)])
def test_two_launches_without_labels_are_two_writers(
    line: Callable[[int, float], str], other: tuple[float, float]
) -> None:
    _, parser = read(*in_time(line, (0.0, 4.0), other))
    assert parser.facts().writers == 2


@pytest.mark.parametrize("line", UNLABELLED)
@pytest.mark.parametrize("again", [0, 1])
def test_a_step_that_is_told_again_once_is_a_counter_that_went_back(
    line: Callable[[int, float], str], again: int
) -> None:
    parser = LogParser()
    for texts in (
        [line(step, 4.0) for step in range(1, 50)],
        [line(step, 6.0) for step in range(49 - again, 50)],
        [line(step, 6.0) for step in range(50, 99)],
    ):
        parser.feed("".join(texts).encode())
        assert parser.facts().writers == 1
        parser = LogParser.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(parser.state())))
    assert parser.facts().rewinds == 1


@pytest.mark.parametrize("line", UNLABELLED)
@pytest.mark.parametrize("stride", [1, 10])
def test_each_of_many_restarts_from_the_last_step_is_counted_for_good(
    line: Callable[[int, float], str], stride: int
) -> None:
    parser, told = LogParser(), []
    for attempt in range(5):
        first = max(attempt * 20 - 1, 0)
        for step in range(first, attempt * 20 + 20):
            parser.feed(line(step * stride, 4.0 + attempt).encode())
            facts = parser.facts()
            told.append(facts.rewinds)
            assert facts.writers == 1
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(parser.state()))
            parser = LogParser.restore(state)
    assert told == sorted(told)
    assert told[-1] == 4


@pytest.mark.parametrize("line", UNLABELLED)
def test_a_restart_from_the_last_step_is_an_attempt_of_its_own_with_its_notes(
    line: Callable[[int, float], str],
) -> None:
    events, parser = read(
        *(line(step, 4.0) for step in range(1, 50)), *(line(step, 6.0) for step in range(49, 99))
    )
    assert [place.attempt for place in places(parser.series()).values()] == [1, 2]
    own = parser.series()[1]
    late = [event.index for event in events if event.writer != own.writer and event.seconds == 6.0]
    assert late == [50, 51]  # not yet certain
    assert all(event.seconds == 6.0 for event in events if event.writer == own.writer)
    notes = {note.code: (note.line, note.text) for note in log_notes(parser)}
    assert notes["rewind"][0] == notes["resumed_at"][0] == 50
    assert "from 49 to 49" in notes["rewind"][1]


@pytest.mark.parametrize("line", UNLABELLED)
@pytest.mark.parametrize("seconds", [8.0, 12.0])
def test_two_launches_that_are_apart_at_once_are_two_writers(
    line: Callable[[int, float], str], seconds: float
) -> None:
    _, parser = read(*in_time(line, (0.0, 4.0), (0.0, seconds)))
    assert parser.facts().writers == 2


@pytest.mark.parametrize("line", UNLABELLED)
def test_a_step_that_is_told_again_behind_a_crash_is_another_attempt_at_once(
    line: Callable[[int, float], str],
) -> None:
    first = [line(step, 4.0) for step in range(1, 50)]
    crash = 'Traceback (most recent call last):\n  File "train.py", line 1\nValueError: x\n'
    _, parser = read(*first, crash, line(49, 6.0))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


@pytest.mark.parametrize("line", UNLABELLED)
def test_lock_step_is_known_after_a_restart_of_the_reader(
    line: Callable[[int, float], str],
) -> None:
    parser, chance = LogParser(), random.Random(7)
    for step in range(1, 60):
        for _ in range(4):
            parser.feed(line(step, chance.uniform(0.5, 1.5)).encode())
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(parser.state()))
            parser = LogParser.restore(state)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


@pytest.mark.parametrize("line", KINDS)
def test_ranks_that_go_back_are_another_attempt(line: Line) -> None:
    _, parser = read(
        flat(launch(line, 4, range(1, 60))), flat(launch(line, 4, range(40, 99), seed=2))
    )
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


def test_a_known_rank_that_goes_back_is_another_attempt_though_it_runs_alike() -> None:
    first = [nano(step, 0, 4.0, 0) for step in range(1, 60)]
    _, parser = read(*first, *(nano(step, 0, 4.08, 0) for step in range(40, 99)))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


def test_a_rank_that_was_never_heard_and_begins_far_behind_is_another_attempt() -> None:
    later = flat(launch(nano, 1, range(1, 60), seed=2)).replace("[rank0]", "[rank7]")
    _, parser = read(flat(launch(nano, 1, range(1, BEHIND + 9))), later)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 1)


def test_of_ranks_with_clocks_of_their_own_another_is_followed_once_one_is_silent() -> None:
    texts = launch(elapsed, 4, range(1, 80))
    log = [flat(texts[:20]), *(t for step in texts[20:] for t in step if '"rank": 3' in t)]
    events, parser = read(*log)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
    taken = [event.index for event in events]
    assert taken == sorted(set(taken))
    assert taken[-1] == 79
    assert len(taken) >= 79 - SILENT - 1
    assert all(event.seconds is None or event.seconds < 4.5 for event in events[1:])


@pytest.mark.parametrize("line", KINDS)
def test_the_ranks_are_known_after_a_restart_of_the_reader(line: Line) -> None:
    parser = LogParser()
    for step in launch(line, 4, range(1, 60)):
        for text in step:
            parser.feed(text.encode())
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(parser.state()))
            parser = LogParser.restore(state)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


LOSSES = {
    "unlabelled": lambda step, rank, loss: (
        f"iter {step}: loss {loss}, time {4000 + 2000 * rank}.00ms, mfu 31.20%\n"
    ),
    "alike": lambda step, _rank, loss: f"iter {step}: loss {loss}, time 4000.00ms, mfu 31.20%\n",
    "labelled": lambda step, rank, loss: nano(step, rank, 4.0, 0).replace("3.2", loss, 1),
    "elapsed": lambda step, _rank, loss: (
        f'{{"step": {step}, "elapsed": {step * 4}, "loss": {loss.replace("nan", "NaN")}}}\n'
    ),
}


@pytest.mark.parametrize("line", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("ranks", [2, 8])
def test_a_loss_that_one_rank_alone_has_lost_is_remembered_once_a_step(
    line: Callable[[int, int, str], str], ranks: int
) -> None:
    def loss(step: int, rank: int) -> str:
        return "nan" if rank and step > 50 else "3.2"

    steps = range(1, 100)
    _, parser = read(
        *(line(step, rank, loss(step, rank)) for step in steps for rank in range(ranks))
    )
    facts = parser.facts()
    assert (facts.writers, facts.rewinds) == (1, 0)
    newest = facts.losses[-6:]
    assert [seen.index for seen in newest] == [97, 97, 98, 98, 99, 99]
    assert [math.isfinite(seen.value) for seen in newest] == [True, False] * 3


RECORDS = {
    "seconds": ('"loss": 2.0, "seconds": {own}', '"eval_loss": 2.0, "seconds": 31.5'),
    "elapsed": ('"loss": 2.0, "elapsed": {all}', '"eval_loss": 2.0, "elapsed": {later}'),
    "other keys": ('"loss": 2.0, "elapsed": {all}', '"perplexity": 9.0, "elapsed": {later}'),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_second_record_of_a_step_without_a_loss_of_training_is_no_step(kind: str) -> None:
    train, other = RECORDS[kind]
    chance, at_s, lines = random.Random(5), 0.0, []
    for step in range(1, 200):
        own = chance.uniform(0.4, 0.6)
        at_s += own
        known = {"{own}": f"{own:.3f}", "{all}": f"{at_s:.3f}", "{later}": f"{at_s + 30:.3f}"}
        records = [train]
        if step % 20 == 0:
            at_s += 30
            records.append(other)
        for record in records:
            for name, value in known.items():
                record = record.replace(name, value)  # noqa: PLW2901
            lines.append(f'{{"step": {step}, {record}}}\n')
    events, parser = read(*lines)
    assert (parser.facts().writers, parser.facts().rewinds, len(parser.series())) == (1, 0, 1)
    assert [event.index for event in events] == list(range(1, 200))


def test_an_evaluation_before_its_steps_own_record_is_no_step_and_marks_the_gap() -> None:
    lines = [f'{{"step": {n}, "elapsed": {n * 5}, "loss": 2.0}}\n' for n in range(1, 10)]
    lines.insert(5, '{"step": 6, "elapsed": 29, "eval/loss": 2.0}\n')
    events, parser = read(*lines)
    assert (parser.facts().writers, len(parser.series())) == (1, 1)
    assert [event.index for event in events] == list(range(1, 10))
    assert [event.index for event in events if event.phase is Phase.EVAL] == [6]


def test_a_log_whose_records_all_evaluate_still_has_steps() -> None:
    events, _ = read(*(f'{{"step": {n}, "seconds": 1.0, "val_loss": 2.0}}\n' for n in range(1, 9)))
    assert [event.index for event in events] == list(range(1, 9))
