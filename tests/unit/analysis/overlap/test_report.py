"""Is an overlap told in whole characters and whole words, and where it stands?"""

from pfid.analysis.overlap.report import Overlap, overlaps, words_inside
from pfid.analysis.overlap.scan import OverlapScan


def told(texts, stream, floor=16):
    held = [text.encode() for text in texts]
    looking = OverlapScan(held, floor)
    looking.feed(stream)
    return list(overlaps(held, *looking.finish(), floor))


def test_nothing_of_a_text_stands():
    assert told(["all of it is new to everybody"], b"quite another text" * 9) == [Overlap(chars=29)]


def test_the_longest_run_the_covered_part_and_the_place():
    quote, other = "a river of glass and iron", "under seven moons of salt"
    stream = f"....{quote}....{other} and sand".encode()
    (found,) = told([f"He saw {quote}, {other} and sank."], stream)
    assert found.longest_chars == len(other + " and san")
    assert found.longest_words == 6
    assert found.covered_chars == len(quote) + len(other + " and san")
    assert found.at == len(f"He saw {quote}, ")
    assert stream[found.place :].startswith(other.encode())


def test_bytes_of_half_a_character_are_none():
    # the last two bytes of the first differ, the others agree
    stream = "ä naïve café on the shore".encode()[1:]
    (found,) = told(["Ĥ naïve café on the shore"], stream)
    assert (found.longest_chars, found.at) == (len(" naïve café on the shore"), 1)
    (found,) = told(["x naïve café on the shore"], b"x" + stream)
    assert stream[found.place - 1 :].startswith(b" na")


def test_a_floor_in_characters_is_not_one_in_bytes():
    greek = "αβγδεζηθικλμ"
    assert told([greek], greek.encode())[0].longest_chars == 0
    assert told([greek * 2], greek.encode() * 2)[0].longest_chars == 24


def test_overlapping_runs_are_covered_once():
    text = "one two three four five six seven"
    stream = b"one two three four five|three four five six seven"
    (found,) = told([text], stream)
    assert found.covered_chars == len(text)
    assert found.longest_chars == len("three four five six seven")


def test_words_are_whole_and_a_sign_is_one_where_no_blanks_are_written():
    assert words_inside("forests burn slowly", 3, 12) == 1
    assert words_inside("forests burn slowly", 0, 19) == 3
    assert words_inside("我喜欢读书 a lot", 1, 7) == 5
    assert words_inside("", 0, 0) == 0
