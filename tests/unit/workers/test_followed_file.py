"""One followed file against a real one: growth, truncation, rewriting, holes, resuming."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pfid.wire.reader import Batch, Configure, Follow, StreamKind
from pfid.workers import followed_file
from pfid.workers.arrival import ArrivalClock
from pfid.workers.followed_file import FollowedFile
from pfid.workers.link_name import CHECK_EVERY_S
from pfid.workers.parser_choice import parser_for
from pfid.workers.steps_text import StepsText


def line(step: int) -> bytes:
    return b'{"step":%d,"seconds":0.5}\n' % step


def lines(first: int, last: int) -> bytes:
    return b"".join(line(step) for step in range(first, last + 1))


class Followed:
    """A file, its follower, and everything the follower said."""

    def __init__(self, path: Path, order: Follow | None = None) -> None:
        self.path = path
        order = order or Follow(stream=1, kind=StreamKind.STEPS)
        self.file = FollowedFile(
            os.open(path, os.O_RDONLY), order, self._parser(order), ArrivalClock()
        )
        self.now_s = 0.0
        self.batches: list[Batch] = []

    @staticmethod
    def _parser(order: Follow):
        return lambda state: parser_for(order, Configure(), state)

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def catch_up(self) -> list[int]:
        """Look and read until nothing is left; return the steps that came."""
        self.now_s += 1.0
        self.file.look(self.now_s)
        while self.file.backlog_bytes:
            self.file.read()
        batch = self.file.take_batch()
        if batch is None:
            return []
        self.batches.append(batch)
        return [event.index for event in batch.events]

    @property
    def last(self) -> Batch:
        return self.batches[-1]


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(lines(1, 3))
    followed = Followed(path)
    yield followed
    followed.file.close()


def test_every_line_comes_once_also_in_pieces(followed: Followed):
    assert followed.catch_up() == [1, 2, 3]
    followed.append(line(4)[:7])
    assert followed.catch_up() == []
    followed.append(line(4)[7:])
    assert followed.catch_up() == [4]
    assert followed.catch_up() == []
    assert followed.last.offset == followed.path.stat().st_size


def test_a_file_of_many_chunks_comes_whole(followed: Followed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(followed_file, "CHUNK_BYTES", 10)
    followed.append(lines(4, 50))
    assert followed.catch_up() == list(range(1, 51))


def test_a_new_stream_reports_at_once_and_then_only_what_is_new(tmp_path: Path):
    (tmp_path / "empty").touch()
    followed = Followed(tmp_path / "empty")
    followed.catch_up()
    assert len(followed.batches) == 1
    followed.catch_up()
    assert len(followed.batches) == 1
    followed.file.close()


def test_what_stood_before_the_run_is_counted_and_never_replayed(tmp_path: Path):
    path = tmp_path / "steps.jsonl"
    path.write_bytes(lines(1, 9))
    begins_at = path.stat().st_size
    followed = Followed(path, Follow(stream=1, kind=StreamKind.STEPS, begins_at=begins_at))
    assert followed.catch_up() == []
    followed.append(line(10))
    assert followed.catch_up() == [10]
    assert followed.last.facts.bytes_before_run == begins_at
    assert followed.last.facts.bytes_read == len(line(10))
    followed.file.close()


def test_a_truncated_file_is_read_from_its_new_beginning(followed: Followed):
    followed.catch_up()
    followed.path.write_bytes(line(1))
    assert followed.catch_up() == [1]
    assert followed.last.facts.truncations == 1


def test_a_truncation_to_before_the_runs_beginning_makes_all_of_it_new(tmp_path: Path):
    path = tmp_path / "steps.jsonl"
    path.write_bytes(lines(1, 9))
    order = Follow(stream=1, kind=StreamKind.STEPS, begins_at=path.stat().st_size)
    followed = Followed(path, order)
    followed.catch_up()
    path.write_bytes(lines(1, 2))
    assert followed.catch_up() == [1, 2]
    followed.file.close()


def test_a_partial_line_cut_off_by_truncation_is_not_glued_to_the_new_text(followed: Followed):
    followed.append(b'{"step":4,')
    followed.catch_up()
    followed.path.write_bytes(b'"seconds":1}\n' + line(1))
    assert followed.catch_up() == [1]


def test_a_file_emptied_and_grown_past_our_place_between_two_looks_is_read_anew(
    followed: Followed,
):
    followed.catch_up()
    followed.path.write_bytes(lines(101, 130))
    assert followed.path.stat().st_size > followed.last.offset
    assert followed.catch_up() == list(range(101, 131))
    assert followed.last.facts.truncations == 1


def test_copytruncate_under_a_writer_without_append_loses_nothing(followed: Followed):
    """The writer keeps its position: a hole, which reads as NULs, and then the new text."""
    writer = os.open(followed.path, os.O_WRONLY)
    os.lseek(writer, 0, os.SEEK_END)
    followed.catch_up()
    os.truncate(followed.path, 0)
    os.write(writer, line(4))
    assert followed.path.read_bytes().startswith(b"\0"), "the fault was delivered"
    assert followed.catch_up() == [4]
    assert followed.last.facts.truncations == 1
    os.write(writer, line(5))
    assert followed.catch_up() == [5]
    os.close(writer)


def test_the_senders_offset_is_left_alone(followed: Followed):
    shared = os.open(followed.path, os.O_RDONLY)
    order = Follow(stream=2, kind=StreamKind.STEPS)
    file = FollowedFile(os.dup(shared), order, lambda _: StepsText(), ArrivalClock())
    file.look(1.0)
    file.read()
    assert os.lseek(shared, 0, os.SEEK_CUR) == 0
    file.close()
    os.close(shared)


def test_a_renamed_and_an_unlinked_file_are_followed_on_and_said_to_have_moved(followed: Followed):
    followed.catch_up()
    followed.now_s += 10
    moved = followed.path.rename(followed.path.with_name("old.jsonl"))
    followed.path = moved
    followed.append(line(4))
    assert followed.catch_up() == [4]
    assert followed.last.facts.moved
    moved.unlink()
    followed.catch_up()
    assert followed.last.facts.moved


def test_another_reader_goes_on_at_any_byte_without_losing_or_doubling(tmp_path: Path):
    path = tmp_path / "steps.jsonl"
    path.touch()
    data = lines(1, 8)
    seen: list[int] = []
    order = Follow(stream=1, kind=StreamKind.STEPS)
    for position in range(0, len(data), 7):
        followed = Followed(path, order)
        followed.append(data[position : position + 7])
        seen += followed.catch_up()
        if followed.batches:
            last = followed.last
            order = msgspec.structs.replace(
                order,
                resume_at=last.offset,
                parser_state=last.parser_state,
                facts=last.facts,
            )
        followed.file.close()
    assert seen == list(range(1, 9))


def test_a_file_rewritten_while_no_reader_lived_is_read_anew(followed: Followed):
    followed.catch_up()
    order = Follow(
        stream=1,
        kind=StreamKind.STEPS,
        resume_at=followed.last.offset,
        parser_state=followed.last.parser_state,
        facts=followed.last.facts,
    )
    followed.path.write_bytes(lines(101, 130))
    successor = Followed(followed.path, order)
    assert successor.catch_up() == list(range(101, 131))
    assert successor.last.facts.truncations == 1
    successor.file.close()


def test_bytes_found_after_a_gap_have_no_arrival_time_and_later_ones_do(followed: Followed):
    followed.catch_up()
    assert [event.at_s for event in followed.last.events] == [None, None, None]
    followed.append(line(4))
    followed.catch_up()
    assert followed.last.events[0].at_s is not None


def test_the_last_line_without_an_end_is_taken_at_the_finish(followed: Followed):
    followed.append(line(4).rstrip())
    assert followed.catch_up() == [1, 2, 3]
    followed.file.finish()
    batch = followed.file.take_batch()
    assert batch is not None
    assert [event.index for event in batch.events] == [4]


@pytest.mark.parametrize(
    ("quiet_s", "wait_s"), [(0.0, 0.25), (1.9, 0.25), (4.0, 0.5), (8.0, 1.0), (600.0, 2.0)]
)
def test_a_quiet_file_is_looked_at_less_often(followed: Followed, quiet_s: float, wait_s: float):
    followed.file.look(100.0)
    followed.file.schedule(100.0 + quiet_s, 0.25, 2.0)
    assert wait_s - 0.25 < followed.file.due_s - (100.0 + quiet_s) <= wait_s


def test_files_that_are_quiet_share_one_look_whenever_they_were_looked_at_first(followed: Followed):
    followed.file.look(100.0)
    due_s = set()
    for hundredths in range(200):
        followed.file.schedule(600.0 + hundredths / 100, 0.25, 2.0)
        due_s.add(followed.file.due_s)
    assert due_s == {602.0}


@pytest.mark.parametrize(
    "state",
    [{}, {"parser": 1}, [], "x", {"parser": None, "seam": 3}, b"", b"\xc1", b"\x91\x01"],
)
def test_a_state_that_is_none_of_ours_is_refused(tmp_path: Path, state: object):
    (tmp_path / "log").touch()
    order = Follow(stream=1, kind=StreamKind.STEPS, resume_at=0, parser_state=state)
    with pytest.raises((ValueError, TypeError, msgspec.DecodeError)):
        Followed(tmp_path / "log", order)


def test_of_a_hole_of_terabytes_no_more_is_read_at_the_end_than_is_reasonable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_file, "LEAVING_MAX_BYTES", 3)
    path = tmp_path / "steps.jsonl"
    path.write_bytes(line(1))
    followed = Followed(path)
    assert followed.catch_up() == [1]
    os.truncate(path, 1 << 40)
    followed.file.look_for_the_last_time(2.0)
    assert (followed.file.leaving, followed.file.backlog_bytes) == (True, 3)
    followed.file.close()


@pytest.fixture(params=[True, False], ids=["as it is told", "as it finds itself"])
def told(request: pytest.FixtureRequest) -> bool:
    """Whether whoever hands over says that it is another file; with no daemon nobody could."""
    return bool(request.param)


def _of_an_earlier_version(last: Batch) -> dict[str, Any]:
    """The state as it was: a map, and without the file's identity."""
    assert isinstance(last.parser_state, bytes)
    parts = msgspec.msgpack.decode(last.parser_state)
    return dict(zip(("parser", "seam", "link"), parts, strict=False))


