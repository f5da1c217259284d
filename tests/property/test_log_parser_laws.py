"""What must hold for any bytes in any chunks."""

import math
from dataclasses import replace

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pfid.formats.log_stream import LogParser
from pfid.formats.steps_file import StepsFileParser
from pfid.formats.untrusted import printable

_PIECES = (
    b"\n", b"\r", b"\r\n", b"\0", b"\x1b[A", b"\x1b[31m", b" ", b"x" * 70, b"\xff\xfe", b"'", b'"',
    b"\r 20%|##   | 2/10 [00:03<00:13,  1.65s/it]", b"\r 30%|###  | 3/10 [00:07<00:13,  1.7s/it]",
    b"\r  0%|     | 0/10 [00:00<?, ?it/s]", b"1200it [12:46:40, 38.33s/it]",
    b"iteration        1/    1000 | elapsed time per iteration (ms): 150891.7 | lm loss: nan |\n",
    b"iteration        2/    1000 | elapsed time per iteration (ms): 150891.7 | lm loss: 1 |\n",
    b"iter 100: loss 3.2101, time 345.12ms, mfu 31.20%\n",
    b"[titan] 2026-08-21 10:11:12,345 - root - INFO - step: 10  loss:  3.9  memory: 1GiB(5%)\n",
    b"{'loss': '4.162', 'epoch': '0.4'}\n", b"{'eval_loss': 2.0, 'epoch': 1}\n",
    b'{"current_steps": 10, "total_steps": 66, "loss": NaN, "elapsed_time": "0:02:12"}\n',
    b'{"current_steps": 20, "total_steps": 66, "loss": 1.0, "elapsed_time": "0:04:45"}\n',
    b'{"step": 3, "seconds": 1.5}\n', b"Traceback (most recent call last):\n",
    b"torch._dynamo hit config.recompile_limit (8)\n", b"Resuming training from checkpoint\n",
    b"step=10, skipped=0, lr=[1], mom=[1]\n", b"[epoch=1][batch=10/100]:\n", b"own 7 took 1.5\n",
)  # fmt: skip
_LOGS = st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=40)), max_size=40).map(
    b"".join
)
_OWN = {"own": r"own (?P<step>\d+) took (?P<seconds>[\d.]+)"}


def _whole(data: bytes) -> tuple[object, object]:
    parser = LogParser(regex_dialects=_OWN)
    events = parser.feed(data) + parser.finish()
    return repr(events), repr(parser.facts())


@settings(max_examples=300, deadline=None)
@given(_LOGS, st.lists(st.integers(0, 400), max_size=12))
@example(b"x" * 20_000 + b"\niter 1: loss 1.0, time 5.0ms, mfu\n", [100, 16_380, 16_390])
@example(b"x" * 16_380 + b"iter 1: loss 1.0, time 5.0ms\niter 2: loss 1.0, time 5.0ms\n", [16_384])
@example(b"\0" * 100 + b"iter 1: loss 1.0, time 5.0ms\0\0iter 2: loss 1.0, time 5.0ms\n", [50, 120])
def test_chunking_does_not_matter_and_nothing_raises(data: bytes, cuts: list[int]) -> None:
    parser, events, begin = LogParser(regex_dialects=_OWN), [], 0
    for cut in [*sorted(cuts), len(data)]:
        events += parser.feed(data[begin:cut])
        begin = max(begin, min(cut, len(data)))
    events += parser.finish()
    for event in events:
        assert replace(event) == event or math.isnan(event.loss or 0.0)
    assert (repr(events), repr(parser.facts())) == _whole(data)


@settings(max_examples=150, deadline=None)
@given(_LOGS, st.integers(0, 400))
def test_a_parser_restored_from_its_state_goes_on_as_if_nothing_had_happened(
    data: bytes, cut: int
) -> None:
    first = LogParser(regex_dialects=_OWN)
    events = first.feed(data[:cut])
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(first.state()))
    second = LogParser.restore(plain, regex_dialects=_OWN)
    events += second.feed(data[cut:]) + second.finish()
    assert (repr(events), repr(second.facts())) == _whole(data)


@settings(max_examples=150, deadline=None)
@given(_LOGS, st.lists(st.integers(0, 400), max_size=6))
def test_live_reading_never_raises_whatever_the_clock_does(data: bytes, cuts: list[int]) -> None:
    parser, begin = LogParser(), 0
    for turn, cut in enumerate([*cuts, len(data)]):
        for event in parser.feed(data[begin:cut], 1000.0 + (-1) ** turn * turn):
            assert event.seconds is None or event.seconds >= 0
        begin = max(begin, cut)
    parser.facts()
    assert len(msgspec.msgpack.encode(parser.state())) < 200_000


@given(st.binary(max_size=400), st.integers(0, 400))
def test_a_step_file_reads_the_same_in_two_pieces(data: bytes, cut: int) -> None:
    whole, parts = StepsFileParser(), StepsFileParser()
    expected = whole.feed(data) + whole.finish()
    assert parts.feed(data[:cut]) + parts.feed(data[cut:]) + parts.finish() == expected
    assert parts.bad_lines == whole.bad_lines


@given(st.one_of(st.text(), st.binary()), st.integers(1, 80))
def test_printable_text_is_printable_and_no_longer_than_asked(
    text: str | bytes, limit: int
) -> None:
    shown = printable(text, limit)
    assert len(shown) <= limit
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in shown)
    shown.encode()
