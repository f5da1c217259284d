"""Declared files by their content: what stands on a real file system, and what does not."""

import hashlib
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pfid.adapters import content_digest, declared_folder
from pfid.adapters.content_digest import Declared, DigestCache, digest_all
from pfid.domain.provenance import FileRole


def digest(*paths, cache=None, say=lambda _: None):
    declared = [Declared(role=FileRole.DATASET, path=str(path)) for path in paths]
    return digest_all(declared, say, cache)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_a_file_is_its_content_whatever_its_path(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    (tmp_path / "link").symlink_to("a")
    one, other = digest(tmp_path / "a", tmp_path / "link")
    assert one.sha256 == other.sha256 == sha256(b"x" * 3_000_000)
    assert (one.size_bytes, one.files, one.problem, one.cached) == (3_000_000, 1, None, False)


def test_an_edit_is_seen_though_path_size_and_time_stay(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"one")
    os.utime(file, (1, 1))
    (before,) = digest(file)
    file.write_bytes(b"two")
    os.utime(file, (1, 1))
    assert digest(file)[0].sha256 == sha256(b"two") != before.sha256


def test_a_folder_is_names_contents_and_which_of_its_folders_links_lead_to(tmp_path):
    folder = tmp_path / "data"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "2").write_bytes(b"two")
    (folder / "a").write_bytes(b"one")
    (whole,) = digest(folder)
    lines = f"{sha256(b'one')}  a\n{sha256(b'two')}  b/2\n"
    assert whole.sha256 == sha256(lines.encode())
    assert (whole.files, whole.size_bytes) == (2, 6)
    (folder / "a").rename(folder / "c")
    (renamed,) = digest(folder)
    (folder / "current").symlink_to(folder / "b")
    (linked,) = digest(folder)
    assert len({whole.sha256, renamed.sha256, linked.sha256}) == 3
    folder.rename(tmp_path / "moved")
    (tmp_path / "moved" / "current").unlink()
    (tmp_path / "moved" / "current").symlink_to("b")
    assert digest(tmp_path / "moved")[0].sha256 == linked.sha256


def shards(tmp_path):
    """A dataset that lies elsewhere and is linked into the folder that is declared."""
    store, data = tmp_path / "store", tmp_path / "data"
    (store / "deep").mkdir(parents=True)
    data.mkdir()
    (store / "real.jsonl").write_text("one")
    (store / "deep" / "more.jsonl").write_text("two")
    return store, data


@pytest.mark.parametrize("edited", ["real.jsonl", "deep/more.jsonl"])
def test_an_edit_behind_a_link_of_a_folder_is_seen(tmp_path, edited):
    store, data = shards(tmp_path)
    (data / "train.jsonl").symlink_to("../store/real.jsonl")
    (data / "shard").symlink_to(store / "deep")
    (before,) = digest(data)
    lines = f"{sha256(b'two')}  shard/more.jsonl\n{sha256(b'one')}  train.jsonl\n"
    assert (before.sha256, before.files, before.size_bytes) == (sha256(lines.encode()), 2, 6)
    (store / edited).write_text("new")
    (after,) = digest(data)
    assert after.problem is None
    assert after.sha256 != before.sha256


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("nowhere", "dangling_link"),
        ("../store/real.jsonl/x", "dangling_link"),
        ("link", "link_loop"),
        ("..", "link_loop"),
        (".", "link_loop"),
        ("/", "link_loop"),
        ("../store", "link_loop"),
        ("../fifo", "not_regular"),
        ("/dev/zero", "not_regular"),
    ],
)
def test_a_link_of_a_folder_that_leads_to_no_content_is_named(tmp_path, target, problem):
    store, data = shards(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    (store / "deep" / "back").symlink_to(store)
    (data / "link").symlink_to(target)
    (data / "good").write_text("good")
    (found,) = digest(data)
    assert (found.problem, found.sha256) == (problem, None)


def test_folders_that_lead_to_each_other_come_to_an_end(tmp_path):
    """Each has two links to the next: the paths through them are many and the folders few."""
    for n in range(30):
        (tmp_path / f"f{n}").mkdir()
        for name in "ab":
            (tmp_path / f"f{n}" / name).symlink_to(f"../f{n + 1}")
    (tmp_path / "f30").mkdir()
    (tmp_path / "f30" / "file").write_text("x")
    assert digest(tmp_path)[0].problem is None  # all within
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declared_folder, "FILES_MAX", 500)
        assert digest(tmp_path / "f0")[0].problem == "too_many_files"
    (tmp_path / "f30" / "loop").symlink_to("../f29")
    assert digest(tmp_path / "f0")[0].problem == "link_loop"


def test_an_empty_folder_is_one_too(tmp_path):
    (found,) = digest(tmp_path)
    assert (found.sha256, found.files, found.problem) == (sha256(b""), 0, None)


