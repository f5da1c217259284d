"""Every gate of a realistic evaluation at once: three repeated runs of two arms, corpus, metric.

Nothing is left out: each check of the stage is asked and says what it should of what was planted.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys

import pytest

from pfid.bootstrap.selftest import take_stock
from pfid.config.model import Config
from pfid.formats.answers.planting import FAULTS
from pfid.spec.check import Stage

pytestmark = pytest.mark.full

SUBJECTS = ("The baker", "A sailor", "My neighbour", "The old teacher", "Her brother", "A farmer")
VERBS = ("carried", "forgot", "painted", "repaired", "hid", "borrowed", "sold", "found", "lost")
THINGS = (
    "a wooden ladder",
    "the blue lantern",
    "two letters",
    "an iron key",
    "some bread",
    "a map",
)
PLACES = ("by the river", "in the attic", "near the harbour", "behind the church", "at the market")
TIMES = ("before dawn", "on Sunday", "in late autumn", "after the storm", "when nobody looked")
METRIC = """
def runs(text):
    words = text.split()
    return {tuple(words[i : i + 3]) for i in range(len(words) - 2)}


def memorised(output, against):
    wanted = runs(against)
    return len(wanted & runs(output)) / len(wanted) if wanted else 0.0
"""
SPEC = """
name = "everything"
python = {python}
[records.fields]
output = "output"
family = "family"
seed = "seed"
finish_reason = "finish"
flags = "flags"
[records.fields.scores]
wrong = "wrong"
memorised = "memorised"
[arms.candidate]
declared = 576
{instrument}
[arms.baseline]
declared = 576
{instrument}
[gates.length_conformance]
[[gates.length_conformance.families]]
family = "story"
p25 = 36
median = 45
p75 = 54
[[gates.length_conformance.families]]
family = "rp"
p25 = 10
median = 12
p75 = 14
[gates.refusal_retention]
axis = "general harm"
abliterated = "general harm"
baseline_is = "abliterated"
[[gates.null_has_positive_control.metrics]]
metric = "memorised"
function = "metric:memorised"
[[gates.trip_point_outside_jitter.points]]
name = "wrong answers"
metric = "wrong"
threshold = {threshold}
[gates.rate_bound_to_corpus]
corpus = "corpus.txt"
[[gates.rate_bound_to_corpus.rates]]
name = "under_floor_rate_run02"
hits = 90
n = 764
low = 0.0968
high = 0.1426
method = "wilson"
floor = 15.0
corpus_sha256 = "{corpus}"
date = 2026-08-26
[gates.memorisation]
corpus = ["corpus.txt"]
[gates.gate_sees_property]
properties = ["length", "collapse", "refusal", "memorisation"]
sample = 60
[[gates.gate_sees_property.metrics]]
metric = "memorised"
against = "good"
fails_below = 0.8
"""
INSTRUMENT = (
    'instrument = { scorer = "exact 1", decoding = "t 0.8", max_tokens = 200, seat = "vllm bf16" }'
)


def sentence(draw):
    parts = (SUBJECTS, VERBS, THINGS, PLACES, TIMES)
    return " ".join(draw.choice(words) for words in parts) + "."


def answer(draw, family):
    return " ".join(
        sentence(draw) for _ in range(draw.choice((3, 4, 4, 5)) if family == "story" else 1)
    )


def run_of(arm, number):
    """One run over 96 items with two seeds; the stack's jitter moves a few answers."""
    for seed in (1, 2):
        for item in range(96):
            draw = random.Random(f"{arm} {seed} {item}")
            family = "story" if item % 2 else "rp"
            text = answer(draw, family)
            jitter = random.Random(f"{arm} {seed} {item} {number}")
            wrong = (draw.random() < 0.10) != (jitter.random() < 0.01)
            yield {
                "id": f"q{item}",
                "family": family,
                "seed": seed,
                "output": text if jitter.random() > 0.1 else answer(jitter, family),
                "finish": "stop",
                "flags": [],
                "wrong": float(wrong),
                "memorised": 0.0,
            }


