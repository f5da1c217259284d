"""The seam tells another text from the same text that grew."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.workers.seam import HEAD_BYTES, TAIL_BYTES, Seam


class File:
    """Bytes with a pread."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read_at(self, n: int, offset: int) -> bytes:
        return self.data[offset : offset + n]


OLD = b"".join(b"step %d took 1.0 s\n" % n for n in range(100))
NEW = b"".join(b"other %d took 9.0 s\n" % n for n in range(200))


def _seam_over(data: bytes, origin: int = 0) -> Seam:
    seam = Seam(origin)
    seam.grew(data[origin:])
    return seam


def test_a_file_that_grew_holds():
    assert _seam_over(OLD).holds(File(OLD + NEW).read_at, len(OLD))


def test_nothing_read_yet_holds_anything():
    assert Seam(0).holds(File(NEW).read_at, 0)


def test_another_text_does_not_hold():
    assert not _seam_over(OLD).holds(File(NEW).read_at, len(OLD))


def test_a_hole_before_the_offset_with_a_changed_head_does_not_hold():
    assert not _seam_over(OLD).holds(File(b"\0" * len(OLD) + b"live\n").read_at, len(OLD))


def test_a_page_that_first_read_as_nul_does_not_start_the_file_over():
    nul_at_end = OLD[:-10] + b"\0" * 10
    assert _seam_over(nul_at_end).holds(File(OLD + NEW).read_at, len(OLD))


def test_a_file_that_shrank_does_not_hold():
    assert not _seam_over(OLD).holds(File(b"").read_at, len(OLD))


def test_what_stood_before_the_run_is_not_compared():
    before = b"an earlier run\n" * 10
    seam = _seam_over(before + OLD, origin=len(before))
    changed = b"X" * len(before) + OLD
    assert seam.holds(File(changed).read_at, len(changed))


@given(st.lists(st.binary(max_size=HEAD_BYTES), max_size=12), st.integers(0, 40))
def test_chunking_does_not_matter_and_the_state_is_small(chunks, origin):
    data = b"".join(chunks)
    by_chunk, at_once = Seam(origin), Seam(origin)
    for chunk in chunks:
        by_chunk.grew(chunk)
    at_once.grew(data)
    assert by_chunk.state() == at_once.state() == Seam.restore(at_once.state()).state()
    head = data[:HEAD_BYTES]
    assert by_chunk.state()[1:] == [[len(head), zlib.crc32(head)], data[-TAIL_BYTES:]]
    assert Seam.restore([origin, head, data[-TAIL_BYTES:]]).state() == by_chunk.state()


@pytest.mark.parametrize("state", [[], [0, b""], ["x", b"", b""], [0, "text", b""], None])
def test_a_state_that_is_none_is_refused(state):
    with pytest.raises((ValueError, TypeError)):
        Seam.restore(state)