def _successor(
    followed: Followed, text: bytes, *, told: bool = True, state: object = None
) -> Followed:
    """Follow a file that took the place of a followed one."""
    last = followed.last
    path = followed.path.with_name("new.jsonl")
    path.write_bytes(text)
    order = Follow(
        stream=1,
        kind=StreamKind.STEPS,
        resume_at=last.offset,
        parser_state=state or last.parser_state,
        facts=last.facts,
        other_file=told,
    )
    return Followed(path, order)


@pytest.mark.parametrize("last", [4, 6, 9], ids=["shorter", "as long", "longer"])
def test_a_file_that_took_the_place_of_another_is_read_from_its_start(
    followed: Followed, last, told
):
    followed.catch_up()
    other = _successor(followed, lines(4, last), told=told)
    assert other.catch_up() == list(range(4, last + 1))
    assert other.last.facts.truncations == 0
    assert other.last.facts.bytes_read == len(lines(1, last)), "it goes on in the old one's count"
    other.file.close()


def test_a_copy_that_took_the_place_of_another_file_goes_on_where_that_was_read(
    followed: Followed, told
):
    followed.catch_up()
    other = _successor(followed, lines(1, 5), told=told)
    assert other.catch_up() == [4, 5]
    other.file.close()


def test_a_file_with_the_head_of_the_one_whose_place_it_took_is_no_copy(followed: Followed, told):
    followed.append(lines(4, 40))
    followed.catch_up()
    other = _successor(followed, lines(1, 30) + lines(50, 90), told=told)
    assert len(other.catch_up()) == 71
    other.file.close()


