"""Is what a text shares with a stream found exactly, wherever the stream is cut?"""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pfid.analysis.overlap import scan
from pfid.analysis.overlap.scan import BOUNDARY, OverlapScan

FLOOR = 16


def by_hand(texts, stream, floor):
    """For each position, separators among them, the longest run from there that stands."""
    found = []
    for text in texts:
        for at in range(len(text) + 1):
            length = 0
            while at + length < len(text) and text[at : at + length + 1] in stream:
                length += 1
            found.append(length if length >= floor else 0)
    return found


def scanned(texts, pieces, floor=FLOOR, block=None):
    looking = OverlapScan(texts, floor)
    if block:
        looking._block_bytes = block
    for piece in pieces:
        looking.feed(piece)
    return looking.finish()


def check(texts, pieces, floor=FLOOR, block=None):
    far, where = scanned(texts, pieces, floor, block)
    stream = b"".join(pieces)
    body = b"\xff".join(texts) + b"\xff"
    assert [int(n) if n >= floor else 0 for n in far] == by_hand(texts, stream, floor)
    for at, (length, place) in enumerate(zip(far, where, strict=True)):
        if length >= floor:
            assert stream[place : place + length] == body[at : at + length]


SMALL = st.text("ab", min_size=1, max_size=60).map(str.encode)
REPEATING = st.builds(
    lambda a, n: a * n, st.sampled_from([b"a", b"ab", b"abc "]), st.integers(1, 40)
)
TEXTS = st.lists(SMALL | REPEATING, min_size=1, max_size=6, unique=True)


@given(TEXTS, st.lists(SMALL | REPEATING | st.just(BOUNDARY), max_size=8), st.integers(1, 64))
@example([b"a" * 40, b"a" * 39 + b"b"], [b"a" * 37, b"b" * 3, b"a" * 50], 8)
def test_every_overlap_is_that_of_a_search_by_hand(texts, pieces, block):
    check(texts, pieces, block=block)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.integers(16, 70))
def test_texts_that_quote_the_stream_and_each_other(chance, floor):
    words = ["the ", "model ", "said ", "nothing ", "at all, ", "über ", "Ωμέγα "]
    stream = "".join(chance.choices(words, k=300)).encode()
    texts = set()
    for _ in range(6):
        at = chance.randrange(len(stream))
        quote = stream[at : at + chance.randrange(120)]
        texts.add(b"".join(chance.sample([quote, b"own ", quote[:30], b"the model "], 4)))
    check(sorted(texts - {b""}), [stream[:700], BOUNDARY, stream[700:]], floor, 64)


@pytest.mark.parametrize("cut", range(0, 400, 37))
def test_an_overlap_is_found_across_two_blocks(cut):
    quote = random.Random(3).randbytes(200).replace(b"\xff", b"x").replace(b"\xfe", b"x")
    far, where = scanned([quote], [b"z" * 100 + quote + b"z" * 100], block=cut + 1)
    assert (int(far[0]), int(where[0])) == (200, 100)
    looking = OverlapScan([quote], FLOOR)
    stream = b"z" * 100 + quote + b"z" * 100
    looking.feed(stream[:cut])
    looking._look()
    looking.feed(stream[cut:])
    far, where = looking.finish()
    assert (int(far[0]), int(where[0])) == (200, 100)


def test_no_overlap_reaches_across_documents_or_bytes_that_are_no_text():
    text = b"the first half of it, the second half"
    for between in (BOUNDARY, b"\xff"):
        far, _ = scanned([text], [text[:20], between, text[20:]])
        assert int(far.max()) == 20


def test_texts_too_short_for_the_floor_and_none_at_all():
    assert scanned([b"short"], [b"short" * 20])[0].max() == 0
    assert scanned([], [b"text"])[0].size == 0


def test_a_long_stretch_is_looked_for_by_more_bytes():
    assert scan.stretch_bytes(15) == 8
    assert scan.stretch_bytes(50) == 40


def test_text_that_repeats_itself_does_not_take_the_square_of_its_length():
    loop = b"ha " * 4_000
    stream = b"x" * 99 + loop * 2
    far, where = scanned([loop, loop[:9_000] + b"no"], [stream], floor=50)
    assert int(far[0]) == len(loop)
    assert stream[int(where[0]) :].startswith(loop)
    assert 512 <= int(far[len(loop) + 1]) <= 9_000, "told shorter, and never longer"
    assert int(far[len(loop) // 2]) >= 512
