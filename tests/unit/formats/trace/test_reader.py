"""The reader takes Kineto's files the quick way, everything else the sure way, and says which."""

import json

import pytest

from pfid.formats.trace.collected import OPERATORS, Collected
from pfid.formats.trace.fast_rows import SURPRISES, FastRows, learn
from pfid.formats.trace.reader import HEAD_PIECE_BYTES, TraceReader, Way

EVENT = """  {{
    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts}, "dur": {dur},
    "args": {{
      "External id": 1, "device": 0, "grid": [128, 1, 1]
    }}
  }}"""
HEAD = '{\n  "schemaVersion": 1,\n  "traceEvents": [\n'
TAIL = '\n  ],\n  "traceName": "a.json"\n}\n'


def event(n, *, cat="kernel", name="gemm", pid=0, tid=7, ts=None, dur="1.500"):
    ts = f"16827258980825{n:02}.123" if ts is None else ts
    return EVENT.format(cat=cat, name=name, pid=pid, tid=tid, ts=ts, dur=dur)


def kineto(*events):
    return (HEAD + ",\n".join(events) + TAIL).encode()


def rows_of(reader, *blocks):
    names = reader.collected.names
    return [
        (names.kernels[k].name, names.kernels[k].category.value, names.tracks[t].stream, s, d)
        for rows in blocks
        for k, t, s, d in zip(rows.kernel, rows.track, rows.start_ns, rows.duration_ns, strict=True)
    ]


def read(raw, portion=400, head_events=2):
    reader = TraceReader(head_events)
    blocks = [reader.feed(raw[at : at + portion]) for at in range(0, len(raw), portion)]
    rows = rows_of(reader, *blocks, reader.finish())
    return reader, sorted(rows, key=lambda row: row[3])


def test_kinetos_own_file_goes_the_quick_way_to_the_end():
    reader, rows = read(kineto(*(event(n) for n in range(20))))
    assert [row[3] for row in rows] == [1682725898082500123 + n * 1000 for n in range(20)]
    assert {row[4] for row in rows} == {1500}
    assert reader.reading().way is Way.FAST
    assert not reader.reading().cut
    assert reader.reading().facts == {"schemaVersion": 1, "traceName": "a.json"}


def test_only_device_rows_count():
    cats = ["kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync", "cpu_op"]
    _, rows = read(kineto(*(event(n, cat=cats[n % 6]) for n in range(18))))
    assert sorted(row[1] for row in rows) == sorted(["kernel", "gpu_memcpy", "gpu_memset"] * 3)


def test_times_of_nineteen_digits_keep_their_nanoseconds():
    _, rows = read(kineto(*(event(n, ts="1682725898236567.123", dur="0.001") for n in range(8))))
    assert {row[3:] for row in rows} == {(1682725898236567123, 1)}


@pytest.mark.parametrize("dur", ["68", "68.0", "68.00", "67.9999", "68.0004"])
def test_durations_of_any_number_of_decimals_are_rounded_to_nanoseconds(dur):
    _, rows = read(kineto(*(event(n, dur=dur) for n in range(8))))
    assert {row[4] for row in rows} == {68_000}


@pytest.mark.parametrize("strange", [1, 3 * SURPRISES])
def test_categories_that_the_head_did_not_have_are_read_and_cost_no_quick_way(strange):
    """Kernels between them, so that one of either kind is in most segments."""
    mixed = [event(n, cat=("kernel", f"new_{n}")[n % 2]) for n in range(2 * strange)]
    reader, rows = read(kineto(*(event(n) for n in range(9)), *mixed, event(99)))
    assert len(rows) == 10 + strange
    assert reader.reading().way is Way.FAST
    assert {f"new_{n}" for n in range(1, 2 * strange, 2)} < reader.collected.categories


