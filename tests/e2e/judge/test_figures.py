"""`pfid judge` over records on disk: what the checks over figures say, from end to end."""

import json
import random
import sys

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

METRIC = """
def memorised(output, against):
    runs = sum(output[at : at + 20] in against for at in range(len(output) - 19))
    return runs / max(len(against) - 19, 1)
"""
SPEC = f"""
name = "figures"
python = "{sys.executable}"

[records.fields]
seed = "seed"
repeat = "repeat"
flags = "flags"
scores = {{ memorised = "memorised" }}

[arms.candidate]
declared = 180

[gates.memorisation]
corpus = ["corpus.txt"]

[[gates.null_has_positive_control.metrics]]
metric = "memorised"
function = "my_metrics:memorised"

[[gates.trip_point_outside_jitter.points]]
name = "void_budget"
flag = "too_short"
threshold = THRESHOLD

[gates.rate_bound_to_corpus]
corpus = "corpus.txt"

[[gates.rate_bound_to_corpus.rates]]
name = "under_floor"
flag = "too_short"
floor = 15
"""


def prose(seed, words):
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefgh", k=6)) for _ in range(words))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "corpus.txt").write_text(prose(0, 3_000))
    (tmp_path / "my_metrics.py").write_text(METRIC)
    return tmp_path


def judged(folder, *, threshold="0.40", quote="", binding=""):
    rows = [
        {
            "id": item,
            "output": prose(seed * 1_000 + item, 40) + quote,
            "seed": seed,
            "repeat": repeat,
            "flags": ["too_short"] if item < 3 + (repeat == 1) else [],
            "memorised": 0.0,
        }
        for seed in (1, 2)
        for repeat in range(3)
        for item in range(30)
    ]
    (folder / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "GATES.toml").write_text(SPEC.replace("THRESHOLD", threshold) + binding)
    done = CliRunner().invoke(main, ["judge", "r.jsonl", "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return {v["check"]: v for v in json.loads(done.stdout)["verdicts"]}


def test_a_clean_null_is_earned_and_a_bare_rate_is_bound_by_what_is_printed(folder):
    first = judged(folder)
    assert first["null_has_positive_control"]["reason"] == "nulls_earned"
    assert first["memorisation"]["reason"] == "little_verbatim"
    assert first["trip_point_outside_jitter"]["reason"] == "outside_jitter"
    assert first["rate_bound_to_corpus"]["reason"] == "bare"
    (line,) = [e for e in first["rate_bound_to_corpus"]["evidence"] if e.startswith("as the spec")]
    binding = line.partition(": ")[2].replace(", ", "\n") + "\ndate = 2026-11-30\n"
    assert judged(folder, binding=binding)["rate_bound_to_corpus"]["reason"] == "bound"
    (folder / "corpus.txt").write_text(prose(1, 3_000))
    assert judged(folder, binding=binding)["rate_bound_to_corpus"]["reason"] == "stale"


def test_a_quote_a_trip_point_in_the_jitter_and_a_metric_that_is_off(folder):
    (folder / "my_metrics.py").write_text("def memorised(output, against):\n    return 0.0\n")
    quote = f"|{(folder / 'corpus.txt').read_text()[900:1_200]}|"
    found = judged(folder, threshold="0.12", quote=quote)
    assert found["memorisation"]["reason"] == "long_verbatim"
    assert "300 characters" in found["memorisation"]["evidence"][0]
    assert "byte 900" in found["memorisation"]["evidence"][0]
    assert found["trip_point_outside_jitter"]["reason"] == "inside_jitter"
    assert found["null_has_positive_control"]["reason"] == "constant_answer"
