"""Tables survive a narrow terminal, a pipe and names that were made to break them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from pfid.cli.output import Cell, facts, table

COLUMNS = ("RUN", "STATE", "SUMMARY")
LONG = "the median of the last 16 steps is 20.1 times the baseline of 19.75 seconds"
ROWS = [("train-20260829t120000z-0001", "running", LONG), ("short", Cell("killed", "red"), "")]
CODE = f"from pfid.cli.output import Cell, table; table({COLUMNS!r}, {ROWS!r}, title='Runs')"


def on_a_terminal(columns, *, code=CODE, **env):
    """What a terminal of that width shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": "/usr/bin", "TERM": "xterm-256color", **env},
    ) as shown:
        os.close(theirs)
        data = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            data += chunk
    os.close(ours)
    assert shown.returncode == 0, data.decode()
    return data.decode().replace("\r\n", "\n")


def plain(shown):
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def test_a_pipe_gets_whole_rows_and_no_colour(capsys):
    table(COLUMNS, ROWS)
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["RUN", "STATE", "SUMMARY"]
    assert first.split(maxsplit=2)[2].rstrip() == LONG
    assert second.split() == ["short", "killed"]
    assert "\x1b" not in first + second


@pytest.mark.parametrize("columns", [20, 40, 59, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_text_is_lost(columns):
    shown = plain(on_a_terminal(columns))
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= columns
    letters = "".join(shown.split())
    for text in (ROWS[0][0], "running", "killed"):
        assert text in letters
    for word in LONG.split():
        assert word in letters


def test_a_wide_terminal_gets_a_table_and_a_narrow_one_blocks():
    assert len(plain(on_a_terminal(200)).splitlines()) == 4
    assert "STATE: running" in plain(on_a_terminal(40))


def test_colour_is_there_on_a_terminal_unless_unwanted():
    assert "\x1b[31m" in on_a_terminal(200)
    assert "\x1b[31m" not in on_a_terminal(200, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(200, TERM="dumb")


def test_a_cell_cannot_move_the_cursor_or_write_markup(capsys):
    table(("A", "B"), [("\x1b[2J\nx\rboo", "[red]plain[/red] :smile:")])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\r" not in out
    assert len(out.splitlines()) == 2
    assert "[red]plain[/red] :smile:" in out


def test_a_row_of_the_wrong_length_is_a_mistake():
    with pytest.raises(ValueError, match="2 cells"):
        table(("A", "B"), [("only one",)])


def test_facts_have_no_header_and_stay_whole(capsys):
    facts([("name", "train"), ("state", Cell("killed", "red"))])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "train"],
        ["state", "killed"],
    ]


def test_facts_on_a_narrow_terminal_are_pairs():
    code = f"from pfid.cli.output import facts; facts([('summary', {LONG!r})])"
    assert plain(on_a_terminal(40, code=code)).startswith("summary: the median")


def test_no_rows_still_say_what_there_would_be(capsys):
    table(("A", "B"), [])
    assert capsys.readouterr().out.split() == ["A", "B"]


def test_what_people_copy_is_not_folded_while_something_else_can_be():
    run_id = "a-training-with-a-long-name-20260829t120000z-0001ab"
    rows = [("FAIL", Cell(run_id, whole=True), LONG)]
    code = f"from pfid.cli.output import Cell, table; table({COLUMNS!r}, {rows!r})"
    assert run_id in plain(on_a_terminal(100, code=code))
    folded = code.replace("whole=True", "whole=False")
    assert run_id not in plain(on_a_terminal(70, code=folded))
    assert run_id in plain(on_a_terminal(70, code=code))