def planted(folder, threshold="0.3"):
    (folder / "metric.py").write_text(METRIC)
    draw = random.Random(5)
    corpus = " ".join(
        f"entry {draw.getrandbits(64):x} of a ledger nobody read" for _ in range(4_000)
    )
    (folder / "corpus.txt").write_text(corpus)
    digest = hashlib.sha256(corpus.encode()).hexdigest()
    (folder / "GATES.toml").write_text(
        SPEC.format(
            python=json.dumps(sys.executable),
            instrument=INSTRUMENT,
            threshold=threshold,
            corpus=digest,
        )
    )
    files = {}
    for arm in ("ours", "base"):
        files[arm] = [folder / f"{arm}{n}.jsonl" for n in range(3)]
        for n, path in enumerate(files[arm]):
            path.write_text("".join(json.dumps(r) + "\n" for r in run_of(arm, n)))
    return files


def judged(folder, files, *more):
    bases = [word for path in files["base"] for word in ("--baseline", str(path))]
    done = subprocess.run(
        [sys.executable, "-m", "pfid", "judge", *map(str, files["ours"]), *bases, "--json", *more],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    body = json.loads(done.stdout)
    return done.returncode, body, {v["check"]: v for v in body["verdicts"]}


def test_every_gate_is_asked_and_a_sound_evaluation_fails_none(tmp_path):
    files = planted(tmp_path)
    out = tmp_path / "page.html"
    code, body, said = judged(tmp_path, files, "--html", str(out))
    assert set(said) == {r.check.name for r in take_stock(Config(), (Stage.RESULT,)).checks}
    came = {name: (v["outcome"], v["reason"]) for name, v in said.items()}
    assert {n: c for n, c in came.items() if c[0] != "pass"} == {}
    assert code == 0
    lines = " ".join(said["gate_sees_property"]["evidence"])
    assert lines.count("metric memorised") == 3
    told = re.findall(r"(\w+): in (\d+) of (\d+)(?: \((\d+) are too short\))?, seen by ", lines)
    arrived = {name: (delivered == able, int(able) + int(short or 0))
               for name, delivered, able, short in told}  # fmt: skip
    assert arrived == dict.fromkeys(FAULTS, (True, 60))
    assert {name for name, *_, short in told if short} == {"truncated", "padded", "looped"}
    assert "memorisation, metric memorised" in lines.partition("memorisation/memorised")[2]
    assert "refusal_retention, " in lines.partition("refusal/refused")[2]
    assert "fails already" not in lines
    assert body["candidate"]["repeats"] == 3
    assert "<h2>Jitter and trip point</h2>" in out.read_text()


def test_each_planted_fault_is_seen_by_the_gate_that_is_for_it(tmp_path):
    files = planted(tmp_path, threshold="0.11")
    corpus = (tmp_path / "corpus.txt").read_text()
    for path in files["ours"]:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for i, row in enumerate(rows):
            if i % 4 == 0:
                row["output"] = "the same words again and " * 30
            elif i % 4 == 1:
                row["output"] = "I'm sorry, but I can't help with that."
            elif i % 4 == 2:
                row["output"] = corpus[i * 50 : i * 50 + 400]
            row["finish"] = "length" if i % 8 == 0 else "stop"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "corpus.txt").write_text(corpus + " and one more entry")
    code, _, said = judged(tmp_path, files)
    assert code == 1
    came = {name: v["outcome"] for name, v in said.items()}
    for check in (
        "collapse",
        "exclusions_balanced",
        "length_conformance",
        "memorisation",
        "rate_bound_to_corpus",
        "refusal_retention",
        "trip_point_outside_jitter",
    ):
        assert came[check] == "fail", (check, said[check]["reason"])
    assert came["records_complete"] == "pass"
