"""What holds of every command, whichever it is; a new one is asked the same by being there."""

import json
import os
import re
from pathlib import Path

import click
import pytest
from examples import EXAMPLES, LASTING, LEAVES, NOBODYS_STATUS, SILENT, FileOf

HOSTILE = "\x1b[2Jtr\u202eain\nx\x9b"
ANSWERS = {0, 1, 2, 3}
CALLS = sorted(LEAVES)
TRIED = sorted(EXAMPLES)
SPEAKING = [call for call in TRIED if any("--json" in o.opts for o in LEAVES[call].params)]
PRINTING = [call for call in TRIED if call not in SILENT]
READING = [call for call in TRIED if any(isinstance(a, FileOf) for a in EXAMPLES[call])]
FULL = Path("/dev/full")


def words(call):
    return " ".join(call)


def whole(text):
    """One JSON object of ours, and nothing beside it."""
    found = json.loads(text)
    assert isinstance(found, dict)
    assert next(iter(found.items())) == ("schema", 1)
    assert text.isascii()
    return found


def test_every_command_has_an_example_and_no_example_is_of_none():
    assert set(EXAMPLES) | LASTING == set(LEAVES)
    assert set(SILENT) <= set(EXAMPLES)


@pytest.mark.parametrize("call", CALLS, ids=words)
def test_help_says_what_it_does_and_is_no_wider_than_the_terminal(pfid, call):
    done = pfid.on_a_terminal(*call, "--help", columns=40).sound()
    assert done.code == 0
    lines = done.out.split("\n")
    assert lines[0].startswith("Usage: pfid ")
    text = LEAVES[call].help.split("\n\n")[0]
    assert text.split()[0] in done.out
    whole_words = [line for line in lines if not line.startswith("  -")]  # [one|or|another]
    assert not [line for line in whole_words if len(line) > 40 and " " in line[:40].strip()]


@pytest.mark.parametrize("call", CALLS, ids=words)
def test_help_names_the_exit_codes(call):
    """Whoever scripts it reads them there."""
    assert re.search(r"[Ee]xit(s with| code| status)", LEAVES[call].help)


@pytest.mark.parametrize("call", CALLS, ids=words)
def test_nonsense_is_a_usage_error_that_cannot_hurt_a_terminal(pfid, call):
    done = pfid(*call, f"--no-such-{HOSTILE}").sound()
    assert done.code == (125 if call in NOBODYS_STATUS else 2)
    assert done.out == ""
    assert r"\x1b[2Jtr\u202eain" in done.err
    assert not set(HOSTILE) - set("[2Jtrainx\n") & set(done.err)


def test_a_refusal_of_our_own_that_repeats_an_argument_cannot_either(pfid, fresh):
    by = HOSTILE.replace("\n", "")
    argv = [by if one == "--withdrawn" else one for one in fresh(("claims", "supersede"))]
    done = pfid(*argv[: argv.index(by)], "--by", *argv[argv.index(by) :]).sound()
    assert done.code == 2
    assert r"--by \x1b[2Jtr\u202eain" in done.err
    assert not {"\x1b", "\u202e", "\x9b"} & set(done.err)


@pytest.mark.full
@pytest.mark.parametrize("call", [c for c in CALLS if c not in LASTING], ids=words)
def test_without_arguments_it_does_its_work_or_says_which_are_missing(pfid, fresh, call):
    fresh(call)
    done = pfid(*call, PFID_CONFIG="checks.toml").sound()
    required = [p for p in LEAVES[call].params if isinstance(p, click.Argument) and p.required]
    if required:
        assert done.code == (125 if call in NOBODYS_STATUS else 2)
        assert "Missing" in done.err
    else:
        assert done.code in ANSWERS
    assert done.out or done.err


@pytest.mark.full
@pytest.mark.parametrize("call", TRIED, ids=words)
def test_its_example_answers(pfid, fresh, call):
    done = pfid(*fresh(call)).sound()
    assert done.code in ANSWERS
    assert done.out or call in SILENT, done.err
    assert done.out or done.err


