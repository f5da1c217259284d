import pytest

from pfid.formats.figures.likely import LineLook
from pfid.formats.figures.told_rows import BELOW, UNKNOWN, below_of, records, with_below
from pfid.formats.figures.wanted import Wanted

WANTED = (
    Wanted(key="cost", low=2, high=5, unit="x"),
    Wanted(key="rebuild", low=4.3, unit="h"),
    Wanted(key="bucket", low=256, unit="samples"),
)
LOOK = LineLook(WANTED)


def kept(rows):
    """Place, line and the one below of each that is worth a look."""
    found = []
    for row in LOOK.worth(rows.encode()):
        head, _, told = row.partition(b"\1")
        found.append((int(head.partition(b"\0")[2]), *below_of(told)))
    return found


@pytest.mark.parametrize(
    ("rows", "place", "below"),
    [
        ("a.py\x000\1took 4.3\na.py\x009\2  # hours\n", 0, b"  # hours"),
        ("a.py\x000\x01256\na.py\x004\1samples of 256\n", 0, b"samples of 256"),
        ("a.py\x000\1from 2 to\na.py\x0010\x025 x\n", 0, b"5 x"),
        ("a.py\x000\1took 4.3\na.py\x009\2[Omitted long context line]\n", 0, None),
        ("a.py\x000\1took 4.3\na.py\x009\2\u2013 5 hours\n", 0, None),
    ],
)
def test_a_line_that_goes_on_is_kept_for_what_stands_below(rows, place, below):
    assert kept(rows)[0] == (place, rows.partition("\1")[2].partition("\n")[0].encode(), below)


@pytest.mark.parametrize(
    "rows",
    [
        "a.py\x000\1took 4.3\na.py\x009\2and more\n",
        "a.py\x000\x01a = 2\na.py\x006\2b = 3\n",
        "a.py\x000\x01a = 2\na.py\x006\x01b = 2\na.py\x0012\2\n",
        "a.py\x000\x01took 4.3\nb.py\x009\1hours of 2\n",
        "a.py\x000\x01took 4.3\na.py\x0010\1hours of 2\n",
        "a.py\x000\1loss 4.39 hours\n",
    ],
)
def test_a_line_with_nothing_that_tells_on_it_or_below_is_passed_over(rows):
    assert kept(rows) == []


def test_a_text_that_holds_our_own_marks_is_told_apart_all_the_same():
    line = "4.3 hours\x1c 256\x1d 2"
    rows = with_below(f"a.py\x000\1{line}\na.py\x0019\2b\n".encode())
    told = records(rows, [(0, len(rows) - 1)])
    assert told.count(BELOW) == 2
    assert UNKNOWN not in told
    assert below_of(told.partition(b"\1")[2]) == (b"4.3 hours\x1e 256\x1e 2", b"b")
