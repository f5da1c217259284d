"""Is a superseded figure found wherever it stands, and nothing else?"""

import shutil

import pytest

from pfid.adapters.figure_files import search_files, walked
from pfid.bootstrap.preflight import figures
from pfid.bootstrap.preflight.figures import figures_facts
from pfid.domain.repository import CHANGES_MAX
from pfid.formats import linear_regex
from pfid.formats.figure_search import Wanted, prefilter
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


def test_ripgrep_and_our_own_reading_agree(tmp_path):
    lines = ["4.3 h", "x 258 min y", "4,3 hours", "nothing", "14.3 h", "a" * 9000 + " 4.3 h"]
    for at, line in enumerate(lines):
        (tmp_path / f"f{at}.txt").write_text(f"first\n{line}\n")
    paths = [f"f{at}.txt" for at in range(len(lines))]
    ours = hours(tmp_path, paths)
    assert [(p.path, p.line) for p in ours.places] == [
        ("f0.txt", 2),
        ("f1.txt", 2),
        ("f2.txt", 2),
        ("f5.txt", 2),
    ]
    fake = tmp_path / "bin"
    fake.mkdir()
    rg = fake / "rg"
    rg.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != "--regexp" ]; do shift; done; pattern=$2; shift 3\n'
        'grep -lZE -e "$(printf %s "$pattern" | sed "s/\\\\\\\\s/[[:space:]]/g")" "$@"\n'
    )
    rg.chmod(0o755)
    theirs = hours(tmp_path, paths, {"PATH": f"{fake}:/usr/bin:/bin"})
    assert theirs.by == "ripgrep"
    assert theirs.places == ours.places


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


def test_the_largest_files_are_left_out_and_counted(tmp_path, monkeypatch):
    import pfid.adapters.figure_files as module

    monkeypatch.setattr(module, "FILE_MAX_BYTES", 10)
    (tmp_path / "big.txt").write_text("4.3 h" * 3)
    found = hours(tmp_path, ["big.txt"])
    assert (found.left_out, found.places) == (1, [])
