"""Is a superseded figure found wherever it stands, and nothing else?"""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys

import pytest

from pfid.adapters import figure_files
from pfid.adapters.figure_files import search_files, walked
from pfid.adapters.figure_ripgrep import lines_by_ripgrep
from pfid.bootstrap.claims.checking import check_ledger
from pfid.bootstrap.preflight import figures
from pfid.bootstrap.preflight.figures import figures_facts
from pfid.config.claims import load_claims
from pfid.domain.outcome import Outcome
from pfid.domain.repository import CHANGES_MAX
from pfid.formats import linear_regex
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import PatternError, compile_utf8

LEDGER = """
[[claims]]
key = "rebuild"
text = "the cache takes 4.3 h to rebuild"
figure = 4.3
unit = "h"
date = 2026-08-24
source = { kind = "derived", by = "arithmetic" }
status = "superseded"
superseded_by = "rebuild"
falls = ["the window of 11.7 h"]
allow = [{ path = "docs/*.md", reason = "the history of the figure" }]

[[claims]]
key = "rebuild"
text = "the cache takes 145.5 s on 32 workers"
figure = 145.5
unit = "s"
date = 2026-08-26
source = { kind = "measured", by = "run 2" }
status = "measured"
"""


@pytest.fixture
def told(repository):
    repository.write("claims.toml", LEDGER)
    repository.write("run.sh", 'x=1\necho "(2.5 min to reuse, ~4.3 HOURS to rebuild)"\n')
    repository.write("docs/history.md", "We believed 4.3 hours.\n")
    repository.write("ok.md", "145.5 s, not 14.3 hours, in 4.3.1\n")
    repository.write("node_modules/x.js", "// 4.3 hours\n")
    (repository.folder / "blob.bin").write_bytes(b"4.3 hours\0")
    repository.commit()
    return repository


def facts(repository):
    return figures_facts(repository.project("[claims]\n"))


def test_every_place_is_found_and_the_allowed_one_is_counted(told):
    told.write("new/later.py", "REBUILD_HOURS = 4.3\n")
    found = facts(told)
    assert found.places == (
        "run.sh:2: 4.3 HOURS (rebuild)",
        "new/later.py:1: 4.3 (rebuild)",
    )
    assert (found.claims, found.allowed, found.unread) == (1, 1, ())
    assert found.left_out == 2


def test_places_that_the_list_has_no_room_for_are_counted_and_leave_doubt(told, monkeypatch):
    told.write("docs/many.md", "4.3 h\n" * 7)
    (told.folder / "run.sh").unlink()
    monkeypatch.setattr(figure_files, "PLACES_MAX", 5)
    found = facts(told)
    assert (found.places, found.allowed, found.further) == ((), 5, 3)
    path = told.folder / "claims.toml"
    checked = check_ledger(path, load_claims(path), dt.date(2026, 9, 1), os.environ)
    assert [(f.outcome, f.code) for f in checked.findings][-1:] == [
        (Outcome.UNKNOWN, "places_unlisted")
    ]


def test_no_number_of_files_that_git_does_not_track_hides_one(told):
    for at in range(CHANGES_MAX):
        told.write(f"a{at}.txt", "")
    told.write("z.txt", "4.3 h")
    assert "z.txt:1: 4.3 h (rebuild)" in facts(told).places


def test_a_figure_that_stands_again_is_not_looked_for(told):
    told.write("claims.toml", LEDGER.replace("145.5", "258").replace('"s"', '"min"'))
    assert facts(told).places == ()
    assert facts(told).claims == 0


def test_a_folder_without_a_repository_is_searched_too(told):
    shutil.rmtree(told.folder / ".git")
    assert facts(told).places == ("run.sh:2: 4.3 HOURS (rebuild)",)


def test_a_folder_that_went_away_is_named(told):
    closed = []
    assert list(walked(told.folder / "gone", closed)) == []
    assert closed == ["."]


def test_a_folder_that_cannot_be_looked_into_is_told(told, monkeypatch):
    shutil.rmtree(told.folder / ".git")

    def closed_in_between(folder, closed):
        closed.append("locked")
        return walked(folder, closed)

    monkeypatch.setattr(figures, "walked", closed_in_between)
    assert facts(told).unread == ("locked",)


