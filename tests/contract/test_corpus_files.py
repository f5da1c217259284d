"""A corpus as it lies on disk: read whole, and what is no text counted."""

import gzip
import json
import os

import pytest

from pfid.adapters import corpus_files
from pfid.adapters.corpus_files import CorpusError, CorpusReading


def read(*paths, **more):
    reading = CorpusReading(list(paths), **more)
    return list(reading.pieces()), reading


def test_a_folder_is_read_in_order_and_what_is_no_text_is_counted(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("second")
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    (tmp_path / "link.txt").symlink_to("a.txt")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"third"))
    pieces, reading = read(tmp_path)
    assert [p.text for p in pieces] == [b"first", b"third", b"second"]
    assert [p.new for p in pieces] == [True] * 3
    assert reading.left_out == 2
    assert [reading.files[p.file].name for p in pieces] == ["a.txt", "packed.txt.gz", "two.txt"]


def test_a_field_of_json_lines_wherever_it_is(tmp_path):
    rows = [
        {"m": [{"t": "one"}, {"t": "two"}]},
        {"m": []},
        {"other": 1},
        {"m": [{"t": 7}]},
        {"m": [{"t": "ü\ud800"}]},
    ]
    body = "\n".join(map(json.dumps, rows)) + "\nno json\n\n"
    for name, data in (("x.jsonl", body.encode()), ("x.jsonl.gz", gzip.compress(body.encode()))):
        (tmp_path / name).write_bytes(data)
        pieces, reading = read(tmp_path / name, key="m.*.t")
        assert [(p.line, p.text) for p in pieces] == [(1, b"one"), (1, b"two")]
        assert reading.bad_lines == 5
    assert [p.text for p in read(tmp_path / "x.jsonl", key="m.1.t")[0]] == [b"two"]


def test_characters_are_never_cut_and_bytes_that_are_none_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_files, "BLOCK_BYTES", 5)
    text = "aä€😀z" * 7
    (tmp_path / "t").write_bytes(text.encode())
    pieces, reading = read(tmp_path / "t")
    assert "".join(p.text.decode() for p in pieces) == text
    assert len(pieces) > 5
    assert [p.offset for p in pieces] == [
        sum(len(q.text) for q in pieces[:i]) for i in range(len(pieces))
    ]
    assert [p.new for p in pieces] == [True] + [False] * (len(pieces) - 1)
    assert reading.bad_bytes == 0
    (tmp_path / "bad").write_bytes(b"good \xff\xfe bad \xc3( \xef\xbf\xbd \xe2\x82")
    assert read(tmp_path / "bad")[1].bad_bytes == 4


def test_how_far_it_is_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_files, "BLOCK_BYTES", 100)
    (tmp_path / "a").write_bytes(b"x" * 250)
    (tmp_path / "b.jsonl").write_bytes((b'{"text": "' + b"y" * 40 + b'"}\n') * 5)
    told = []
    read(tmp_path, told=lambda done, of: told.append((done, of)))
    size = 250 + (tmp_path / "b.jsonl").stat().st_size
    assert {of for _, of in told} == {size}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] > 250


@pytest.mark.parametrize("what", ["gone", "binary", "cut", "no_gzip", "fifo"])
def test_what_cannot_be_read_is_said(tmp_path, what):
    path = tmp_path / "corpus.gz"
    if what == "binary":
        path = tmp_path / "corpus.parquet"
        path.write_bytes(b"PAR1\0\0")
    elif what == "cut":
        path.write_bytes(gzip.compress(os.urandom(100_000).hex().encode())[:5_000])
    elif what == "no_gzip":
        path.write_bytes(b"plain text")
    elif what == "fifo":
        os.mkfifo(path)
    with pytest.raises(CorpusError, match=r"corpus\."):
        read(path)


def test_an_empty_file_has_no_text(tmp_path):
    (tmp_path / "e").touch()
    pieces, reading = read(tmp_path)
    assert (pieces, len(reading.files)) == ([], 1)
