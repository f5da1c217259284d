"""Lengths are read from what people have; what is malformed is named by its record."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.length_input import Fields, LengthsError, read_lengths, read_sources


def stream(data):
    return io.BufferedReader(io.BytesIO(data if isinstance(data, bytes) else data.encode()))


def lengths(data, **fields):
    return read_lengths(stream(data), Fields(**fields)).lengths.tolist()


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
    assert read_lengths(stream(text), Fields()).sources == ("a", "7")
    columns = '{"length": [3, 5], "root": ["a", "b"]}'
    assert read_lengths(stream(columns), Fields()).sources == ("a", "b")
    other = '{"length": 3, "from": "a"}\n{"length": 5, "from": "b"}\n'
    assert read_lengths(stream(other), Fields(source="from")).sources == ("a", "b")
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
    assert read_sources(stream(data), Fields()) == ("wiki", "code")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "no number"),
        ("   \n", "no number"),
        ("3\n5.5\n", "line 2, record 2: '5.5' is no whole number"),
        ("3 4\nfive\n", "line 2, record 3: 'five'"),
        ("3\n99999999999999999999\n", "line 2, record 2"),
        ("3\n\xff\n", "line 2, record 2"),
        ("[3, 5", "line 1: no JSON"),
        ("[" * 100_000, "line 1: no JSON"),
        ('{"length": 3}\n' + "[" * 100_000, "line 2: no JSON"),
        ("[3, null]", "record 2: nothing: is no number of tokens"),
        ('[3, "five"]', "record 2: 'five': text is no number"),
        ("[3, true]", "record 2: True"),
        ("[3, 2.5]", r"record 2: 2\.5"),
        ('[{"length": 3}, 5]', "record 2: 5 is no object"),
        ('{"length": 3}\n{"length": \n', "line 2: no JSON"),
        ('{"length": 3}\n{"size": 3}\n', "line 2 in 'length': nothing"),
        ('{"size": 3}\n{"size": 4}\n', "no field of a length .*; it has: size"),
        ('{"length": 3, "source": "a"}\n{"length": 3}\n', "line 2: nothing names no source"),
        ("[]", "no record"),
        (npy([[1, 2], [3, 4]]), r"shape \(2, 2\)"),
        (npy([1.0, np.nan]), "record 2: nan"),
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


@given(data=st.binary(max_size=200))
def test_nothing_but_a_named_error_comes_of_rubbish(data):
    try:
        read_lengths(stream(data), Fields())
        read_sources(stream(data), Fields())
    except LengthsError:
        pass