@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        (None, "cannot be read"),
        ("[[claims]]\nkey = 1\n", "claims[0]"),
        ("x = ", "claims.toml"),
        (LEDGER.replace("the history of the figure", ""), "reason"),
        (
            LEDGER.replace('superseded_by = "rebuild"\nfalls = ["the window of 11.7 h"]', ""),
            "by what",
        ),
    ],
)
def test_a_ledger_that_cannot_be_read_is_named(told, ledger, said):
    path = told.folder / "claims.toml"
    path.unlink() if ledger is None else path.write_text(ledger)
    found = facts(told)
    assert found.problem == "claims_unreadable"
    assert said in found.detail


def test_no_ledger_is_none(repository):
    assert figures_facts(repository.project()) is None


def test_a_link_out_of_the_repository_is_not_followed(told, tmp_path):
    (tmp_path / "secret").write_text("4.3 hours")
    (told.folder / "link.md").symlink_to(tmp_path / "secret")
    (told.folder / "loop.md").symlink_to("loop.md")
    told.commit()
    assert len(facts(told).places) == 1


def hours(tmp_path, paths, environ=None):
    return search_files(tmp_path, paths, [Wanted(key="k", low=4.3, unit="h")], environ=environ)


MANY = (
    Wanted(key="hours", low=4.3, unit="h"),
    Wanted(key="share", low=67.8, unit="%"),
    Wanted(key="ends", low=9.49, high=14.07, unit="%"),
    Wanted(key="fold", low=2, high=5, unit="x"),
    Wanted(key="steps", low=1311, unit="steps"),
    Wanted(key="tokens", low=20_000, unit="tokens"),
    Wanted(key="bare", low=8.85e-8),
    Wanted(key="large", low=12_345_678_901_234_567_168.0),
)
BODIES = (
    *(b"4.3 h", b"x 258 min y", b"4,3 hours\r\n", b"nothing", b"14.3 h", b"a" * 9000 + b" 4.3 h"),
    *(b"4h18m", b"PT4H18M", b"4 hours and 18 minutes", b"took 4:18:00", b"4:18 h", b"15,480 s"),
    *(b"9.49%-14.07%", "9.49\u201314.07 %".encode(), b"[9.49, 14.07] %", b"share: 0.678"),
    *(b"20k tokens", b"10-20k tokens", b"20 thousand tokens", "1\u202f311 steps".encode()),
    *("8.85\u00a0\u00d7 10^-8".encode(), "8.85\u3000e-8".encode(), b"8.85e-08\xff", b"\xff 4.3 h"),
    *("\ufeff4.3 h".encode(), "\u00e94.3 h".encode(), "4.3\u00a0h \u00e9".encode("latin-1")),
    *(b"1311\xff steps", b"\xc3\x28 4.3 h \xc3\x28", b"4.3 h\x0b\x0c4.3 h", b"\n" * 999 + b"4.3 h"),
    *(b"12345678901234567168", b"1.2345678901234567168e19", b"00004.3 h", b"4.3\th", b""),
    *(b"| a | rebuild (h) |\n|---|---|\n| x | 4.3 |\n", b"4.3\nh", b"v4.3 h"),
    *(b"2026-08-24 04:18:00", "4.3\u2028h".encode(), "\u0664.3 h".encode(), b"4.3 H\x00"),
    *(b"2x\nbetween 2\nand 5 x\n", "\u00e9 2\u20135 \u00d7 \u00e9\n\u00e9 2 to 5x".encode()),
    *("4.3 h".encode("utf-16"), b"\xff4.3 h", b"10\xff20k tokens", b"\xff share .678"),
)  # fmt: skip


def written(folder):
    """A file each, of names that people do give; some a program would take for an option."""
    names = ["-e.txt", "a b.txt", "\u00e9.txt", "new\nline.txt", ".hidden", "--", "x.md", "x.csv"]
    for at, body in enumerate(BODIES):
        path = folder / (names[at] if at < len(names) else f"f{at}.txt")
        path.write_bytes(body)
    (folder / "t.csv").write_bytes(b"run,rebuild_h\na,4.3\n")
    (folder / ".gitignore").write_text("*.txt\n")
    (folder / ".ignore").write_text("*\n")
    (folder / ".rgignore").write_text("*\n")
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@pytest.mark.needs("rg")
def test_real_ripgrep_and_our_own_reading_give_the_same_answers(tmp_path):
    paths = written(tmp_path)
    (tmp_path / "ripgreprc").write_text("--max-count=1\n--ignore-case\n")
    environ = {**os.environ, "RIPGREP_CONFIG_PATH": str(tmp_path / "ripgreprc")}
    ours = search_files(tmp_path, paths, MANY)
    theirs = search_files(tmp_path, paths, MANY, environ=environ)
    assert (ours.by, theirs.by) == ("python", "ripgrep")
    assert theirs.places == ours.places
    assert (theirs.read, theirs.left_out, theirs.unread) == (ours.read, ours.left_out, ours.unread)
    assert {place.key for place in ours.places} == {one.key for one in MANY}
    assert len({place.path for place in ours.places}) == 39


