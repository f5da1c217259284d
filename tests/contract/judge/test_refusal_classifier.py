"""A plugin's classifier, really loaded and asked in its own process, whatever it does."""

import re
from pathlib import Path

import pytest
from pfid_plugins.result import refusal_retention

from pfid.bootstrap.judge.refusals import refusal_facts
from pfid.domain.answer import Stance
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.refusal_retention import RefusalGate

HEAD = """
from pfid.domain.answer import LabelledAnswer, Stance
from pfid.spec import hookimpl

LABELS = {"no": Stance.HARD, "maybe": Stance.DEFLECT, "yes": Stance.COMPLY}

class Toy:
    name = "toy"
    controls = [LabelledAnswer(name=w + str(n), text=w, stance=s)
                for w, s in LABELS.items() for n in range(2)]
    def classify(self, asked):
        return [LABELS.get(a.output, Stance.UNCLEAR) for a in asked]
"""
HOOK = """
@hookimpl
def pfid_refusal_classifiers():
    yield Toy()
"""
README = Path(__file__).parents[3] / "plugins" / "README.md"
(CHECK,) = refusal_retention.pfid_checks()


def asked(tmp_path, body, deadline_s=60.0, name="toy", outputs=("yes", "no", "yes")):
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "toy.py").write_text(HEAD + body + HOOK)
    (folder / "toy.py").chmod(0o600)
    gate = RefusalGate(
        axis="a", abliterated="a", shipped=False, classifier=name, classifier_deadline_s=deadline_s
    )
    results = result_facts(
        arm([record(n, text) for n, text in enumerate(outputs)]),
        arm([record(n, "no") for n in range(100)], "stock"),
        gates=Gates(refusal_retention=gate),
    )
    facts = refusal_facts(gate, tmp_path, results, [str(folder)])
    return facts.classifier, run_check(CHECK, result_world(results, refusals=facts))


def test_a_proven_classifier_reads_both_arms(tmp_path):
    told, verdict = asked(tmp_path, "")
    assert told.problem == ""
    assert told.candidate == (Stance.COMPLY, Stance.HARD, Stance.COMPLY)
    assert set(told.baseline) == {Stance.HARD}
    assert len(told.controls) == 6
    assert verdict.summary.startswith("2 of 3 comply (1 hard, 0 deflect)")


def test_the_example_in_the_readme_holds(tmp_path):
    text = README.read_text()
    blocks = re.findall(r"```python\n((?:(?!```).)*)```", text, re.DOTALL)
    (example,) = [block for block in blocks if "pfid_refusal_classifiers" in block]
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o700)
    (folder / "tiny.py").write_text(example)
    (folder / "tiny.py").chmod(0o600)
    gate = RefusalGate(axis="a", abliterated="a", classifier="tiny")
    results = result_facts(
        arm([record(1, "I will not do that."), record(2, "Fog lay on the quay.")])
    )
    told = refusal_facts(gate, tmp_path, results, [str(folder)]).classifier
    assert told.candidate == (Stance.HARD, Stance.COMPLY)
    assert all(control.got is control.stance for control in told.controls)


def test_what_it_prints_is_not_taken_for_its_answer(tmp_path):
    told, _ = asked(tmp_path, 'print(\'{"problem": ""}\')\n')
    assert told.candidate[1] is Stance.HARD


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise RuntimeError('no weights')\n", "not_found"),
        ("Toy.classify = lambda self, asked: 1 / 0\n", "raised"),
        ("Toy.classify = lambda self, asked: []\n", "raised"),
        ("Toy.classify = lambda self, asked: ['hard'] * len(asked)\n", "rubbish"),
        ("Toy.controls = ['no']\n", "raised"),
        ("import os\nToy.classify = lambda self, asked: os._exit(3)\n", "crashed"),
        ("import os\nToy.classify = lambda self, asked: os.kill(os.getpid(), 9)\n", "crashed"),
    ],
)
def test_whatever_it_does_is_named_and_judged_as_unknown(tmp_path, body, problem):
    told, verdict = asked(tmp_path, body)
    assert told.problem == problem
    assert verdict.reason == "instrument_unproven"


def test_one_that_hangs_is_ended_at_its_deadline(tmp_path):
    told, verdict = asked(
        tmp_path, "import time\nToy.classify = lambda s, a: time.sleep(900)\n", 2.0
    )
    assert told.problem == "hung"
    assert verdict.reason == "instrument_unproven"


def test_one_whose_controls_are_wrong_does_not_count(tmp_path):
    told, verdict = asked(tmp_path, "Toy.classify = lambda s, a: [Stance.COMPLY] * len(a)\n")
    assert told.problem == ""
    assert verdict.reason == "instrument_unproven"
    assert "control 'no0' is hard, came out as comply" in verdict.evidence[0]


def test_one_that_nobody_brings_is_named(tmp_path):
    told, _ = asked(tmp_path, "", name="other")
    assert told.problem == "not_found"


def test_half_a_character_pair_reaches_it_as_text(tmp_path):
    told, _ = asked(tmp_path, "", outputs=("\ud800", "yes"))
    assert told.candidate == (Stance.UNCLEAR, Stance.COMPLY)
