"""Steps that are worked out once more at the same speed are an attempt; copies of them are not."""

import math
import random
from collections.abc import Callable, Iterable

import msgspec
import pytest

from pfid.domain.step import StepEvent
from pfid.formats.attempts import places
from pfid.formats.log_notes import log_notes
from pfid.formats.log_stream import LogParser

Line = Callable[[int, float, str], str]
"""Step, seconds since its start and loss: a line of a launch whose steps take about 2 s."""


def nano(step: int, _elapsed: float, loss: str) -> str:
    seconds = 2.0 * random.Random(f"{step}/{loss}").uniform(0.99, 1.01)
    return f"iter {step}: loss {loss}, time {seconds * 1000:.2f}ms, mfu 31.20%\n"


def seconds(step: int, elapsed: float, loss: str) -> str:
    return f'{{"step": {step}, "seconds": {2.0 + elapsed % 0.02:.3f}, "loss": {loss}}}\n'


def elapsed(step: int, elapsed: float, loss: str) -> str:
    return f'{{"step": {step}, "elapsed": {elapsed:.3f}, "loss": {loss}}}\n'


KINDS = (nano, seconds, elapsed)
Arrival = tuple[float, str]


def worked(line: Line, steps: Iterable[int], begins_s: float, loss: str = "2.5") -> list[Arrival]:
    """Lines of one launch, each when it comes."""
    chance, at_s, found = random.Random(begins_s), 0.0, []
    for step in steps:
        at_s += chance.uniform(1.98, 2.02)
        found.append((begins_s + at_s, line(step, at_s, loss)))
    return found


def live(arrivals: Iterable[Arrival], *, every_s: float = 0.0) -> tuple[list[StepEvent], LogParser]:
    """Read lines when they come, or all of each ``every_s``; the reader is restored at each."""
    parser, events, waiting, due_s = LogParser(), [], "", 0.0
    for at_s, text in sorted(arrivals):
        waiting += text
        if at_s >= due_s:
            events += parser.feed(waiting.encode(), at_s)
            waiting, due_s = "", at_s + every_s
            plain = msgspec.msgpack.encode(parser.state())
            parser = LogParser.restore(msgspec.msgpack.decode(plain))
    return events + parser.feed(waiting.encode(), at_s), parser


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize("every_s", [0.0, 5.0])
@pytest.mark.parametrize("first", [1, 30])
def test_steps_that_come_again_as_slowly_as_they_are_worked_are_another_attempt(
    line: Line, every_s: float, first: int
) -> None:
    end = 55 if first == 1 else 90
    events, parser = live(
        worked(line, range(1, 60), 0.0) + worked(line, range(first, end), 200.0), every_s=every_s
    )
    facts = parser.facts()
    assert (facts.writers, facts.rewinds) == (1, 1)
    assert [place.attempt for place in places(parser.series()).values()] == [1, 2]
    again = [event.index for event in events if event.writer == parser.series()[1].writer]
    assert first <= again[0] <= first + 9
    assert again[-1] == end - 1
    notes = {note.code: (note.line, note.text) for note in log_notes(parser)}
    assert notes["rewind"][0] == 60
    assert f"from 59 to {first}:" in notes["rewind"][1]


@pytest.mark.parametrize("line", [nano, elapsed])
def test_a_loss_that_is_lost_in_the_second_attempt_alone_is_remembered(line: Line) -> None:
    lost = "nan" if line is nano else "NaN"
    _, parser = live(worked(line, range(1, 60), 0.0) + worked(line, range(1, 55), 200.0, loss=lost))
    assert all(math.isnan(seen.value) for seen in parser.facts().losses[-40:])