def test_of_a_category_told_twice_the_last_counts_whichever_way():
    twice = event(50, cat='ac2g", "cat": "kernel')
    events = [*(event(n, cat=("kernel", "ac2g")[n % 2]) for n in range(20)), twice, event(60)]
    quick, slow = read(kineto(*events)), read(kineto(*events), head_events=10**9)
    assert len(quick[1]) == 12
    assert quick[1] == slow[1]


def test_of_the_head_no_more_is_parsed_than_is_asked_for_whatever_the_portion():
    parsed = []

    class Watched(TraceReader):
        def _parse(self, chunk):
            parsed.append(len(chunk))
            super()._parse(chunk)

    raw = kineto(*(event(n % 90) for n in range(4_000)))
    reader = Watched(2)
    rows = [reader.feed(raw), reader.finish()]
    assert sum(map(len, rows)) == 4_000
    assert sum(parsed) <= HEAD_PIECE_BYTES < len(raw)
    assert reader.reading().bytes_read == len(raw)


def test_a_file_saved_again_is_read_by_the_parser_and_said_to_be():
    events = [json.loads(event(n)) for n in range(20)]
    turned = [dict(sorted(one.items())) for one in events]
    reader, rows = read(json.dumps({"traceEvents": turned}).encode())
    assert len(rows) == 20
    assert reader.reading().way is Way.PARSER


def test_a_file_saved_again_in_kinetos_order_goes_the_quick_way():
    events = [json.loads(event(n)) for n in range(20)]
    reader, rows = read(json.dumps({"traceEvents": events}).encode())
    assert len(rows) == 20
    assert reader.reading().way is Way.FAST


@pytest.mark.parametrize(
    ("odd", "way"),
    [
        (
            (
                '  {"name": "late", "cat": "kernel", "ph": "X", "ts": 1.0, "dur": 2.0, "pid": 0,'
                ' "tid": 7}'
            ),
            Way.FAST,
        ),
        ('  {"ph":"X","cat":"kernel","name":"late","pid":0,"tid":7,"ts":1.0,"dur":2.0}', Way.FAST),
        (
            (
                '  {\n    "ph": "X", "cat": "kernel", "name": "late", "pid": 0, "tid": 7,\n'
                '    "ts": 1e0, "dur": 2.0\n  }'
            ),
            Way.PARSER,
        ),
        (
            (
                '  {\n    "ph": "X", "cat": "kernel", "name": "late", "pid": 0.5, "tid": 7,\n'
                '    "ts": 1.0, "dur": 2.0\n  }'
            ),
            Way.PARSER,
        ),
    ],
)
def test_a_row_of_another_style_deep_in_the_file_is_not_lost(odd, way):
    raw = kineto(*(event(n) for n in range(10)), odd, *(event(n) for n in range(10, 20)))
    reader, rows = read(raw)
    assert len(rows) == 21
    assert ("late", "kernel", "7", 1000, 2000) in rows
    assert reader.reading().way is way
    assert way is Way.FAST or reader.reading().parser_from_byte > 0


@pytest.mark.parametrize("size", [16, 700, 4096])
@pytest.mark.parametrize("cat", ["kernel", "cpu_op"])
def test_a_stretch_that_was_never_written_is_told_wherever_it_begins_and_ends(size, cat):
    whole = kineto(*(event(n % 90, cat=cat if n % 2 else "kernel") for n in range(80)))
    first = whole.index(event(40, cat="kernel").encode())
    for at in range(first, first + 2 * len(event(40)), 11):
        raw = whole[:at] + b"\0" * size + whole[at + size :]
        for head_events in (2, 1000):
            reader, rows = read(raw, head_events=head_events)
            lost = 80 - len(rows) if cat == "kernel" else 40 - len(rows)
            assert lost <= size // 150 + 2
            assert reader.reading().malformed.damaged
            assert any(one.byte <= at for one in reader.reading().malformed.damage)


