"""The demo's lines fit 40 columns, stay whole in a pipe, and carry nothing hostile."""

import io
import re

import pytest
from rich.console import Console

from pfid.cli.demo.voice import Voice

LONG = "the whole distribution of step times has left the baseline; 12.97 times 0.034 s (own early)"


def spoken(*, terminal: bool, width: int = 40, **environ: str) -> tuple[Voice, io.StringIO]:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=terminal, highlight=False, _environ=environ
    )
    return Voice(console), out


@pytest.mark.parametrize("width", [40, 80])
def test_on_a_terminal_every_line_fits(width):
    voice, out = spoken(terminal=True, width=width, NO_COLOR="1", TERM="xterm")
    voice.act("The fault is planted: nothing crashes")
    voice.say(LONG)
    voice.verdict("step_time_regime", "fail", LONG)
    plain = [_plain(line) for line in out.getvalue().splitlines()]
    assert max(map(len, plain)) <= width
    assert " ".join(" ".join(plain).split()).count(LONG) == 2


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def test_in_a_pipe_a_line_stays_a_line_without_a_single_escape():
    voice, out = spoken(terminal=False)
    voice.act("Its steps become its own measure, and then some more words to be long")
    voice.verdict("step_time_regime", "fail", LONG)
    lines = out.getvalue().splitlines()
    assert f"   FAIL step_time_regime: {LONG}" in lines
    assert len(lines) == 3
    assert "\x1b" not in out.getvalue()


def test_no_color_means_no_colour():
    voice, out = spoken(terminal=True, NO_COLOR="1", TERM="xterm-256color")
    voice.verdict("run_gone", "pass", "alive")
    assert "\x1b[32m" not in out.getvalue()
    voice, out = spoken(terminal=True, TERM="xterm-256color")
    voice.verdict("run_gone", "pass", "alive")
    assert "\x1b[32m" in out.getvalue()


def test_escapes_from_outside_do_not_reach_the_terminal():
    voice, out = spoken(terminal=False)
    voice.verdict("run_gone", "fail", "gone\x1b]0;owned\x07\nFAKE LINE")
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()
    assert len(out.getvalue().splitlines()) == 1


def test_progress_is_not_repeated_at_every_look():
    voice, out = spoken(terminal=False)
    for step in range(50):
        voice.progress(f"step {step}")
    assert out.getvalue().splitlines() == ["   step 0"]