@pytest.mark.needs("rg")
@pytest.mark.parametrize(
    "body",
    [
        "\ntook 4.3\nhours\n",
        "took 4.3\nhours\n",
        "run,seed\na,4.3 h\n",
        "run,h\na,4.3\n",
        "run,seed\na,1\nb,<b>4.3</b> h\n",
    ],
)
def test_ripgrep_spares_no_row_of_a_table_that_we_would_read(tmp_path, body):
    (tmp_path / "a.csv").write_text(body)
    ours = search_files(tmp_path, ["a.csv"], MANY)
    theirs = search_files(tmp_path, ["a.csv"], MANY, environ=os.environ)
    assert theirs.by == "ripgrep"
    assert theirs.places == ours.places
    assert [place.key for place in ours.places] == ["hours"]


@pytest.mark.needs("rg")
@pytest.mark.parametrize("one", MANY, ids=lambda one: one.key)
def test_ripgrep_names_no_file_more_than_it_must(tmp_path, one):
    """It is asked to spare us reading: a pattern that every file matches would spare nothing."""
    for at in range(50):
        (tmp_path / f"f{at}.txt").write_text(
            f"loss 0.{at}1 at step {at} of {at * 977}, {at}:{at}\n"
        )
    paths = [f"f{at}.txt" for at in range(50)]
    named = lines_by_ripgrep(str(tmp_path), paths, prefilter([one], by_line=True), os.environ)
    assert len(named) < 5