@pytest.mark.full
@pytest.mark.parametrize("call", SPEAKING, ids=words)
def test_json_is_one_object_with_the_status_of_the_text(pfid, fresh, call):
    spoken = pfid(*fresh(call)).sound()
    argv = fresh(call)
    at = argv.index("--") if "--" in argv else len(argv)
    done = pfid(*argv[:at], "--json", *argv[at:]).sound()
    assert done.code == spoken.code
    if done.out or call in PRINTING:
        whole(done.out)


@pytest.mark.full
@pytest.mark.parametrize("call", PRINTING, ids=words)
def test_what_a_full_disk_swallowed_is_no_answer(pfid, fresh, call):
    argv = fresh(call)
    with FULL.open("wb") as full:
        done = pfid(*argv, stdout=full.fileno()).sound()
    assert done.code == 3
    assert done.err.endswith("pfid: stdout cannot be written: No space left on device\n")


@pytest.mark.full
@pytest.mark.parametrize("call", PRINTING, ids=words)
def test_a_reader_that_left_gets_the_status_of_any_program(pfid, fresh, call):
    argv = fresh(call)
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = pfid(*argv, stdout=theirs).sound()
    finally:
        os.close(theirs)
    assert done.code == 141
    assert "cannot be written" not in done.err


@pytest.mark.full
@pytest.mark.parametrize("call", TRIED, ids=words)
def test_forty_columns_take_every_line_and_no_colour_means_none(pfid, fresh, call):
    done = pfid.on_a_terminal(*fresh(call), columns=40, NO_COLOR="1").sound()
    assert "\x1b" not in done.out
    if call[0] in {"monitoring", "config", "report"}:
        return  # what they print is for machines, a line is a line
    wide = [line for line in done.out.split("\n") if len(line.rstrip()) > 40]
    assert not [line for line in wide if " " in line[:40].strip()], wide


@pytest.mark.full
@pytest.mark.parametrize("at", [1, 20, 300])
@pytest.mark.parametrize("call", [c for c in TRIED if c not in NOBODYS_STATUS], ids=words)
def test_ctrl_c_ends_it_without_a_trace_and_is_no_answer(pfid, fresh, call, at):
    done = pfid(*fresh(call), interrupt_at=at).sound()
    assert done.interrupted or at > 1
    if done.interrupted:
        assert done.code == 130
        assert "Aborted" not in done.err
    else:
        assert done.code in ANSWERS


def missing(_):
    return "no-such-file"


def gone(_):
    return HOSTILE


def folder(_):
    return "root"


def empty(path):
    path.write_bytes(b"")


def binary(path):
    path.write_bytes(bytes(range(256)) * 200)


def unreadable(path):
    """Not even root can read it."""
    path.unlink()
    path.symlink_to("/proc/self/mem")


def nested(path):
    path.write_text("[" * 100_000)


def hostile(path):
    path.write_text(f'{{"{HOSTILE}": "{HOSTILE}"}}\n' * 3)


def named_badly(path):
    bad = path.with_name(HOSTILE)
    path.rename(bad)
    return bad.name


@pytest.mark.full
@pytest.mark.parametrize(
    "spoil", [missing, gone, folder, empty, binary, unreadable, nested, hostile, named_badly]
)
@pytest.mark.parametrize("call", READING, ids=words)
def test_a_file_that_is_none_is_told_and_is_never_fine(pfid, fresh, world, call, spoil):
    fresh(call)
    named = dict.fromkeys(a for a in EXAMPLES[call] if isinstance(a, FileOf))
    renamed = {one: spoil(world.folder / one) or str(one) for one in named}
    done = pfid(*call, *(renamed.get(one, one) for one in EXAMPLES[call])).sound()
    assert done.code in ANSWERS
    assert done.out or done.err
    for dangerous in ("\x1b[2J", "\u202e", "\x9b"):
        assert dangerous not in done.out + done.err
    if spoil in {missing, gone, folder, unreadable} and call not in READS_ANYTHING:
        assert done.code in {2, 3}, done.out + done.err


READS_ANYTHING = {
    ("claims", "add"),
    ("claims", "init"),
    ("rotate",),
    ("provenance", "note"),
    ("provenance", "reconstruct"),
}
"""A ledger begins with its first claim, a log that is not there needs no rotation, a source may
be a folder."""
