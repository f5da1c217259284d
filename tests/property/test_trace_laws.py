"""Reading a trace: portions do not matter, quick way and parser find the same, no bytes hurt."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis import interval_union
from pfid.analysis.interval_union import IntervalUnion, overlap
from pfid.formats.kernel_names.identity import identify
from pfid.formats.trace.event_stream import EventStream
from pfid.formats.trace.key_averages import read_averages
from pfid.formats.trace.malformed import Malformed
from pfid.formats.trace.reader import TraceReader, Way

CATEGORIES = (
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cpu_op",
    "user_annotation",
    "ac2g",
    "cuda_runtime",
)
NAMES = st.one_of(
    st.sampled_from(
        [
            "void gemm<4>(int)",
            "ProfilerStep#3",
            'a "kernel" b',
            '"cat": "kernel", "name": "x"',
            "kernel",
            "back\\slash",
            "transformers::grouped_mm_fallback",
            "}, {",
        ]
    ),
    st.text(max_size=12),
)
TIMES = st.one_of(
    st.integers(0, 2**52).map(lambda n: f"{n // 1000}.{n % 1000:03}"),
    st.integers(0, 2**50).map(str),
    st.sampled_from(["0", "1.5", "2.25000001", "1e3", "-4.000", "1e400", "9" * 30]),
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["kernel", "stream", "cat", "correlation", "correlation", "x"]),
    st.one_of(st.integers(), st.text(max_size=6), st.sampled_from(["kernel", "gpu_memcpy"])),
    max_size=3,
)


def as_written(text):
    """A number that stands in the document as it is given."""
    return f"<{text}>"


@st.composite
def events(draw):
    """One event, mostly as Kineto writes it."""
    event = {
        "ph": draw(st.sampled_from("XXXXXi")),
        "cat": draw(st.sampled_from(CATEGORIES)),
        "name": draw(NAMES),
        "pid": draw(st.sampled_from([0, 1, 4037, "Spans"])),
        "tid": draw(st.sampled_from([7, 20, -1])),
        "ts": as_written(draw(TIMES)),
        "dur": as_written(draw(TIMES)),
        "args": draw(ARGUMENTS),
    }
    if draw(st.integers(0, 30)) == 0:
        event = dict(draw(st.permutations(list(event.items()))))
    return event


def written(found, style):
    """A document in one style."""
    indent, separators, ascii_only = style
    texts = [
        re.sub(
            r'"<(-?[\d.e]+)>"',
            r"\1",
            json.dumps(one, indent=indent, separators=separators, ensure_ascii=ascii_only),
        )
        for one in found
    ]
    document = '{"schemaVersion": 1, "traceEvents": [' + ", ".join(texts) + '], "z": 1}'
    return document.encode("utf-8", "surrogatepass")


STYLES = st.sampled_from(
    [(None, (", ", ": "), True), (None, (",", ":"), False), (2, (",", ": "), True)]
)
DOCUMENTS = st.builds(written, st.lists(events(), max_size=25), STYLES)


def read(raw, portions, head_events=3):
    reader = TraceReader(head_events)
    at, rows = 0, []
    for size in portions:
        rows.append(reader.feed(raw[at : at + size]))
        at += size
    rows += [reader.feed(raw[at:]), reader.finish()]
    names = reader.collected.names
    return reader, sorted(
        (s, d, names.kernels[k].name, names.kernels[k].category.value, names.tracks[t].stream, c)
        for block in rows
        for s, d, k, t, c in zip(
            *(block.start_ns, block.duration_ns, block.kernel, block.track, block.launch),
            strict=True,
        )
    ) + sorted(call for block in rows for call in zip(block.call, block.call_ns, strict=True))


def found(raw, portions, head_events=3):
    reader, rows = read(raw, portions, head_events)
    collected, reading = reader.collected, reader.reading()
    bad = collected.malformed.rejected, collected.malformed.damaged
    hosts = collected.launching, collected.stepping
    return rows, collected.steps, collected.operators, hosts, bad, reading.cut


PORTIONS = st.lists(st.integers(0, 400), max_size=30)


@given(DOCUMENTS, PORTIONS)
def test_the_quick_way_in_any_portions_finds_what_the_parser_finds_in_one(raw, portions):
    assert found(raw, portions) == found(raw, [], head_events=10**9)


@given(DOCUMENTS, PORTIONS, st.integers(0, 4000))
def test_a_cut_document_gives_the_same_in_any_portions(raw, portions, length):
    assert found(raw[:length], portions) == found(raw[:length], [], head_events=10**9)


def zeroed(raw, at, size):
    return raw[:at] + b"\0" * len(raw[at : at + size]) + raw[at + size :]


def overwritten(raw, at, size):
    return raw[:at] + b'}"x,\xff{1:'[: size % 9] + raw[at + size % 9 :]


def missing(raw, at, size):
    return raw[:at] + raw[at + size :]


def twice(raw, at, size):
    return raw[: at + size] + raw[at:]


DAMAGES = st.lists(
    st.tuples(
        st.sampled_from((zeroed, overwritten, missing, twice)),
        st.integers(0, 3500),
        st.integers(1, 600),
    ),
    min_size=1,
    max_size=3,
)
PLAIN = st.lists(
    st.builds(
        lambda cat, number: {
            "ph": "X",
            "cat": cat,
            "name": f"void k{number % 3}<4>(int)",
            "pid": 0,
            "tid": 7,
            "ts": as_written(f"{number}.250"),
            "dur": as_written("1.500"),
            "args": {"External id": number, "grid": [1, 1, number]},
        },
        st.sampled_from(("kernel", "kernel", "cpu_op")),
        st.integers(0, 10**6),
    ),
    min_size=8,
    max_size=25,
)


@given(st.one_of(DOCUMENTS, st.builds(written, PLAIN, STYLES)), DAMAGES, PORTIONS)
def test_a_damaged_document_gives_the_same_both_ways_and_the_damage_is_counted_alike(
    raw, damages, portions
):
    for damage, at, size in damages:
        raw = damage(raw, at, size)
    assert found(raw, portions) == found(raw, [], head_events=10**9)


@given(st.lists(st.integers(0, 10**6), min_size=12, max_size=40))
def test_plain_rows_do_go_the_quick_way(starts):
    rows = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": n, "dur": 1}
        for n in starts
    ]
    raw = json.dumps({"traceEvents": rows}).encode()
    reader, taken = read(raw, [80] * 12)
    assert reader.reading().way is Way.FAST
    assert [row[0] for row in taken] == sorted(n * 1000 for n in starts)


@given(DOCUMENTS, st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=6))), PORTIONS)
def test_no_damage_raises(raw, damages, portions):
    for at, junk in damages:
        raw = raw[:at] + junk + raw[at + len(junk) :]
    reader, rows = read(raw, portions)
    assert sum(len(row) > 2 for row in rows) == reader.collected.device_rows


@given(st.binary(max_size=300), PORTIONS)
def test_no_bytes_raise(raw, portions):
    reader, rows = read(raw, portions)
    assert sum(len(row) > 2 for row in rows) == reader.collected.device_rows


@given(st.text(max_size=200))
def test_no_text_raises_as_a_table(text):
    averages = read_averages(text)
    assert averages is None or averages.unfiltered_ns >= 0


@given(st.integers(1, 30).map(lambda depth: "[" * depth * 10_000))
def test_nesting_without_end_is_damage_and_no_crash(nested):
    stream = EventStream(Malformed())
    assert not list(stream.feed(('{"traceEvents": [' + nested).encode()))
    assert not list(stream.finish())
    assert stream.cut


@given(st.text())
def test_any_name_has_a_class(name):
    from pfid.domain.kernel import DeviceCategory, KernelKey

    assert identify(KernelKey(DeviceCategory.KERNEL, name)).kind is not None


INTERVALS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 40)).map(lambda one: (one[0], sum(one)))
)


def union(intervals, parts=1):
    whole = IntervalUnion()
    for part in range(parts):
        mine = np.array(intervals[part::parts], dtype=np.int64).reshape(-1, 2)
        whole.add(mine[:, 0], mine[:, 1])
    return whole


@given(
    INTERVALS,
    st.integers(1, 5),
    st.tuples(st.integers(0, 250), st.integers(0, 250)).map(sorted),
    st.sampled_from((1, 2, 3, interval_union.CHUNK)),
    st.sampled_from((0, 1, 50, interval_union._SHORT_NS)),
)
def test_a_union_is_the_set_of_covered_points_in_any_portions(
    intervals, parts, window, chunk, short_ns
):
    points = {p for start, end in intervals for p in range(start, end)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_union, "CHUNK", chunk)
        patch.setattr(interval_union, "_SHORT_NS", short_ns)
        whole = union(intervals, parts)
    inside = set(range(*window))
    assert whole.length == len(points)
    assert whole.length_within(*window) == len(points & inside)
    gaps = [gap for block in whole.gaps_within(*window) for gap in block]
    assert sum(gaps) == len(inside - points)
    assert all(gap > 0 for gap in gaps)
    blocks = [list(zip(starts, ends, strict=True)) for starts, ends in whole.blocks()]
    kept = [one for block in blocks for one in block]
    assert all(len(block) <= chunk for block in blocks)
    assert all(one[1] < other[0] for one, other in pairwise(kept))


@given(INTERVALS, INTERVALS)
def test_overlap_is_the_points_of_both(one, other):
    points = [{p for s, e in part for p in range(s, e)} for part in (one, other)]
    assert overlap(union(one), union(other)) == len(points[0] & points[1])
