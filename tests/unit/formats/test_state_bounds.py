"""What a parser keeps of a log is bounded by what it is, not by what the log does to it."""

import json

import msgspec
import pytest

from pfid.formats.log_stream import LogParser
from pfid.formats.tracker import MAX_HELD_IN_ALL, STATE_POINTS_IN_ALL

LIMIT_BYTES = 80_000
KINDS = {
    "step": {"seconds": 1.0},
    "global_step": {"step_time": 2.0},
    "_step": {"_runtime": 1.0},
    "iteration": {"iteration_time": 1.5},
    "current_steps": {"elapsed_time": "0:00:01"},
}


def bar(index: int, total: int) -> str:
    done = f"{index // 60:02d}:{index % 60:02d}"
    return f"\r{index * 100 // total}%|#| {index}/{total} [{done}<10:00,  1.00s/it]"


def json_lines_that_go_back_again_and_again() -> bytes:
    lines = [
        json.dumps({key: step, "loss": 1e-300 * step, **KINDS[key]})
        for turn in range(100)
        for key in KINDS
        for step in range(turn % 7 + 1, 120)
    ]
    return "\n".join(lines).encode() + b'\n{"step": 1' + b" " * 40_000


def copies_of_many_bars() -> bytes:
    return "".join(
        bar(step, 1000 + key) for last in (100, 63) for key in range(48) for step in range(1, last)
    ).encode()


def bars_of_many_names() -> bytes:
    return "".join(
        f"\r{'d' * 79}{n}:  10%|#| 1/10 [00:01<00:10, 1.0{'u' * 60}/s]" for n in range(500)
    ).encode()


def all_of_them() -> bytes:
    return (
        json_lines_that_go_back_again_and_again()
        + b"\n"
        + copies_of_many_bars()
        + bars_of_many_names()
    )


@pytest.mark.parametrize(
    "hostile",
    [
        json_lines_that_go_back_again_and_again,
        copies_of_many_bars,
        bars_of_many_names,
        all_of_them,
    ],
)
def test_the_state_of_a_hostile_log_is_bounded(hostile):
    data = hostile()
    parser = LogParser()
    for begin in range(0, len(data), 65_536):
        parser.feed(data[begin : begin + 65_536], 1e9 + begin)
        assert len(msgspec.msgpack.encode(parser.state())) <= LIMIT_BYTES
    assert len(parser.series()) >= 1 or hostile is bars_of_many_names, "the fault was delivered"


def test_without_a_state_what_was_counted_goes_on_from_the_facts():
    before = LogParser()
    before.feed(
        b'{"step": 10, "elapsed": 5000.0, "loss": 1.0}\nTraceback (most recent call last):\n'
        b'{"step": 1, "elapsed": 2.0, "loss": NaN}\n{"step": 2, "elap'
    )
    facts = before.facts()
    again = LogParser.after(facts)
    assert repr(again.facts()) == repr(facts)
    events = again.feed(
        b'sed": 4.0}\n{"step": 40, "elapsed": 200.0}\n{"step": 41, "elapsed": 206.0}\n'
    )
    assert [(event.index, event.seconds) for event in events] == [(40, None), (41, 6.0)]
    told = again.facts()
    assert (told.rewinds, told.writers) == (facts.rewinds, facts.writers) == (1, 1)
    assert told.bytes_read > facts.bytes_read
    later = LogParser.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(again.state())))
    assert repr(later.facts()) == repr(told)


def test_points_are_shared_by_the_series_that_go_on():
    parser = LogParser()
    parser.feed(json_lines_that_go_back_again_and_again())
    kept = [len(plain.get("indexes", b"")) // 8 for [plain] in parser.state()["tracker"]["series"]]
    assert 0 < sum(kept) <= STATE_POINTS_IN_ALL
    assert max(kept) <= 64


def test_what_is_held_back_too_long_are_copies_and_no_steps():
    parser = LogParser()
    steps = "".join(bar(step, 1000 + key) for key in range(48) for step in range(1, 100))
    copies = "".join(bar(step, 1000 + key) for key in range(48) for step in range(1, 63))
    before = len(parser.feed(steps.encode() + b"\n"))
    assert before > 2000
    assert parser.feed(copies.encode() + b"\n") == []
    held = parser.state()["tracker"]["held"]
    assert sum(len(readings) for _key, readings in held) <= MAX_HELD_IN_ALL
    assert sum(one.copies for one in parser.series()) >= 48 * 61 - MAX_HELD_IN_ALL


def test_a_state_that_was_written_with_every_field_is_still_read():
    parser = LogParser()
    parser.feed(b'{"step": 1, "seconds": 1.0}\n{"step": 2, "seconds": 1.0}\n')
    state = parser.state()
    [plain] = state["tracker"]["series"][0]
    plain |= {"partners": [], "rates": b"", "predecessor": None, "shadow": None}
    again = LogParser.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(state)))
    assert [e.index for e in again.feed(b'{"step": 3, "seconds": 1.0}\n')] == [3]
