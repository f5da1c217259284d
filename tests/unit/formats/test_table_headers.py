"""The header of a row is that of its own table, asked for once or row by row."""

import pytest

from pfid.formats.table_headers import Headers, cells_of

TWO = """\
words | 1

| a | t (h) |
|---|---|
| x | 1 |
| y | 2 |

| b | t (min) |
|---|---|
| z | 3 |
plain 4
| no | header |
"""


def at(text, line):
    return sum(len(one) + 1 for one in text.splitlines()[:line])


@pytest.mark.parametrize("asked", [[4, 5, 9], [5], [9], [2, 4, 5, 7, 9], [4, 4, 5, 10, 9]])
def test_rows_of_two_tables_have_their_own_headers(asked):
    headers = Headers("r.md", TWO)
    over = {line: headers.over(at(TWO, line)) for line in asked}
    expected = {
        2: "", 4: "| a | t (h) |", 5: "| a | t (h) |", 7: "", 9: "| b | t (min) |", 10: "",
    }  # fmt: skip
    assert over == {line: expected[line] for line in asked}


def test_rows_without_a_rule_above_have_none():
    headers = Headers("r.md", TWO)
    assert headers.over(at(TWO, 0)) == ""
    assert headers.over(at(TWO, 11)) == ""


def test_two_tabulars_have_their_own_headers():
    one = "\\begin{tabular}{ll}\na & t (h)\\\\\nx & 1\\\\\n\\end{tabular}\n"
    other = one.replace("t (h)", "t (s)")
    headers = Headers("p.tex", one + other)
    assert headers.over(at(one, 2)) == "a & t (h)\\\\"
    assert headers.over(len(one) + at(other, 2)) == "a & t (s)\\\\"


def test_cells_stand_under_theirs_framed_or_not():
    framed = list(cells_of("| a | b |", "| 1 | 2 |"))
    assert [(cell.strip(), over.strip()) for _, cell, over in framed][1:3] == [
        ("1", "a"),
        ("2", "b"),
    ]
    bare = list(cells_of("| a | b |", "1 | 2"))
    assert [(cell.strip(), over.strip()) for _, cell, over in bare] == [("1", "a"), ("2", "b")]
    assert [at for at, _, _ in bare] == [0, 3]


def test_a_comma_in_quotes_parts_no_cells():
    assert [over for _, _, over in cells_of('a,"b, c",d', '"1, 2",3,4')] == ["a", '"b, c"', "d"]
