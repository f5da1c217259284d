"""Bars read in one pass are the bars read one by one.

A parser with a dialect from configuration looks at every line by itself; so one whose pattern is
never found is the slow reference for the one without.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pfid.formats.bar_rows import MAX_ROWS
from pfid.formats.log_stream import LogParser

NEVER = {"never": r"no log ever says this (?P<step>\d+)"}
ENDS = ("\r", "\n", "\r\n", "\n\r\r", "")
RATES = ("1.65s/it", "0.07it/s", "2.00it/s", "?it/s", "0.00it/s", "1.2.3s/it", "12s/it")
BEHIND = (
    "", "", "", "", "[rank0] a word", "iter 7: loss 1.0, time 5.0ms, mfu 1%", " at iteration 3",
    "\x1b[A", ", loss=2.1]", "Resuming training from x",
)  # fmt: skip
OTHERS = (
    "Traceback (most recent call last):\n", "{'loss': '4.162', 'epoch': '0.4'}\n",
    "{'eval_loss': 2.0, 'epoch': 1}\n", "{'train_runtime': 2.0}\n",
    "***** Running Evaluation *****\n", "Resuming training from checkpoint\n",
    "saving checkpoint\n", "said\n", "\n", "\r", "\x00",
    "iter 100: loss 3.2101, time 345.12ms, mfu 31.20%\n", "# pfid run x\n",
)  # fmt: skip
Cut = tuple[bytes, float | None]


def drawn(n: int, total: int, elapsed: int, rate: str = "1.65s/it") -> str:
    hours = f"{elapsed // 3600}:" if elapsed >= 3600 else ""
    clock = f"{hours}{elapsed // 60 % 60:02}:{elapsed % 60:02}"
    return f"{n * 100 // max(total, 1):3}%|##9   | {n}/{total} [{clock}<1:00:00, {rate}]"


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Two bars with a counter and a clock each, which mostly go on and sometimes do not."""
    at = {10: [0, 0], 5000: [0, draw(st.sampled_from([0, 3500]))]}
    text = ""
    for _ in range(draw(st.integers(1, 40))):
        if draw(st.integers(0, 5)) == 0:
            text += draw(st.sampled_from(OTHERS))
            continue
        total = draw(st.sampled_from([10, 5000, 5000, 5000]))
        place = at[total]
        place[0] = max(place[0] + draw(st.sampled_from([1, 1, 1, 1, 0, 0, 2, 9, -1, -4, -99])), 0)
        place[1] = max(place[1] + draw(st.sampled_from([1, 2, 3, 20, 0, 0, -1, -3, -900])), 0)
        rate = draw(st.sampled_from(RATES))
        text += drawn(min(place[0], total), total, place[1], rate)
        text += draw(st.sampled_from(BEHIND)) + draw(st.sampled_from(ENDS))
    return text.encode()


def cuts(data: bytes, places: Iterable[int], at_s: float | None) -> list[Cut]:
    bounds = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [
        (data[begin:end], None if at_s is None else at_s + turn)
        for turn, (begin, end) in enumerate(pairwise(bounds))
    ]


def said(chunks: Sequence[Cut], regexes: dict[str, str]) -> list[str]:
    parser = LogParser(regex_dialects=regexes, memory_points=8)
    events = [event for chunk, at_s in chunks for event in parser.feed(chunk, at_s)]
    events += parser.finish()
    return [*map(repr, events), repr(parser.facts()), repr(parser.state()), repr(parser.phase())]


BEGUN = (drawn(0, 5000, 0, "?it/s") + "\r" + drawn(1, 5000, 2) + "\r").encode()
MANY = "".join(drawn(n, 5000, n * 2) + "\r" for n in range(2, MAX_ROWS + 20)).encode()
BACK = (drawn(5, 5000, 9) + "\n" + drawn(6, 5000, 11) + "\n" + drawn(2, 5000, 4) + "\n").encode()
COPIED = "".join(drawn(n, 5000, n * 2) + "\r" for n in (2, 3, 4, 3, 5)).encode()


@settings(max_examples=400, deadline=None)
@given(logs(), st.lists(st.integers(0, 2000), max_size=4), st.sampled_from([None, 1000.0]))
@example(BEGUN + MANY, [], None)
@example(BEGUN + BACK, [], None)
@example(BEGUN + COPIED, [], None)
def test_bars_in_one_pass_are_bars_one_by_one(
    data: bytes, places: list[int], at_s: float | None
) -> None:
    chunks = cuts(data, places, at_s)
    assert said(chunks, {}) == said(chunks, NEVER)


@settings(max_examples=200, deadline=None)
@given(logs(), st.lists(st.integers(0, 2000), max_size=6))
def test_chunks_do_not_matter_to_bars_in_one_pass(data: bytes, places: list[int]) -> None:
    assert said(cuts(data, places, None), {}) == said(cuts(data, [], None), {})


@settings(max_examples=100, deadline=None)
@given(logs(), st.integers(0, 2000))
def test_a_restored_parser_goes_on_with_bars_in_one_pass(data: bytes, place: int) -> None:
    first = LogParser()
    events = first.feed(data[:place])
    second = LogParser.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(first.state())))
    events += second.feed(data[place:]) + second.finish()
    whole = LogParser()
    assert repr(events) == repr(whole.feed(data) + whole.finish())
    assert repr(second.facts()) == repr(whole.facts())