def test_a_file_that_took_the_place_of_another_and_is_emptied_was_truncated(
    followed: Followed, told
):
    followed.catch_up()
    other = _successor(followed, lines(4, 9), told=told)
    other.catch_up()
    other.path.write_bytes(line(10))
    assert other.catch_up() == [10]
    assert other.last.facts.truncations == 1
    other.file.close()


def test_a_file_that_took_the_place_of_a_moved_one_has_not_moved(followed: Followed, told):
    followed.catch_up()
    followed.path.unlink()
    followed.catch_up()
    assert followed.last.facts.moved
    earlier = _of_an_earlier_version(followed.last) if told else None
    other = _successor(followed, b"", told=told, state=earlier)
    other.now_s += CHECK_EVERY_S  # else its name is not looked at yet
    other.catch_up()
    assert not other.last.facts.moved
    other.file.close()


def test_a_file_that_took_the_place_of_one_of_which_nothing_was_ours_is_read_from_its_start(
    tmp_path: Path, told
):
    path = tmp_path / "old.jsonl"
    path.write_bytes(lines(1, 3))
    old = Followed(path, Follow(stream=1, kind=StreamKind.STEPS, begins_at=len(lines(1, 3))))
    old.catch_up()
    other = _successor(old, lines(4, 9), told=told)
    assert other.catch_up() == [4, 5, 6, 7, 8, 9]
    old.file.close()
    other.file.close()


