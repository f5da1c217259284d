"""Does a ledger say no where it must, and keep what was written into it?"""

import json
import os
import stat

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main
from pfid.config.claims import load_claims

NEW = ("--text", "in minutes", "--figure", "145.5", "--unit", "s", "--measured", "run 2")
OLD = ("--text", "in hours", "--figure", "4.3", "--unit", "h", "--derived", "a comment")
SAID = ("--falls", "the window", "--survives", "the cache")


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path / "claims.toml"


def call(*arguments):
    done = CliRunner().invoke(main, ["claims", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def told(*arguments, exit_code=0):
    done = call(*arguments, "--json")
    assert done.exit_code == exit_code, done.output
    return json.loads(done.stdout)


def found(*arguments, exit_code=1):
    findings = told("check", *arguments, exit_code=exit_code)["findings"]
    return [(one["outcome"], one["code"], one["key"], one["where"]) for one in findings]


def test_the_life_of_a_claim(ledger, tmp_path):
    assert told("add", "k", *OLD, "--expires", "2999-01-01")["claim"]["status"] == "derived"
    assert told("check")["ok"] is True
    assert found("--on", "2999-01-01") == [("fail", "expired", "k", None)]
    (tmp_path / "run.sh").write_text("# at once\n# 258 minutes to rebuild\n")
    done = told("supersede", "k", *NEW, *SAID)
    assert done["standing"] == [{"file": "run.sh", "line": 2, "text": "258 minutes"}]
    assert done["superseded"]["superseded_by"] == "k"
    assert done["claim"]["figure"] == 145.5
    assert found() == [("fail", "superseded_stands", "k", "run.sh:2")]
    (tmp_path / "run.sh").write_text("# 145.5 s to rebuild\n")
    shown = told("check")
    assert shown["claims"] == {"measured": 1, "derived": 0, "superseded": 1, "negative": 0}
    assert shown["searched"]["read"] == 1
    explained = told("why", "k")
    assert [c["figure"] for c in explained["live"]] == [145.5]
    assert explained["superseded"][0]["falls"] == ["the window"]
    assert ledger.read_text().startswith('[[claims]]\nkey = "k"\n')


def test_a_place_may_keep_a_figure_only_for_a_reason(ledger, tmp_path):
    told("add", "k", *OLD, "--expires", "2999-01-01")
    told("supersede", "k", *SAID, "--withdrawn")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/history.md").write_text("4.3 h")
    assert found() == [("fail", "superseded_stands", "k", "docs/history.md:1")]
    text = ledger.read_text()
    ledger.write_text(text + 'allow = [{ path = "docs/*", reason = "the history" }]\n')
    assert told("check")["searched"]["allowed"] == 1
    for reason in ("", "  "):
        ledger.write_text(text + f'allow = [{{ path = "docs/*", reason = "{reason}" }}]\n')
        assert call("check").exit_code == 2


def test_a_changed_artefact_fails_and_a_missing_one_is_unknown(ledger, tmp_path):
    artefact = tmp_path / "out/run.json"
    artefact.parent.mkdir()
    artefact.write_text("{}")
    source = told("add", "k", *NEW, "--artefact", "out/run.json")["claim"]["source"]
    assert source["file"] == "out/run.json"
    assert told("check")["ok"] is True
    artefact.write_text("{ }")
    assert found() == [("fail", "artefact_changed", "k", "out/run.json")]
    artefact.unlink()
    assert found(exit_code=3) == [("unknown", "artefact_unread", "k", "out/run.json")]
    assert call("add", "l", *NEW, "--artefact", "out/run.json").exit_code == 3


def test_one_key_has_one_value(ledger, tmp_path):
    (tmp_path / "run.sh").write_text("echo\n")
    told("add", "k", *NEW)
    told("add", "k", "--text", "t", "--figure", "2.425", "--unit", "min", "--measured", "run 3")
    refused = call("add", "k", *OLD, "--expires", "2999-01-01")
    assert refused.exit_code == 2
    assert "supersede k" in refused.stderr
    assert len(load_claims(ledger).claims) == 2
    ledger.write_text(ledger.read_text().replace("2.425", "2.5"))
    assert [code for _, code, _, _ in found()] == ["contradiction"]
    assert call("supersede", "k", *SAID, "--withdrawn").exit_code == 2
    told("supersede", "k", *SAID, "--was", "2.5", "--by", "k")
    assert told("check")["ok"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "k", "--text", "t"),
        ("add", "k", *NEW, "--derived", "too", "--expires", "2999-01-01"),
        ("add", "k", *OLD),
        ("add", "k", "--text", "t", "--consensus", "us"),
        ("add", "k", *OLD, "--expires", "2999-01-01", "--negative"),
        ("add", "k", *OLD, "--expires", "soon"),
        ("add", "k", "--measured", "x"),
        ("add", " ", *NEW),
        ("add", "k", "--text", " ", "--measured", "x"),
        ("add", "k", "--text", "t", "--measured", "x", "--unit", "s"),
        ("add", "k", "--text", "t", "--measured", "x", "--figure", "nan"),
        ("add", "k", "--text", "t", "--measured", "x", "--figure", "2..1"),
        ("add", "k", "--text", "t", "--measured", "x", "--figure", "1..2..3"),
        ("supersede", "there", "--falls", "f", "--withdrawn"),
        ("supersede", "there", "--survives", "s", "--withdrawn"),
        ("supersede", "there", "--falls", " ", "--survives", "s", "--withdrawn"),
        ("supersede", "there", *SAID),
        ("supersede", "there", *SAID, "--withdrawn", *NEW),
        ("supersede", "there", *SAID, "--by", "nobody"),
        ("supersede", "there", *SAID, "--by", "there"),
        ("supersede", "nobody", *SAID, "--withdrawn"),
        ("supersede", "there", *SAID, "--was", "7", "--withdrawn"),
        ("why", "their"),
    ],
)
def test_what_is_no_claim_is_refused_and_nothing_is_written(ledger, arguments):
    told("add", "there", *NEW)
    before = ledger.read_text()
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert ledger.read_text() == before


