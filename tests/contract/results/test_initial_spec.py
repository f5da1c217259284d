"""`pfid judge --init`: the spec it writes judges what it was written for, however often it ran."""

import json
import re

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main
from pfid.config.gates import loads_gates


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """The checks are proven once for all tests here."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def judge(tmp_path, state, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))

    def run(*arguments, code=None):
        done = CliRunner().invoke(main, ["judge", *map(str, arguments)], catch_exceptions=False)
        assert code is None or done.exit_code == code, done.output
        return done

    return run


def records(path, acc, n=60):
    """Answers with a score; which are right depends on nothing but their number."""
    rows = [
        {
            "id": f"q{i}",
            "run": path.stem,
            "response": f"the {i}th of {acc} answers stands here " * 5,
            "finish_reason": "stop",
            "accuracy": float(i % 10 < acc),
        }
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.name


def complete(done):
    """The verdict on how many there are, and the arms."""
    said = json.loads(done.stdout)
    (verdict,) = [v for v in said["verdicts"] if v["check"] == "records_complete"]
    return verdict["reason"], said["candidate"], said["baseline"]


def test_the_readmes_commands_one_after_the_other(judge, tmp_path):
    for name, acc in (("results", 6), ("base", 5), ("run1", 6), ("run2", 6), ("run3", 7)):
        records(tmp_path / f"{name}.jsonl", acc)
    wrote = judge("--init", "results.jsonl", "--baseline", "base.jsonl", code=0)
    assert "baseline: 60 records, 0 bad" in wrote.stderr
    assert (tmp_path / "GATES.toml").read_text().count("\ndeclared_per_run = 60") == 2
    reason, mine, base = complete(judge("results.jsonl", "--baseline", "base.jsonl", "--json"))
    assert (reason, mine["declared"], base["declared"]) == ("records_complete", 60, 60)
    runs = ("run1.jsonl", "run2.jsonl", "run3.jsonl")
    reason, mine, _ = complete(judge(*runs, "--json"))
    assert (reason, mine["records"], mine["declared"]) == ("records_complete", 180, 180)


def test_a_run_that_lost_records_is_missed_among_others(judge, tmp_path):
    records(tmp_path / "results.jsonl", 6)
    judge("--init", "results.jsonl", code=0)
    records(tmp_path / "run2.jsonl", 6, n=59)
    reason, mine, _ = complete(judge("results.jsonl", "run2.jsonl", "--json"))
    assert (reason, mine["records"], mine["declared"]) == ("records_missing", 119, 120)


def test_a_spec_written_for_three_runs_says_what_one_holds(judge, tmp_path):
    runs = [records(tmp_path / f"run{n}.jsonl", 6) for n in (1, 2, 3)]
    wrote = judge("--init", *runs, code=0)
    assert "180 records in 3 runs" in wrote.stderr
    assert "declared_per_run = 60" in (tmp_path / "GATES.toml").read_text()


def test_lines_that_are_no_record_are_missed_by_the_spec_that_was_written_over_them(
    judge, tmp_path
):
    records(tmp_path / "results.jsonl", 6, n=1)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write("{bad\n[1\n")
    judge("--init", "results.jsonl", code=0)
    reason, mine, _ = complete(judge("results.jsonl", "--json", code=3))
    assert (reason, mine["records"], mine["declared"]) == ("records_missing", 1, 3)


def test_one_file_given_thrice_shows_no_jitter(judge, tmp_path):
    """It passed with a jitter of nothing."""
    records(tmp_path / "results.jsonl", 6)
    judge("--init", "results.jsonl", code=0)
    with (tmp_path / "GATES.toml").open("a") as file:
        file.write("\n[[gates.trip_point_outside_jitter.points]]\n")
        file.write('name = "right"\nmetric = "accuracy"\nthreshold = 0.9\n')
    thrice = judge(*["results.jsonl"] * 3, "--json", code=3)
    reason, mine, _ = complete(thrice)
    assert (reason, mine["records"], mine["repeats"]) == ("file_given_twice", 60, 1)
    said = {v["check"]: v["outcome"] for v in json.loads(thrice.stdout)["verdicts"]}
    assert said["trip_point_outside_jitter"] == "unknown"
    assert "pass" not in said.values()


def test_both_ways_to_declare_at_once_are_refused(judge, tmp_path):
    records(tmp_path / "results.jsonl", 6)
    judge("--init", "results.jsonl", code=0)
    spec = tmp_path / "GATES.toml"
    spec.write_text(
        spec.read_text().replace("declared_per_run", "declared = 60\ndeclared_per_run", 1)
    )
    assert "say one" in judge("results.jsonl", code=2).stderr


def test_scores_and_figures_stand_in_the_text_and_what_to_do_at_its_end(judge, tmp_path):
    records(tmp_path / "results.jsonl", 6)
    records(tmp_path / "base.jsonl", 5)
    judge("--init", "results.jsonl", "--baseline", "base.jsonl", code=0)
    shown = judge("results.jsonl", "--baseline", "base.jsonl").stdout
    (scores,) = [line.split() for line in shown.splitlines() if line.startswith("accuracy ")]
    assert scores == ["accuracy", "0.6", "(n=60)", "0.5", "(n=60)"]
    measured = next(
        line
        for line in shown.partition("MEASURED")[2].splitlines()
        if line.startswith("records_complete ")
    )
    assert "candidate records 60" in measured
    (counts,) = [line for line in shown.splitlines() if " n/a (" in line]
    assert "not configured" in counts
    assert shown.splitlines()[-1].startswith("next: ")
    said = json.loads(judge("results.jsonl", "--baseline", "base.jsonl", "--json").stdout)
    assert said["candidate"]["scores"] == {"accuracy": {"mean": 0.6, "n": 60, "unscored": 0}}


def test_what_does_not_apply_is_not_called_not_configured(judge, tmp_path):
    """One arm alone is no missing section."""
    records(tmp_path / "results.jsonl", 6)
    judge("--init", "results.jsonl", code=0)
    said = json.loads(judge("results.jsonl", "--json").stdout)
    reasons = [v["reason"] for v in said["verdicts"] if v["outcome"] == "not_applicable"]
    shown = judge("results.jsonl").stdout
    for reason in set(reasons):
        assert f"{reasons.count(reason)} {reason.replace('_', ' ')}" in shown
    assert len(set(reasons)) > 1


def test_every_section_stands_in_it_and_holds_as_it_is_when_it_is_taken_in(judge, tmp_path):
    records(tmp_path / "results.jsonl", 6)
    judge("--init", "results.jsonl", code=0)
    text = (tmp_path / "GATES.toml").read_text()
    taken = re.sub(r"^# (?=\[|[a-z_0-9]+ = )", "", text, flags=re.MULTILINE)
    spec = loads_gates(taken)
    missing = [name for name in spec.gates.__struct_fields__ if getattr(spec.gates, name) is None]
    assert missing == [], "a gate that nobody is shown is a gate that nobody asks"
    assert spec.arms.candidate.instrument.max_tokens == 1500