def test_bad_utf8_and_control_characters_are_no_reason_to_go_slow():
    odd = event(9, name="here").encode().replace(b"here", b"h\xffer\x01e")
    parts = [event(n).encode() for n in range(20)]
    parts[9] = odd
    raw = HEAD.encode() + b",\n".join(parts) + TAIL.encode()
    reader, rows = read(raw)
    assert [row[0] for row in rows if row[0] != "gemm"] == ["h\ufffder\x01e"]
    assert reader.reading().way is Way.FAST


def test_a_kernel_key_among_arguments_is_no_row_and_no_reason_to_go_slow():
    launch = event(5, cat="cuda_runtime").replace('"device": 0', '"kernel": "void f()"')
    reader, rows = read(kineto(*(event(n) for n in range(5)), launch, *map(event, range(6, 20))))
    assert len(rows) == 19
    assert reader.reading().way is Way.FAST


def test_a_name_that_quotes_a_row_is_only_a_name():
    name = 'a \\"cat\\": \\"kernel\\", \\"name\\": \\"b\\" \\\\ \\u00e9'
    reader, rows = read(kineto(*(event(n, name=name) for n in range(12))))
    assert {row[0] for row in rows} == {'a "cat": "kernel", "name": "b" \\ \u00e9'}
    assert len(rows) == 12
    assert reader.reading().way is Way.FAST


def test_control_characters_and_bad_utf8_cost_nothing_but_the_character():
    raw = kineto(*(event(n, name="tab\there") for n in range(12))).replace(b"here", b"h\xff\x00")
    _, rows = read(raw)
    assert len(rows) == 12
    assert {row[0] for row in rows} == {"tab\th\ufffd\x00"}


@pytest.mark.parametrize("portion", [200, 10_000])
def test_a_cut_file_gives_its_whole_rows_and_says_that_it_is_cut(portion):
    raw = kineto(*(event(n) for n in range(20)))
    whole = len(HEAD) + 15 * (len(event(0)) + 2)
    reader, rows = read(raw[: whole + 60], portion)
    assert len(rows) == 15
    assert reader.reading().cut
    assert reader.reading().events


def test_a_record_that_is_no_json_is_skipped_counted_and_does_not_take_others_along():
    raw = kineto(event(0), "  {\n    \"ph\": 'broken'\n  }", event(2), event(3))
    reader, rows = read(raw, portion=10_000, head_events=100)
    assert len(rows) == 3
    assert reader.reading().malformed.damaged == 1
    assert not reader.reading().cut


