"""``pfid config``: everything wrong at once, and what is in force with every default marked."""

import json
import tomllib

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main
from pfid.config.model import Config, as_data


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PFID_CONFIG", str(tmp_path / "pfid.toml"))

    def call(text, *arguments):
        if text is not None:
            (tmp_path / "pfid.toml").write_text(text)
        done = CliRunner().invoke(main, ["config", *arguments], catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return call


def test_a_good_file_is_said_to_be_good(run):
    code, out, err = run("page.exported_runs_max = 100", "check")
    assert (code, err) == (0, "")
    assert "good" in out


def test_a_bad_file_exits_2_with_every_problem_on_stderr(run):
    code, out, err = run("a = 1\npage.exported_runs_max = 0", "check")
    assert (code, out) == (2, "")
    assert "a: unknown key" in err
    assert "page.exported_runs_max: expected" in err


def test_checks_and_limits_nobody_has_are_named_with_what_is_near(run):
    text = "[checks.run_gon]\nenabled = false\n[checks.run_stalled]\nlimits.zzz = 3\n"
    code, _, err = run(text, "check")
    assert code == 2
    assert "checks.run_gon: no such check; did you mean 'run_gone'?" in err
    assert "checks.run_stalled.limits.zzz: no such limit" in err


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("run_stalled.limits.train_s", "-5", "it must not be below 0"),
        ("run_stalled.limits.factor", "0", "does not move when shifted"),
        ("loss_not_finite.limits.bad", "-3", "it must not be below 0"),
        ("loss_not_finite.limits", "{ bad = 0 }", "it cannot be proven under these: control"),
    ],
)
def test_limits_that_no_check_can_keep_are_named(run, limit, value, said):
    code, out, err = run(f"checks.{limit} = {value}", "check")
    assert (code, out) == (2, "")
    assert f"checks.{limit}: " in err
    assert said in err


def test_limits_under_which_a_check_is_proven_are_good(run):
    text = "checks.run_stalled.limits.train_s = 700\nchecks.loss_not_finite.limits.bad = 5\n"
    assert run(text, "check")[0] == 0


def test_json_is_one_object_either_way(run):
    code, out, _ = run("a = 1", "check", "--json")
    printed = json.loads(out)
    assert (code, printed["schema"], printed["ok"]) == (2, 1, False)
    assert "a: unknown key" in printed["problems"][0]
    assert json.loads(run("", "check", "--json")[1])["ok"] is True


def test_a_file_that_was_named_and_is_missing_is_refused(run):
    code, _, err = run(None, "check")
    assert code == 2
    assert "cannot be read" in err


def test_what_is_in_force_is_toml_that_comes_to_the_same(run):
    text = '[page]\nexported_runs_max = 100\n[dialects.regex]\n"a-b" = \'(?P<step>\\d+) "x"\'\n'
    code, out, _ = run(text, "show")
    assert code == 0
    shown = tomllib.loads(out)
    expected = as_data(Config())
    expected["page"]["exported_runs_max"] = 100
    expected["dialects"]["regex"] = {"a-b": '(?P<step>\\d+) "x"'}
    del expected["checks"]
    assert shown == expected


def test_every_default_is_marked_and_what_was_set_is_not(run):
    _, out, _ = run("page.exported_runs_max = 100", "show")
    marks = {line.split(" = ")[0]: "  # default; " in line for line in out.splitlines()[1:]}
    assert [path for path, default in marks.items() if not default] == ["page.exported_runs_max"]


def test_json_says_which_are_defaults(run):
    printed = json.loads(run("page.exported_runs_max = 100", "show", "--json")[1])
    assert printed["config"]["page"]["exported_runs_max"] == 100
    assert "page.exported_runs_max" not in printed["defaults"]
    assert "page.listen" in printed["defaults"]


def test_a_bad_file_cannot_be_shown(run):
    code, out, err = run("a = 1", "show")
    assert (code, out) == (2, "")
    assert "a: unknown key" in err