def test_what_has_no_content_to_digest_says_why(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    gone, beneath, fifo, loop = digest(
        tmp_path / "gone", tmp_path / "file" / "x", tmp_path / "fifo", tmp_path / "loop"
    )
    assert [f.problem for f in (gone, beneath, fifo, loop)] == [
        "missing", "missing", "not_regular", "unreadable",
    ]  # fmt: skip
    assert {f.sha256 for f in (gone, beneath, fifo, loop)} == {None}


def test_one_bad_file_takes_nothing_from_the_others_but_all_from_its_folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    (tmp_path / "data" / "bad").write_text("b")
    (tmp_path / "good").write_text("g")
    real = os.open

    def refusing(path, *args, **kwargs):
        if str(path).endswith("bad"):
            raise PermissionError(13, "denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    folder, good = digest(tmp_path / "data", tmp_path / "good")
    assert (folder.problem, folder.sha256) == ("unreadable", None)
    assert good.sha256 == sha256(b"g")


def test_a_file_that_changes_while_it_is_read_has_no_digest(tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_bytes(b"x" * 10)
    real = os.read

    def growing(descriptor, size):
        block = real(descriptor, size)
        if block:
            with file.open("ab") as more:
                more.write(b"y")
        return b"" if file.stat().st_size > 20 else block

    monkeypatch.setattr(os, "read", growing)
    assert digest(file)[0].problem == "changed_while_read"


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(declared_folder, "FILES_MAX", 3)
    for name in "abcd":
        (tmp_path / name).touch()
    assert digest(tmp_path)[0].problem == "too_many_files"


def test_long_reading_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(content_digest, "SAY_EVERY_S", 0.01)
    (tmp_path / "a").write_bytes(b"x" * 1000)
    real = os.read

    def slow(descriptor, size):
        time.sleep(0.05)
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", slow)
    said = []
    digest(tmp_path / "a", say=said.append)
    assert said
    assert "digesting 1 declared files" in said[0]


def test_as_many_files_are_read_at_once_as_there_are_processors(tmp_path, monkeypatch):
    """Each read waits until every reader is at one: alone, the first would wait in vain."""
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text(file.name)
    real, met, waiting_s = os.read, threading.Barrier(len(files)), 20.0

    def meeting(descriptor, size):
        block = real(descriptor, size)
        if block:
            try:
                met.wait(waiting_s)
            except threading.BrokenBarrierError as error:
                raise OSError("nobody else reads") from error
        return block

    monkeypatch.setattr(os, "cpu_count", lambda: len(files))
    monkeypatch.setattr(os, "read", meeting)
    assert [(one.problem, one.sha256) for one in digest(*files)] == [
        (None, sha256(file.name.encode())) for file in files
    ]


@pytest.fixture
def settled(tmp_path, monkeypatch):
    """A file that is old enough to be trusted."""
    monkeypatch.setattr(content_digest, "SETTLED_S", -1.0)
    file = tmp_path / "data.bin"
    file.write_bytes(b"one")
    return file


def test_a_digest_is_trusted_only_where_somebody_wants_that(settled, tmp_path):
    (tmp_path / "digests.json").write_text("{}")
    digest(settled)
    assert (tmp_path / "digests.json").read_text() == "{}"
    cache = DigestCache(tmp_path / "digests.json")
    assert digest(settled, cache=cache)[0].cached is False
    (again,) = digest(settled, cache=DigestCache(tmp_path / "digests.json"))
    assert (again.cached, again.sha256) == (True, sha256(b"one"))


@pytest.mark.parametrize("how", ["content", "time", "inode", "size"])
def test_whatever_moves_of_a_file_its_kept_digest_is_not_believed(settled, tmp_path, how):
    store = tmp_path / "digests.json"
    before = settled.stat()
    digest(settled, cache=DigestCache(store))
    if how == "inode":
        (tmp_path / "other").write_bytes(b"two")
        (tmp_path / "other").replace(settled)
    elif how == "time":
        os.utime(settled, (5, 5))
    else:
        settled.write_bytes(b"two" if how == "content" else b"longer")
    if how != "time":  # an editor that sets the clock of a file back
        os.utime(settled, ns=(before.st_atime_ns, before.st_mtime_ns))
    (found,) = digest(settled, cache=DigestCache(store))
    assert found.cached is False
    assert found.sha256 == sha256(settled.read_bytes())


@pytest.mark.parametrize("field", ["st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"])
def test_every_mark_of_a_file_is_in_the_key_of_its_digest(settled, field):
    found = settled.stat()
    marks = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    same = SimpleNamespace(**{name: getattr(found, name) for name in marks})
    assert content_digest._key(same) == content_digest._key(found)
    setattr(same, field, getattr(same, field) + 1)
    assert content_digest._key(same) != content_digest._key(found)


def test_a_file_younger_than_the_clocks_grain_is_not_kept(tmp_path):
    (tmp_path / "a").write_text("x")
    cache = DigestCache(tmp_path / "digests.json")
    digest(tmp_path / "a", cache=cache)
    assert not (tmp_path / "digests.json").exists()


@pytest.mark.parametrize("body", ["", "[]", "{", '{"a": 1}'])
def test_a_cache_that_is_none_is_no_loss(settled, tmp_path, body):
    store = tmp_path / "digests.json"
    store.write_text(body)
    assert digest(settled, cache=DigestCache(store))[0].sha256 == sha256(b"one")
    assert digest(settled, cache=DigestCache(store))[0].cached


def test_a_cache_that_cannot_be_written_is_no_loss(settled, tmp_path):
    cache = DigestCache(tmp_path / "no" / "digests.json")
    assert digest(settled, cache=cache)[0].sha256 == sha256(b"one")
    assert not list(Path(tmp_path).glob(".digests*"))