@pytest.mark.parametrize("portion", [1, 200, 10_000])
@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("  {\n    \"ph\": 'broken'\n  }", "no JSON: Expecting value"),
        ('  {"ph": "X" "cat": "kernel"}', "no JSON: Expecting ',' delimiter"),
        ('  {"a":' + "[" * 5_000 + "]" * 5_000 + "}", "it is nested too deeply"),
        ("  17", "it is 17, no object"),
        ('  "\u00e9"', "it is 'é', no object"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_by_its_place_with_the_reason(portion, record, why):
    parts = [*map(event, range(12)), record, *map(event, range(13, 20))]
    raw = kineto(*parts)
    reader, rows = read(raw, portion=portion, head_events=100)
    found = reader.reading().malformed
    assert len(rows) == 19
    (one,) = found.damage
    assert found.damaged == 1
    assert one.byte == raw.index(record.encode()) + 2
    assert one.why == why
    assert one.begins.startswith(record.strip()[:50])


@pytest.mark.parametrize("portion", [1, 200, 10_000])
def test_a_damaged_device_row_is_named_behind_the_quick_way_too(portion):
    lame = event(12).replace('"dur": 1.500', '"dur" 1.500')
    raw = kineto(*map(event, range(12)), lame, *map(event, range(13, 20)))
    reader, rows = read(raw, portion=portion, head_events=3)
    (one,) = reader.reading().malformed.damage
    assert len(rows) == 19
    assert (one.byte, one.why) == (raw.index(lame.encode()) + 2, "no JSON: Expecting ':' delimiter")
    assert portion == 10_000 or reader.reading().parser_from_byte


def test_the_first_few_are_named_and_all_are_counted():
    parts = [event(0), *(str(n) for n in range(9)), event(1)]
    found = read(kineto(*parts))[0].reading().malformed
    assert found.damaged == 9
    assert [one.begins[0] for one in found.damage] == list("01234")


@pytest.mark.parametrize("head_events", [2, 100])
@pytest.mark.parametrize(
    ("dur", "why"),
    [
        ("-1.000", "dur is -1.000, below 0"),
        ("99999999999999999999.000", "dur is 99999999999999999999.000, no time"),
        ("17592186044417.000", "dur is 17592186044417.000 us, above 4.9 h"),
        ('"1"', "dur is '1', no time"),
        ("null", "it has no dur"),
    ],
)
def test_rows_without_usable_times_are_counted_named_and_left_out(head_events, dur, why):
    raw = kineto(event(0), event(1), event(2, dur=dur, name="lame"), *map(event, range(3, 9)))
    reader, rows = read(raw, head_events=head_events)
    assert len(rows) == 8
    assert reader.reading().malformed.rejected == 1
    (one,) = reader.reading().malformed.rejects
    assert (one.name, one.why) == ("lame", why)


def test_a_bare_list_of_events_is_a_trace():
    raw = b"[" + ",\n".join(event(n) for n in range(20)).encode() + b"]"
    reader, rows = read(raw)
    assert len(rows) == 20
    assert not reader.reading().cut
    assert reader.reading().events
    slow, _ = read(raw, head_events=100)
    assert slow.reading().events


@pytest.mark.parametrize("raw", [b"", b"   ", b"x", b"{}", b'{"a": 1}', b"nul"])
def test_what_is_no_trace_has_no_events(raw):
    reader, rows = read(raw)
    assert rows == []
    assert not reader.reading().events


def test_steps_and_watched_operators_are_found_the_quick_way():
    events = [event(n) for n in range(6)]
    events += [event(10, cat="user_annotation", name="ProfilerStep#3", dur="9.000")]
    events += [event(11, cat="gpu_user_annotation", name="ProfilerStep#4")]
    events += [event(12, cat="cpu_op", name="transformers::grouped_mm_fallback")] * 2
    events += [event(13, cat="cpu_op", name="my_grouped_mm")] + [event(n) for n in range(14, 20)]
    reader, rows = read(kineto(*events))
    (step,) = reader.collected.steps.values()
    assert (step.number, step.end_ns - step.start_ns) == (3, 9_000)
    assert reader.collected.operators == {"transformers::grouped_mm_fallback": 2}
    assert len(rows) == 12
    assert reader.reading().way is Way.FAST


def test_every_watched_operator_is_counted_once_the_quick_way():
    calls = [event(10 + n, cat="cpu_op", name=name) for n, name in enumerate(sorted(OPERATORS))]
    others = [event(80, cat="cpu_op", name="aten::_softmax_backward_data")]
    reader, _ = read(kineto(*map(event, range(6)), *calls, *others, *map(event, range(90, 99))))
    assert reader.collected.operators == dict.fromkeys(OPERATORS, 1)
    assert reader.reading().way is Way.FAST


def test_what_an_empty_trace_lacks_can_be_told():
    reader, _ = read(kineto(*(event(n, cat="cuda_runtime") for n in range(20))))
    assert "cuda_runtime" in reader.collected.categories


def test_a_segment_that_is_refused_leaves_nothing_behind():
    head = kineto(*(event(n) for n in range(4)))
    collected = Collected()
    fast = FastRows(learn(head), collected)
    bad = b",\n" + event(0).encode() + b',\n  {"cat": "kernel"]'
    assert not fast.scan(bad, len(bad))
    assert len(collected.take_rows()) == 0
    good = b",\n" + event(0).encode()
    assert fast.scan(good, len(good))
    assert len(collected.take_rows()) == 1


@pytest.mark.parametrize("at", [1, 15])
def test_a_row_quoted_whole_among_an_events_arguments_is_no_row(at):
    inner = " ".join(event(at, name="inner").split())
    outer = event(at, cat="cpu_op").replace('"device": 0', f'"was": {inner}')
    events = [outer if n == at else event(n) for n in range(20)]
    _, rows = read(kineto(*events))
    assert len(rows) == 19
    assert "inner" not in {row[0] for row in rows}


def test_rows_among_the_arguments_of_a_record_are_none_in_the_head_either():
    inner = event(1, name="inner").strip()
    listed = event(1, cat="cpu_op").replace('"device": 0', f'"was": [1, {{}},\n  {inner}]')
    _, rows = read(kineto(event(0), listed, *(event(n) for n in range(2, 20))), 1000, 4)
    assert len(rows) == 19
    assert "inner" not in {row[0] for row in rows}


def test_a_head_that_the_quick_way_cannot_vouch_for_is_left_to_the_parser():
    events = [event(n, ts="1e3" if n == 1 else None) for n in range(20)]
    reader, rows = read(kineto(*events), 1000, 4)
    assert len(rows) == 20
    assert reader.reading().parser_from_byte == 0


def test_a_steps_or_operators_name_elsewhere_is_neither():
    named = event(8, cat="user_annotation").replace('"device": 0', '"was": "ProfilerStep#9"')
    fallback = event(9, cat="user_annotation", name="transformers::grouped_mm_fallback")
    on_device = event(10, cat="gpu_user_annotation", name="ProfilerStep#9")
    reader, _ = read(kineto(*map(event, range(8)), named, fallback, on_device, event(11)))
    assert reader.collected.steps == {}
    assert reader.collected.operators == {}
    assert reader.reading().malformed.rejected == 0


def test_a_row_without_times_is_refused_and_left_to_the_parser():
    lame = '  {\n    "ph": "X", "cat": "kernel", "name": "lame", "pid": 0, "tid": 7\n  }'
    reader, rows = read(kineto(*map(event, range(9)), lame, *map(event, range(10, 20))))
    assert len(rows) == 19
    assert reader.reading().malformed.rejected == 1
    assert "lame" not in {row[0] for row in rows}


@pytest.mark.parametrize(
    "ts", ["9223372036854775.808", "9" * 40 + ".000", "1" + "0" * 5000, "1e999999999"]
)
def test_times_beyond_int64_are_rejected_whichever_way(ts):
    events = [event(n, ts=ts) if n == 12 else event(n) for n in range(20)]
    for head_events in (2, 100):
        reader, rows = read(kineto(*events), head_events=head_events)
        assert len(rows) == 19
        assert reader.reading().malformed.rejected + reader.reading().malformed.damaged == 1


def test_a_number_that_goes_on_in_the_next_portion_is_not_taken_early():
    raw = b'{"traceEvents": [], "baseTimeNanoseconds": 1735632360000000000}'
    reader, _ = read(raw, portion=45)
    assert reader.reading().facts == {"baseTimeNanoseconds": 1735632360000000000}


def test_a_step_written_twice_is_as_long_as_both():
    twice = [
        event(0, cat="user_annotation", name="ProfilerStep#1", ts="10.000", dur="5.000"),
        event(0, cat="user_annotation", name="ProfilerStep#1", ts="12.000", dur="9.000"),
    ]
    (step,) = read(kineto(*twice))[0].collected.steps.values()
    assert (step.start_ns, step.end_ns) == (10_000, 21_000)


def test_an_operator_in_another_style_deep_in_the_file_is_counted():
    odd = '  {"cat": "cpu_op", "name": "transformers::grouped_mm_fallback", "ph": "X"}'
    odd = odd.replace('"cat": ', '"cat":')
    reader, _ = read(kineto(*map(event, range(9)), odd, *map(event, range(10, 20))))
    assert reader.collected.operators == {"transformers::grouped_mm_fallback": 1}
