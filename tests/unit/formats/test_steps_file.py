"""The step file: all keys but one may be missing, and a torn line costs one line."""

import math

import pytest

from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.formats.steps_file import MAX_LINE_BYTES, StepsFileParser, parse_line


def test_a_full_line_becomes_an_event() -> None:
    line = (
        b'{"step":7,"seconds":1.5,"phase":"eval","rank":3,"tokens":4096,"width":512,"loss":"nan",'
        b'"clock":"asynchronous","interval_steps":2}'
    )
    event = parse_line(line, at_s=9.0)
    assert event is not None
    assert event.loss is not None
    assert math.isnan(event.loss)
    assert (event.index, event.seconds, event.phase, event.rank) == (7, 1.5, Phase.EVAL, 3)
    assert (event.tokens, event.width, event.clock) == (4096, 512, StepClock.ASYNCHRONOUS)
    assert (event.interval_steps, event.at_s, event.writer) == (2, 9.0, "steps/3")


def test_a_line_with_a_step_only_is_enough() -> None:
    assert parse_line(b'{"step":7}') == StepEvent(
        index=7, seconds=None, clock=StepClock.REPORTED, writer="steps"
    )


def test_a_torn_or_wrong_line_is_counted_and_the_next_one_read() -> None:
    parser = StepsFileParser()
    bad = b'{"step":2,"sec\n{"step":2,"seconds":-3}\n{"step":-1}\nnull\n\n'
    lines = b'{"step":1}\n' + bad + b'{"step":3}\n{"step":4'
    assert [event.index for event in parser.feed(lines)] == [1, 3]
    assert parser.bad_lines == 4
    assert [event.index for event in parser.feed(b"}")] == []
    assert [event.index for event in parser.finish()] == [4]


def test_a_line_without_end_does_not_grow_in_memory() -> None:
    parser = StepsFileParser()
    for _ in range(8):
        parser.feed(b"x" * MAX_LINE_BYTES)
    assert len(parser.place()[0]) <= MAX_LINE_BYTES
    assert [event.index for event in parser.feed(b'\n{"step":1}\n')] == [1]
    assert parser.bad_lines == 1


def test_a_restored_parser_goes_on_in_the_middle_of_a_line() -> None:
    parser = StepsFileParser()
    parser.feed(b'{"st')
    on = StepsFileParser.at_place(parser.place(), parser.notes)
    assert [event.index for event in on.feed(b'ep":5}\n')] == [5]


@pytest.mark.parametrize("digits", [19, 20, 400])
@pytest.mark.parametrize("key", ["step", "interval_steps", "rank", "tokens", "width"])
def test_a_number_that_nothing_can_carry_costs_its_line_and_no_more(key: str, digits: int) -> None:
    number = "9" * digits
    parser = StepsFileParser()
    for sign in ("", "-"):
        line = b'{"step":1,' if key != "step" else b"{"
        line += f'"{key}":{sign}{number}}}\n'.encode()
        assert [event.index for event in parser.feed(line + b'{"step":2}\n')] == [2]
    assert parser.bad_lines == 2
