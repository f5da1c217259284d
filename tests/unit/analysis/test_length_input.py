"""Lengths are read from what people have; what is malformed is named by its record."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.analysis import json_items
from pfid.analysis.length_input import read_lengths, read_sources
from pfid.analysis.length_values import Fields, LengthsError


def stream(data):
    return io.BufferedReader(io.BytesIO(data if isinstance(data, bytes) else data.encode()))


def lengths(data, **fields):
    return read_lengths(stream(data), Fields(**fields)).lengths.tolist()


def named(sources):
    return [sources.names[code] for code in sources.codes]


def npy(values, dtype=None):
    out = io.BytesIO()
    np.save(out, np.array(values, dtype=dtype))
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        "3\n5\n2\n",
        "3 5 2",
        "3,5,2",
        "\ufeff3;5\t2\r\n",
        "[3, 5, 2]",
        "[\n  3,\n  5,\n  2\n]",
        "3\n\n5\n2",
        '{"length": 3}\n{"length": 5}\n\n{"length": 2}\n',
        '{"n_tokens": 3, "text": "a"}\n{"n_tokens": 5}\n{"n_tokens": 2.0}',
        '{"input_ids": [1, 2, 3]}\n{"input_ids": [1, 2, 3, 4, 5]}\n{"input_ids": [1, 2]}',
        "[1, 2, 3]\n[1, 2, 3, 4, 5]\n[1, 2]\n",
        "[[1, 2, 3], [1, 2, 3, 4, 5], [1, 2]]",
        '[{"tokens": 3}, {"tokens": 5}, {"tokens": 2}]',
        '{"lengths": [3, 5, 2]}',
        '{\n  "lengths": [3, 5, 2]\n}\n',
        '{"input_ids": [[1, 2, 3], [1, 2, 3, 4, 5], [1, 2]]}',
        npy([3, 5, 2]),
        npy([3, 5, 2], np.uint16),
        npy([3.0, 5.0, 2.0]),
    ],
)
def test_files_of_every_kind_hold_the_same_lengths(data):
    assert lengths(data) == [3, 5, 2]


def test_a_field_of_another_name_is_asked_for():
    assert lengths('{"n": 3, "length": 9}\n{"n": 5, "length": 9}', length="n") == [3, 5]


def test_sources_come_with_the_records():
    text = '{"length": 3, "source": "a"}\n{"length": 5, "source": 7}\n'
    assert named(read_lengths(stream(text), Fields()).sources) == ["a", "7"]
    columns = '{"length": [3, 5], "root": ["a", "b"]}'
    assert named(read_lengths(stream(columns), Fields()).sources) == ["a", "b"]
    other = '{"length": 3, "from": "a"}\n{"length": 5, "from": "b"}\n'
    assert named(read_lengths(stream(other), Fields(source="from")).sources) == ["a", "b"]
    assert read_lengths(stream(other), Fields()).sources is None


@pytest.mark.parametrize(
    "data",
    [
        "wiki\ncode\n",
        '["wiki", "code"]',
        '{"source": "wiki"}\n{"source": "code"}',
        '{"source": ["wiki", "code"]}',
        npy(["wiki", "code"]),
    ],
)
def test_sources_lie_in_a_file_of_their_own(data):
    assert named(read_sources(stream(data), Fields())) == ["wiki", "code"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "no number"),
        ("   \n", "no number"),
        ("3\n5.5\n", "line 2, record 2: '5.5' is no whole number"),
        ("3 4\nfive\n", "line 2, record 3: 'five'"),
        ("3\n99999999999999999999\n", "line 2, record 2"),
        ("3\n\xff\n", "line 2, record 2"),
        ("[3, 5", "record 3: no JSON"),
        ('[{"length": 3},\n{"length" 4}]', "record 2: no JSON"),
        ("[" * 100_000, "line 1: no JSON"),
        ('{"length": 3}\n' + "[" * 100_000, "line 2: no JSON"),
        ("[3, NaN, 5]", "record 2: no JSON"),
        ("[3, null]", "record 2: nothing: is no number of tokens"),
        ('[3, "five"]', "record 2: 'five': text is no number"),
        ("[3, true]", "record 2: True"),
        ("[3, 2.5]", r"record 2: 2\.5"),
        ('[{"length": 3}, 5]', "record 2: 5 is no object"),
        ('{"length": 3}\n{"length": \n', "line 2: no JSON"),
        ('{"length": 3}\n{"size": 3}\n', "line 2 in 'length': nothing"),
        ('{"size": 3}\n{"size": 4}\n', "no field of a length .*; it has: size"),
        (
            '{"length": 3, "source": "a"}\n{"length": 3}\n',
            "line 2 in 'source': nothing names no source",
        ),
        ('{"length": [3, "x"]}', "record 2 in 'length': 'x'"),
        ('{"length": [3, 5], "source": ["a", null]}', "record 2 in 'source': nothing"),
        ('{"length": [3, 5], "source": "a"}', "column 'source' is 'a', no list"),
        ("[]", "no record"),
        (npy([[1, 2], [3, 4]]), r"shape \(2, 2\)"),
        (npy([1.0, np.nan]), "record 2: nan"),
        (npy([1, 2**63 + 5], "u8"), "record 2: 9223372036854775813 is no number"),
        (npy(["a"]), "wanted whole numbers"),
        (npy([1, 2])[:100], r"no \.npy array"),
    ],
)
def test_what_is_malformed_is_named(data, why):
    with pytest.raises(LengthsError, match=why):
        lengths(data)


def test_a_pickle_inside_an_npy_is_never_loaded():
    with pytest.raises(LengthsError, match="allow_pickle"):
        lengths(npy([{"a": 1}], object))


def test_a_field_that_is_not_there_is_not_replaced_by_another():
    with pytest.raises(LengthsError, match="no field 'n'; it has: length"):
        lengths('{"length": 3}\n{"length": 4}', length="n")


@given(values=st.lists(st.integers(1, 1 << 30), min_size=1, max_size=50))
def test_text_and_json_say_the_same(values):
    assert lengths("\n".join(map(str, values))) == values
    assert lengths(json.dumps(values)) == values
    assert lengths("".join(json.dumps({"length": v}) + "\n" for v in values)) == values


@settings(max_examples=40)
@given(
    records=st.lists(
        st.tuples(st.integers(1, 9_999) | st.just([7, 7]), st.text(min_size=1) | st.integers()),
        min_size=2,
        max_size=15,
    ),
    piece=st.integers(1, 200),
)
def test_pieces_of_any_size_hold_the_same_records(records, piece):
    # inside, too, something that looks like the next record
    inner = [{"id": 1}, {"id": "a,"}]
    rows = [{"id": inner, "length": n, "source": source} for n, source in records]
    wanted = [n if isinstance(n, int) else len(n) for n, _ in records]
    names = [str(source) for _, source in records]
    columns = {"length": [n for n, _ in records], "source": [source for _, source in records]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "PIECE_BYTES", piece)
        for text in (
            json.dumps(rows),
            json.dumps(rows, indent=1),
            json.dumps(columns, ensure_ascii=False),
            "".join(json.dumps(row) + "\n" for row in rows),
            "\n\r\n".join(json.dumps(row) for row in rows),
        ):
            found = read_lengths(stream(text), Fields())
            assert found.lengths.tolist() == wanted
            assert named(found.sources) == names


@pytest.mark.parametrize("count", [1, 40_000])
@pytest.mark.parametrize("end", ["\n", "\n\n"])
def test_a_line_is_numbered_as_an_editor_does(count, end):
    data = "\n" + f'{{"length": 3, "source": "a"}}{end}' * count + '{"length": "x"}'
    line = data.count("\n") + 1
    with pytest.raises(LengthsError, match=f"line {line} in 'length': 'x'"):
        read_lengths(stream(data), Fields())


def test_a_record_far_behind_is_named():
    for data in (
        json.dumps([{"length": 3}] * 70_000 + [{"length": None}]),
        json.dumps({"length": [3] * 400_000 + [None]}),
        json.dumps([3] * 400_000 + [None]),
    ):
        number = data.count("3") + 1
        with pytest.raises(LengthsError, match=f"record {number}.*: nothing"):
            read_lengths(stream(data), Fields())


@pytest.mark.parametrize("records", [[5, 7] * 400_000, [{"length": 5}, {"length": 7}] * 100_000])
def test_a_list_is_decoded_in_pieces_of_one_type(records):
    items = json_items.ListItems(json.dumps(records).encode())
    kind = type(records[0])
    pieces = [items.typed(piece, items.decoder(kind)) for piece in items.pieces()]
    assert len(pieces) > 1
    assert [one for piece in pieces for one in piece] == records


def test_a_name_is_kept_once_and_a_number_names_what_its_digits_name():
    text = '{"length": 1, "source": "b"}\n{"length": 1, "source": 7}\n{"length": 1, "source": "7"}'
    sources = read_lengths(stream(text), Fields()).sources
    assert sources.names == ("7", "b")
    assert sources.codes.tolist() == [1, 0, 0]
    assert read_sources(stream(npy([9, 7, 9])), Fields()).names == ("7", "9")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("wiki\n\ncode\n", "line 2: '' names no source"),
        (b"wiki\nco\xffde\n", "line 2: not UTF-8"),
        ('["wiki", ""]', "record 2: '' names no source"),
        (npy(["wiki", ""]), "record 2: '' names no source"),
        ('{"source": "a"}\n{"source": true}\n', "line 2 in 'source': True"),
        ('{"source": "a"}\n{"source": "a"}{"source": "a"}\n', "line 2: no JSON"),
    ],
)
def test_a_source_that_is_none_is_named(data, why):
    with pytest.raises(LengthsError, match=why):
        read_sources(stream(data), Fields())


@pytest.mark.parametrize("field", ['a"b', "a\\b", "f0", "length"])
def test_a_field_may_have_any_name(field):
    text = "".join(json.dumps({field: n, "f1": 9}) + "\n" for n in (3, 5))
    found = read_lengths(stream(text), Fields(length=field, source=field))
    assert found.lengths.tolist() == [3, 5]
    assert named(found.sources) == ["3", "5"]


@given(data=st.binary(max_size=200))
def test_nothing_but_a_named_error_comes_of_rubbish(data):
    try:
        read_lengths(stream(data), Fields())
        read_sources(stream(data), Fields())
    except LengthsError:
        pass
