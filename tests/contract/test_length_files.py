"""Lengths out of real files: parquet, Arrow and .npy as their libraries write them, and a pipe."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from pfid.adapters.length_files import load_lengths, load_sources
from pfid.analysis.length_values import Fields, LengthsError

IDS = [[1, 2, 3], [4], [5, 6]]


def named(sources):
    return [sources.names[code] for code in sources.codes]


def written(path, table, kind):
    if kind == "parquet":
        pq.write_table(table, path)
        return path
    opener = ipc.new_file if kind == "file" else ipc.new_stream
    with opener(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, 1, 2], pa.int32()),
        pa.array(IDS, pa.list_(pa.int64())),
        pa.array(IDS, pa.large_list(pa.int32())),
    ],
    ids=["numbers", "lists", "large_lists"],
)
def test_tables_of_every_kind_hold_lengths_and_sources(tmp_path, kind, column):
    table = pa.table({"input_ids": column, "source": ["a", "b", "a"]})
    path = written(tmp_path / "data", table, kind)
    found = load_lengths(str(path), Fields())
    assert found.lengths.tolist() == [3, 1, 2]
    assert named(found.sources) == ["a", "b", "a"]
    assert named(load_sources(str(path), Fields())) == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("table", "fields", "why"),
    [
        ({"length": [3, None, 2]}, {}, "record 2 in 'length': nothing"),
        ({"length": ["x", "y", "z"]}, {}, "column 'length' holds string"),
        ({"size": [3, 1, 2]}, {}, "no column of those usual .*; there are: size"),
        ({"length": [3, 1, 2]}, {"length": "n"}, "no column 'n'; there are: length"),
        ({"length": [3, 1, 2], "source": ["a", None, "b"]}, {}, "record 2 in 'source'"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_column(tmp_path, table, fields, why):
    path = written(tmp_path / "data.parquet", pa.table(table), "parquet")
    with pytest.raises(LengthsError, match=f"data.parquet: .*{why}"):
        load_lengths(str(path), Fields(**fields))


def test_a_table_cut_off_is_no_table(tmp_path):
    path = written(tmp_path / "data.parquet", pa.table({"length": [3]}), "parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LengthsError, match=r"data\.parquet: no table in it"):
        load_lengths(str(path), Fields())


def test_an_array_saved_by_numpy(tmp_path):
    np.save(tmp_path / "lengths.npy", np.array([3, 1, 2], dtype=np.int16))
    np.save(tmp_path / "names.npy", np.array(["a", "b", "a"]))
    assert load_lengths(str(tmp_path / "lengths.npy"), Fields()).lengths.tolist() == [3, 1, 2]
    assert named(load_sources(str(tmp_path / "names.npy"), Fields())) == ["a", "b", "a"]


@pytest.mark.parametrize("data", [b"3\n1\n2\n", b"[3, 1, 2]"])
def test_a_pipe(data):
    code = (
        "from pfid.adapters.length_files import load_lengths as l;"
        "from pfid.analysis.length_values import Fields as F;"
        "print(l('-', F()).lengths.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert json.loads(done.stdout) == [3, 1, 2]


def test_without_pyarrow_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    path = written(tmp_path / "data.parquet", pa.table({"length": [3]}), "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LengthsError, match=r"pip install '\.\[arrow\]'"):
        load_lengths(str(path), Fields())