def test_the_same_file_that_is_handed_over_once_more_is_no_other(followed: Followed):
    followed.catch_up()
    last = followed.last
    again = Followed(
        followed.path,
        Follow(
            stream=1,
            kind=StreamKind.STEPS,
            resume_at=last.offset,
            parser_state=last.parser_state,
            facts=last.facts,
        ),
    )
    assert again.catch_up() == []
    again.append(line(4))
    assert again.catch_up() == [4]
    again.path.write_bytes(line(5))
    assert (again.catch_up(), again.last.facts.truncations) == ([5], 1), "it was emptied"
    again.file.close()


def test_a_state_of_an_earlier_version_does_not_know_which_file_it_was(followed: Followed):
    followed.catch_up()
    earlier = _of_an_earlier_version(followed.last)
    other = _successor(followed, lines(1, 5), told=False, state=earlier)
    assert other.catch_up() == [4, 5]
    other.file.close()


@pytest.mark.parametrize("kind", StreamKind)
def test_without_a_state_it_goes_on_from_the_facts_with_the_next_line(
    tmp_path: Path, kind: StreamKind
) -> None:
    path = tmp_path / "text"
    path.write_bytes(lines(1, 40) + b'{"step":41,"sec')
    before = Followed(path, Follow(stream=1, kind=kind))
    assert before.catch_up() == list(range(1, 41))
    [batch] = before.batches
    before.file.close()
    order = Follow(
        stream=1, kind=kind, resume_at=batch.offset, parser_state=None, facts=batch.facts
    )
    again = Followed(path, order)
    again.append(b'onds":0.5}\n' + lines(42, 44))
    assert again.catch_up() == [42, 43, 44]
    told = again.batches[0].facts
    assert told.bytes_read == batch.facts.bytes_read + 11 + len(lines(42, 44))
    assert told.dialects == batch.facts.dialects
    assert (told.writers, told.rewinds, told.truncations) == (1, 0, 0)
    again.file.close()
