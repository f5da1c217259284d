"""Files of records as they are met: nothing is dropped, everything bad has its place."""

import gzip
import json
import os
import stat
import threading
import zipfile

import pytest

from pfid.adapters.result_files import Reader
from pfid.adapters.result_places import files_of
from pfid.config.gates import Fields, Records
from pfid.domain.errors import ConfigError
from pfid.formats.results.problems import ResultFileError

GOOD = [{"id": i, "output": f"answer {i}", "acc": 1.0} for i in range(4)]


def lines(*objects):
    return b"".join(
        (o if isinstance(o, bytes) else json.dumps(o).encode()) + b"\n" for o in objects
    )


def read(path, **how):
    return Reader(how=Records(**how)).read(path, 0)


def why(log):
    return [(b.place, b.reason) for b in log.bad]


def test_bad_lines_are_counted_with_their_numbers_and_the_rest_is_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(
        lines(
            GOOD[0],
            b"{broken",
            b'{"id": 1, "output": "caf\xe9"}',
            b"",
            b"[1]",
            b"[" * 100_000,
            b'{"id": 2, "acc": NaN, "output": "x"}',
            {"id": 3},
            GOOD[1],
        )
    )
    log = read(path, fields=Fields(scores={"acc": "acc"}))
    assert [r.item for r in log.records] == ["0", "1"]
    assert why(log) == [
        ("r.jsonl:2", "not_json"),
        ("r.jsonl:3", "not_utf8"),
        ("r.jsonl:5", "not_an_object"),
        ("r.jsonl:6", "not_json"),
        ("r.jsonl:7", "score_is_nan"),
        ("r.jsonl:8", "no_output"),
    ]


def test_a_huge_line_is_bad_and_the_next_one_is_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(GOOD[0], {"id": 9, "output": "x" * 10_000}, GOOD[1]))
    log = read(path, line_max_bytes=1_024)
    assert [r.item for r in log.records] == ["0", "1"]
    assert why(log) == [("r.jsonl:2", "line_too_long")]


def test_more_records_than_may_be_held_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(*({"id": n, "output": "x"} for n in range(10))))
    assert len(read(path, max_records=10).records) == 10
    with pytest.raises(ResultFileError, match=r"more than 9 records: .*raise records.max_records"):
        read(path, max_records=9)
    one = tmp_path / "r.json"
    one.write_text(json.dumps([{"id": n, "output": "x"} for n in range(10)]))
    with pytest.raises(ResultFileError, match="more than 9"):
        read(one, max_records=9)
    reader = Reader(how=Records(max_records=15))
    reader.read(path, 0)
    with pytest.raises(ResultFileError, match="more than 15"):
        reader.read(path, 1)


def test_gzip_is_read_and_one_that_is_cut_off_says_so(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    whole = gzip.compress(
        b"".join(lines({"id": i, "output": os.urandom(40).hex()}) for i in range(500))
    )
    path.write_bytes(whole)
    assert len(read(path).records) == 500
    path.write_bytes(whole[: len(whole) // 2])
    log = read(path)
    assert 0 < len(log.records) < 500
    assert "cut_off" in [reason for _, reason in why(log)]


def test_a_list_of_records_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(GOOD, indent=1))
    assert len(read(path).records) == 4
    path = tmp_path / "marked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + lines(*GOOD))
    assert len(read(path).records) == 4


@pytest.mark.parametrize("format_", ["auto", "json_lines"])
def test_a_list_on_each_line_is_read_to_its_last_record(tmp_path, format_):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(GOOD[:2], b"", GOOD[2:3], GOOD[3], [1], []))
    log = read(path, format=format_)
    assert [r.item for r in log.records] == ["0", "1", "2", "3"]
    assert [r.place for r in log.records] == ["r.jsonl:1[0]", "r.jsonl:1[1]", "r.jsonl:3[0]",
                                              "r.jsonl:4"]  # fmt: skip
    assert why(log) == [("r.jsonl:5", "not_an_object"), ("r.jsonl:6", "not_an_object")]
    path.write_bytes(lines(*(GOOD[:2] for _ in range(3))))
    with pytest.raises(ResultFileError, match="more than 5"):
        read(path, max_records=5)


def test_records_of_lists_that_have_no_id_are_numbered_apart(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines([{"output": "a"}, {"output": "b"}], {"output": "c"}))
    items = [r.item for r in read(path, fields=Fields(item="#")).records]
    assert len(set(items)) == 3


def test_a_list_with_blank_lines_behind_it_is_the_whole_file(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(GOOD) + b"\n  \n")
    assert next(r.place for r in read(path).records) == "r.jsonl[0]"


def test_what_follows_a_log_on_its_line_is_refused_and_not_lost(tmp_path):
    path = tmp_path / "both.jsonl"
    log = {"version": 2, "status": "success", "eval": {"task": "a"}, "samples": [],
           "plan": {}, "results": {}}  # fmt: skip
    path.write_bytes(lines(log, b"", log, b"{broken"))
    assert why(read(path)) == [("both.jsonl:3", "after_a_log"), ("both.jsonl:4", "after_a_log")]
    path.write_bytes(lines(log) + b"\n")
    assert why(read(path)) == []


def test_an_empty_file_holds_nothing_and_nothing_bad(tmp_path):
    path = tmp_path / "r.jsonl"
    path.touch()
    log = read(path)
    assert (log.records, log.bad) == ((), ())


def test_the_digest_is_of_every_byte_whatever_is_read_of_it(tmp_path):
    path = tmp_path / "r.jsonl"
    digests = set()
    for tail in (b"", b"\n", b"{broken"):
        path.write_bytes(lines(*GOOD) + tail)
        reader = Reader(how=Records())
        reader.read(path, 0)
        digests.add(reader.digest)
    assert len(digests) == 3


def test_a_pipe_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    writer = threading.Thread(target=lambda: path.write_bytes(lines(*GOOD)))
    writer.start()
    assert len(read(path).records) == 4
    writer.join()


@pytest.mark.parametrize("body", [b"PK\x03\x04 no archive", b"\x1f\x8b no gzip"])
def test_what_only_begins_like_a_log_is_refused_or_empty(tmp_path, body):
    path = tmp_path / "r.eval"
    path.write_bytes(body)
    if body.startswith(b"PK"):
        with pytest.raises(ResultFileError, match="broken"):
            read(path)
    else:
        assert [reason for _, reason in why(read(path))] == ["cut_off"]


def test_an_archive_that_is_no_log_is_refused(tmp_path):
    path = tmp_path / "r.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(ResultFileError, match="no log of inspect-ai"):
        read(path)


def test_a_folder_without_logs_or_with_two_runs_of_a_task_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="name the files"):
        files_of((tmp_path,))
    for date in ("2026-01-01T00-00-00", "2026-01-02T00-00-00"):
        (tmp_path / f"samples_sums_{date}.jsonl").touch()
    with pytest.raises(ConfigError, match="several runs of sums"):
        files_of((tmp_path,))


def test_a_folder_gives_logs_of_inspect_in_either_form(tmp_path):
    (tmp_path / "a.eval").touch()
    (tmp_path / "logs").mkdir()
    log = {"version": 2, "status": "success", "eval": {"task": "b"}}
    (tmp_path / "logs" / "b.json").write_text(json.dumps(log, indent=2))
    (tmp_path / "results_1.json").write_text('{"results": {}, "version": 2}')
    assert files_of((tmp_path,)) == [tmp_path / "a.eval", tmp_path / "logs" / "b.json"]