def test_a_key_that_is_nearly_one_is_hinted_at(ledger):
    told("add", "there", *NEW)
    assert "near it: there" in call("why", "their").stderr


def test_a_claim_superseded_by_another_is_explained_by_it(ledger):
    told("add", "new", *NEW)
    told("add", "old", *OLD, "--expires", "2999-01-01")
    told("supersede", "old", *SAID, "--by", "new")
    assert [c["key"] for c in told("why", "new")["superseded"]] == ["old"]
    assert "nothing stands about old" in call("why", "old").stderr


@pytest.mark.parametrize("body", [None, b"x = ", b"\xff", b"[[claims]]\nkey = 'k'\n", b"\0"])
def test_a_ledger_that_cannot_be_used_is_a_fault_of_configuration(ledger, body):
    if body is not None:
        ledger.write_bytes(body)
    for arguments in (("check",), ("why", "k")):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "claims.toml" in done.stderr


def test_a_pipe_is_no_ledger_and_nobody_waits_for_it(ledger):
    os.mkfifo(ledger)
    assert [call(*a).exit_code for a in (("check",), ("why", "k"), ("add", "k", *NEW))] == [2, 2, 3]


@pytest.mark.parametrize("figure", ["nan", "-inf", "[1, inf]", "[2, 1]", "[1]"])
def test_a_figure_that_is_no_number_is_refused(ledger, figure):
    told("add", "k", *NEW)
    ledger.write_text(ledger.read_text().replace("145.5", figure))
    assert call("check").exit_code == 2


def test_the_first_ledger_is_good_and_never_written_over(ledger, tmp_path):
    (tmp_path / "run.sh").write_text("echo\n")
    assert told("init")["claims"] == len(load_claims(ledger).claims)
    before = ledger.read_text()
    assert told("check")["ok"] is True
    again = call("init")
    assert again.exit_code == 2
    assert "is there already; nothing was written" in again.stderr
    assert ledger.read_text() == before
    told("supersede", "grouped_mm", *SAID, "--withdrawn")
    assert before.splitlines()[0] in ledger.read_text()


def test_an_empty_ledger_is_nothing_to_be_good(ledger):
    ledger.write_text("")
    assert found(exit_code=3) == [("unknown", "no_claims", None, None)]
    assert "good" not in call("check").output


def test_figures_that_nobody_looked_for_are_not_said_to_stand_nowhere(ledger, tmp_path):
    (tmp_path / "run.sh").write_text("echo\n")
    told("add", "k", *OLD, "--expires", "2999-01-01")
    assert "there was no superseded figure to find" in call("check").output
    told("supersede", "k", *SAID, "--withdrawn")
    assert "no superseded figure does" in call("check").output


def test_a_first_ledger_that_cannot_be_written_is_a_usage_error(ledger):
    ledger.symlink_to("/proc/nowhere/claims.toml")
    assert call("init").exit_code == 2


def test_a_figure_that_was_confirmed_since_is_not_looked_for(ledger, tmp_path):
    told("add", "k", *OLD, "--expires", "2999-01-01")
    told(
        "supersede",
        "k",
        *SAID,
        "--text",
        "t",
        "--figure",
        "258",
        "--unit",
        "min",
        "--measured",
        "x",
    )
    (tmp_path / "run.sh").write_text("4.3 h")
    assert told("check")["ok"] is True