@pytest.mark.needs("rg", "git")
def test_the_command_says_the_same_with_ripgrep_and_without(told, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "git").symlink_to(shutil.which("git"))
    told.write("new/later.py", "REBUILD = '4h18m'\n")
    said = {}
    for path in (os.environ["PATH"], str(bare)):
        done = subprocess.run(
            [sys.executable, "-m", "pfid", "claims", "check", "--json"],
            cwd=told.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        shown = json.loads(done.stdout)
        said[shown["searched"].pop("by")] = (done.returncode, shown)
    assert said.keys() == {"ripgrep", "python"}
    assert said["ripgrep"] == said["python"]
    places = [f["where"] for f in said["python"][1]["findings"] if f["code"] == "superseded_stands"]
    assert places == ["run.sh:2", "new/later.py:1"]


def test_a_unit_over_a_column_is_read_in_the_file(tmp_path):
    table = "text | 1\n\n| run | rebuild (h) |\n|:---|---:|\n| a | 9 |\n| b | 4.3 |\n"
    other = "| run | rebuild (min) |\n|---|---|\n| b | 4.3 |\n\n| x | (h) |\n"
    grid = "+---+-------+\n| a | t (h) |\n+===+=======+\n| x |  4.3  |\n+---+-------+\n"
    tabular = "\\begin{tabular}{lr}\nrun & time (h) \\\\\n\\hline\na & 4.3 \\\\\n"
    files = {"a.md": table, "b.md": other, "c.rst": grid, "d.tex": tabular,
             "e.csv": "run,rebuild_h,n\na,4.3,7\n", "f.tsv": "run\tmin\na\t258\n",
             "g.csv": "run,rebuild_min\na,4.3\n"}  # fmt: skip
    for name, body in files.items():
        (tmp_path / name).write_text(body)
    found = hours(tmp_path, sorted(files))
    assert [(p.path, p.line) for p in found.places] == [
        ("a.md", 6), ("c.rst", 4), ("d.tex", 4), ("e.csv", 2), ("f.tsv", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("rg", [False, pytest.param(True, marks=pytest.mark.needs("rg"))])
@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("size: 609\n# 609 MB on disk\n", [2]),
        ("port: 609\n609MB is the cache", [2]),
        ("- 609 MB\n- 609MB\n- 609 MB", [1, 2, 3]),
        ("609\n609\n\n 609\n609 MB\n", [5]),
        ("609\n" + "x " * 3_000 + "609 MB " + "y " * 3_000 + "609MB\n609\nMB\n", [2, 2, 3]),
    ],
)
def test_a_number_on_one_line_hides_no_figure_on_the_next(tmp_path, body, lines, rg):
    (tmp_path / "a.txt").write_text(body)
    size = [Wanted(key="k", low=609, unit="MB")]
    found = search_files(tmp_path, ["a.txt"], size, environ=os.environ if rg else None)
    assert [place.line for place in found.places] == lines


def test_the_quick_engine_lets_every_spelling_through(tmp_path):
    bodies = [
        "8.85\u00a0\u00d7 10^-8".encode(),
        "B = 8.85\u3000e-8, 8.85e-8".encode(),
        b"8.85e-08\xff",
        b"\xff 0.0000000885\n",
        "\u00e9 8.85E-8".encode(),
        b"18.85e-8",
    ]
    for at, body in enumerate(bodies):
        (tmp_path / f"f{at}.txt").write_bytes(body)
    paths = [f"f{at}.txt" for at in range(len(bodies))]
    found = search_files(tmp_path, paths, [Wanted(key="k", low=8.85e-8)])
    assert [place.path for place in found.places] == paths[:-1]


def test_bytes_that_are_no_text_hide_no_figure(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1311\xff")
    assert len(search_files(tmp_path, ["a.txt"], [Wanted(key="k", low=1311)]).places) == 1


def test_a_pattern_too_long_for_the_quick_engine_is_done_without(tmp_path, monkeypatch):
    monkeypatch.setattr(linear_regex, "MAX_MEMORY_BYTES", 1_000)
    (tmp_path / "a.txt").write_text("4.3 h")
    with pytest.raises(PatternError):
        compile_utf8(prefilter([Wanted(key="k", low=4.3, unit="h")]))
    assert len(hours(tmp_path, ["a.txt"]).places) == 1


def test_a_ripgrep_that_fails_is_done_without(tmp_path):
    (tmp_path / "a.txt").write_text("4.3 h")
    rg = tmp_path / "rg"
    rg.write_text("#!/bin/sh\nexit 2\n")
    rg.chmod(0o755)
    found = hours(tmp_path, ["a.txt"], {"PATH": str(tmp_path)})
    assert found.by == "python"
    assert len(found.places) == 1


def test_a_folder_and_a_file_that_went_away_are_no_text(tmp_path):
    folder = tmp_path / "a.txt"
    folder.mkdir()
    found = hours(tmp_path, ["a.txt", "gone.txt"])
    assert found.left_out == 2
    assert found.unread == []


def test_the_largest_files_are_read_in_blocks_of_whole_lines(tmp_path, monkeypatch):
    import pfid.adapters.figure_texts as module

    monkeypatch.setattr(module, "BLOCK_BYTES", 64)
    lines = [f"{at} of it" for at in range(100)]
    lines[7], lines[51], lines[99] = "it took 4.3 h", "4.3 hours", "| 258 min |"
    (tmp_path / "big.txt").write_text("\n".join(lines))
    rows = ["run,rebuild_h"] + [f"a,{at}" for at in range(100)]
    rows[80] = "b,4.3"
    (tmp_path / "big.csv").write_text("\n".join(rows))
    (tmp_path / "one.txt").write_text("x" * 500 + " 4.3 h " + "y" * 500)
    found = hours(tmp_path, ["big.csv", "big.txt", "one.txt"])
    assert [(p.path, p.line) for p in found.places] == [
        ("big.csv", 81), ("big.txt", 8), ("big.txt", 52), ("big.txt", 100), ("one.txt", 1),
    ]  # fmt: skip
    assert (found.read, found.left_out) == (3, 0)


@pytest.mark.parametrize("rg", [False, pytest.param(True, marks=pytest.mark.needs("rg"))])
@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1"]
)
def test_a_text_of_another_encoding_is_read(tmp_path, encoding, rg):
    body = "one line\r\nthe rebuild took ~4.3 hours \u00e9\r\n"
    (tmp_path / "notes.txt").write_bytes(body.encode(encoding))
    found = hours(tmp_path, ["notes.txt"], os.environ if rg else None)
    assert [(p.line, p.text) for p in found.places] == [(2, "4.3 hours")]
    assert (found.read, found.left_out) == (1, 0)


@pytest.mark.parametrize(
    "body", [b"\0" * 50 + b"4.3 h", b"\x7fELF\0\1\2 4.3 h" + bytes(range(256))]
)
def test_what_is_no_text_is_left_out_and_counted(tmp_path, body):
    (tmp_path / "a.bin").write_bytes(body)
    found = hours(tmp_path, ["a.bin"])
    assert (found.read, found.left_out, found.places) == (0, 1, [])