@pytest.mark.parametrize("line", KINDS)
def test_each_of_many_restarts_at_one_speed_is_counted(line: Line) -> None:
    _, parser = live(arrival for n in range(4) for arrival in worked(line, range(1, 40), 200.0 * n))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 3)


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize("late_s", [0.1, 2.5, 11.0])
def test_a_rank_whose_lines_come_late_is_no_attempt(line: Line, late_s: float) -> None:
    events, parser = live(worked(line, range(1, 90), 0.0) + worked(line, range(1, 90), late_s))
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
    assert [event.index for event in events] == list(range(1, 90))


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_whose_lines_come_in_blocks_are_no_attempts(line: Line, ranks: int) -> None:
    arrivals: list[Arrival] = []
    for rank in range(ranks):
        lines = worked(line, range(1, 200), rank / 10)
        for begin in range(0, len(lines), 40 - rank):
            block = lines[begin : begin + 40 - rank]
            arrivals += [(block[-1][0] + n / 1e6, text) for n, (_, text) in enumerate(block)]
    events, parser = live(arrivals)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
    assert {event.index for event in events} <= set(range(1, 200))


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize(
    ("between", "rewinds", "resumes"),
    [
        ('Traceback (most recent call last):\n  File "train.py", line 1\nValueError: x\n', 1, 0),
        ("Resuming training from out/ckpt\n", 0, 1),
    ],
)
def test_steps_that_are_told_again_behind_an_end_are_another_attempt_at_once(
    line: Line, between: str, rewinds: int, resumes: int
) -> None:
    texts = [text for _, text in worked(line, range(1, 60), 0.0)]
    again = [text for _, text in worked(line, range(1, 90), 200.0)]
    parser = LogParser()
    events = parser.feed("".join([*texts, between, *again]).encode())
    facts = parser.facts()
    assert (facts.writers, facts.rewinds, facts.resumes) == (1, rewinds, resumes)
    assert len(events) == len(texts) + len(again)


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ([(1, 60), (1, 90)], "from 59 to 1:"),
        ([(1, 60), (50, 90)], "from 59 to 50:"),
        ([(1, 60), (1, 90), (1, 130)], "from 89 to 1:"),
        ([(1, 60), (1, 90), (70, 130)], "from 89 to 70:"),
    ],
)
def test_steps_that_are_told_again_and_then_never_are_a_counter_that_went_back(
    line: Line, attempts: list[tuple[int, int]], said: str
) -> None:
    lines = [text for _, text in worked(line, range(1, 130), 0.0)]
    parser = LogParser()
    for first, end in attempts:
        parser.feed("".join(lines[first - 1 : end - 1]).encode())
    facts = parser.facts()
    assert (facts.writers, facts.rewinds) == (1, 1)
    notes = {note.code: (note.line, note.text) for note in log_notes(parser)}
    before = sum(end - first for first, end in attempts[:-1])
    assert notes["rewind"][0] == notes["told_again_alike"][0] == before + 1
    assert said in notes["rewind"][1]


@pytest.mark.parametrize("line", KINDS)
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("block", [1, 2, 40])
def test_ranks_that_are_read_in_blocks_afterwards_are_no_attempts(
    line: Line, ranks: int, block: int
) -> None:
    lines = [text for _, text in worked(line, range(1, 200), 0.0)]
    texts = [lines[at : at + block] * ranks for at in range(0, len(lines), block)]
    parser = LogParser()
    for text in texts:
        parser.feed("".join(text).encode())
        assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


@pytest.mark.parametrize("line", KINDS)
def test_a_log_that_is_told_twice_over_is_a_copy(line: Line) -> None:
    lines = [text for _, text in worked(line, range(1, 60), 0.0)]
    parser = LogParser()
    parser.feed("".join(lines * 2).encode())
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
    assert "59" in next(note.text for note in log_notes(parser) if note.code == "copies")


@pytest.mark.parametrize("line", KINDS)
def test_a_rank_in_blocks_that_told_the_block_before_again_is_none_while_its_next_one_is_due(
    line: Line,
) -> None:
    lines = [text for _, text in worked(line, range(1, 121), 0.0)]
    first, second, third = lines[:40], lines[40:80], lines[80:]
    parser = LogParser()
    parser.feed("".join([*first, *first, *second, *second, *third]).encode())
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)


@pytest.mark.parametrize("line", KINDS)
def test_two_blocks_of_a_rank_are_no_pace(line: Line) -> None:
    lines = [text for _, text in worked(line, range(1, 81), 0.0)]
    parser = LogParser()
    for at_s, block in (
        (80.0, lines[:40]), (80.1, lines[:20]), (120.0, lines[20:36]), (160.0, lines[40:]),
    ):  # fmt: skip
        parser.feed("".join(block).encode(), at_s)
    assert (parser.facts().writers, parser.facts().rewinds) == (1, 0)