def test_hostile_words_stay_words(ledger):
    words = '\x1b[2J"""\n[[claims]]\u202e\\'
    told("add", words, "--text", words, "--measured", words, "--describes", words)
    assert told("why", words)["live"][0]["text"] == words
    for arguments in (("why", words), ("check",)):
        assert "\x1b" not in call(*arguments).output


def test_the_file_keeps_its_mode_and_a_link_stays_one(ledger, tmp_path):
    told("add", "k", *NEW)
    ledger.chmod(0o600)
    (tmp_path / "link.toml").symlink_to(ledger)
    told("add", "l", *NEW, "--ledger", "link.toml")
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    assert (tmp_path / "link.toml").is_symlink()
    assert [c.key for c in load_claims(ledger).claims] == ["k", "l"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["claims.toml", "link.toml"]


@pytest.mark.parametrize("where", ["gone/claims.toml", "loop.toml"])
def test_a_ledger_that_cannot_be_written_is_said(ledger, tmp_path, where):
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    done = call("add", "k", *NEW, "--ledger", where)
    assert done.exit_code in (2, 3)
    assert "cannot be" in done.stderr


@pytest.mark.needs("git")
def test_what_git_ignores_is_not_searched(ledger, tmp_path):
    import subprocess

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    told("add", "k", *OLD, "--expires", "2999-01-01")
    told("supersede", "k", *SAID, "--withdrawn")
    (tmp_path / ".gitignore").write_text("out\n")
    git = ["git", "-C", str(tmp_path), *identity]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "c"], check=True)
    (tmp_path / "out").write_text("4.3 h")
    (tmp_path / "later.md").write_text("4.3 h")
    assert found() == [("fail", "superseded_stands", "k", "later.md:1")]


def test_what_a_claim_is_about_is_held_to_by_its_content(ledger, tmp_path):
    (tmp_path / "runs").mkdir()
    about = tmp_path / "runs" / "manifest.json"
    about.write_text("{}")
    claim = told("add", "k", *NEW, "--describes", "runs/manifest.json")["claim"]
    assert claim["describes"].startswith("runs/manifest.json@sha256:44136fa355b3678a1146ad16f7e8")
    assert told("check")["ok"] is True
    about.write_text("{ }")
    assert found() == [("fail", "described_changed", "k", "runs/manifest.json")]
    about.unlink()
    assert found(exit_code=3) == [("unknown", "described_unread", "k", "runs/manifest.json")]


def test_what_is_no_file_stays_words_and_half_a_digest_is_refused(ledger):
    said = "run 2, with flex attention"
    assert told("add", "k", *NEW, "--describes", said)["claim"]["describes"] == said
    done = call("add", "l", *NEW, "--describes", "manifest.json@sha256:abc")
    assert done.exit_code == 2
    assert "FILE@sha256:64 hexadecimal digits" in done.stderr


def test_what_people_read_is_no_json(ledger):
    done = call("init", "--ledger", "other.toml")
    assert (done.stdout, "other.toml: " in done.stderr) == ("", True)
    done = call("add", "k", *NEW)
    assert (done.stdout, done.stderr.strip()) == ("", "claims.toml: k is 145.5 s")
    assert not call("check").stdout.startswith("{")


def test_a_claim_in_words_is_named_by_its_words_and_an_end_of_a_range_by_both(ledger):
    call("add", "w", "--text", "flex attention is live", "--measured", "run 2")
    again = call("add", "w", "--text", "it is not", "--measured", "run 2")
    assert "w stands as flex attention is live" in again.stderr
    call("add", "r", "--text", "t", "--figure", "9.49..14.07", "--unit", "%", "--measured", "m")
    assert load_claims(ledger).of("r")[0].ends == (9.49, 14.07)
    assert "r stands as 9.49..14.07 %" in call("add", "r", *NEW).stderr
    done = told("supersede", "r", *SAID, "--was", "9.49..14.07", "--withdrawn")
    assert done["superseded"]["figure"] == [9.49, 14.07]
    assert "nothing stands about r" in call("why", "r").stderr
    assert "nothing stands" not in call("why", "w").stderr


def test_a_key_that_is_near_no_other_is_told_no_other(ledger):
    call("add", "rebuild_time", *NEW)
    assert "; near it: rebuild_time" in call("why", "rebuild_tim").stderr
    assert "near it" not in call("why", "zzzzzz").stderr


def test_a_dead_end_that_was_not_measured_is_refused(ledger):
    done = call("add", "k", *OLD, "--expires", "2999-01-01", "--negative")
    assert "only what was measured is a dead end" in done.stderr
    assert told("add", "k", *NEW, "--negative")["claim"]["status"] == "negative"


def test_an_artefact_outside_is_named_by_its_whole_path(ledger, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}-outside.json"
    outside.write_text("{}")
    claim = told("add", "k", *NEW, "--artefact", str(outside))["claim"]
    assert claim["source"]["file"] == str(outside)
