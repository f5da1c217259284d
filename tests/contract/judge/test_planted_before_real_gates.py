"""Planted faults before the real memorisation check and the user's own metrics, as pfid judge does.

Nothing stands in here: the corpus lies on disk and is scanned, the metrics run in an interpreter of
their own, and the checks are those that ship.
"""

import os
import random
import sys

import pytest

from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.judge.planted_metrics import _not_its_own
from pfid.bootstrap.judge.world import Looking
from pfid.config.gates import GateSpec
from pfid.config.model import Config
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_results import arm, record, result_facts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.gate_sees_property import SeesGate, SeesMetric
from pfid.spec.result_gates.memorisation import MemorisationGate
from pfid.spec.result_gates.null_has_positive_control import NullGate, NullMetric

pytestmark = pytest.mark.full

METRICS = """
import os, sys, time


def words(output, against):
    print("metrics may print", output[:9])
    return len(output.split()) / len(against.split())


def same(output, against):
    return float(output == against)


def constant(output, against):
    return 0.5


def raises(output, against):
    if "sorry" in output:
        raise ValueError("no refusals here")
    return 1.0


def hangs(output, against):
    time.sleep(60)


def nan(output, against):
    return float("nan")


def dies(output, against):
    os._exit(9)


def held(output, against):
    return float(output in against)
"""
SIZE = 40


def prose(seed, words):
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefgh", k=5)) for _ in range(words))


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def judged(tmp_path, state):
    (tmp_path / "mine.py").write_text(METRICS)
    (tmp_path / "corpus.txt").write_text(prose(1, 2_000))

    def run(properties, *metrics, corpus=("corpus.txt",), nulls=None, scores=None):
        memory = MemorisationGate(corpus=list(corpus)) if corpus else None
        gates = Gates(
            memorisation=memory,
            null_has_positive_control=nulls,
            gate_sees_property=SeesGate(properties=properties, sample=SIZE, metrics=list(metrics)),
        )
        records = [
            record(
                n,
                text,
                reference=text,
                prompt=f"prompt {n}",
                scores={"m": 1.0} if scores is None else scores,
            )
            for n, text in enumerate(prose(100 + n, 30) for n in range(SIZE))
        ]
        evaluation = Evaluation(
            name="planted",
            spec=GateSpec(python=sys.executable, gates=gates),
            folder=tmp_path,
            state=state,
            results=result_facts(arm(records), gates=gates),
            config=Config(),
            environ=os.environ,
        )
        world = Looking(evaluation).world()
        from pfid_plugins.result import gate_sees_property

        (check,) = gate_sees_property.pfid_checks()
        return {f.name: f for f in world.planted.facts().faults}, run_check(check, world)

    return run


def test_the_real_memorisation_check_sees_a_memorised_answer(judged):
    faults, verdict = judged(["memorisation"])
    assert faults["memorised"].seen_by == ("memorisation",)
    assert faults["memorised"].delivered == SIZE
    assert verdict.reason == "seen", verdict


def test_a_memorisation_check_that_lost_its_eyes_is_a_blind_spot(judged, monkeypatch):
    """A scan that finds nothing cannot fail, and planting is what shows that."""
    from pfid.analysis.overlap import scan

    monkeypatch.setattr(scan.OverlapScan, "_scan", lambda *_: None)
    faults, verdict = judged(["memorisation"])
    assert faults["memorised"].delivered == SIZE
    assert faults["memorised"].seen_by == ()
    assert verdict.reason == "blind"
    assert "memorisation (memorised)" in verdict.summary


def test_a_corpus_that_is_gone_plants_nothing_and_says_so(judged):
    _, verdict = judged(["memorisation"], corpus=("gone.txt",))
    assert verdict.reason == "not_planted"


def metric(function, **more):
    return SeesMetric(metric="m", function=f"mine:{function}", **more)


def test_a_metric_of_ones_own_sees_what_no_check_looks_at(judged):
    faults, verdict = judged(["length"], corpus=())
    assert verdict.reason == "blind"
    short_and_long = metric("words", fails_below=0.7, fails_above=1.5)
    faults, verdict = judged(["length"], short_and_long, corpus=())
    assert {f.seen_by for f in faults.values()} == {("metric m",)}
    assert verdict.reason == "seen", verdict


def test_a_metric_with_one_end_sees_one_fault(judged):
    faults, verdict = judged(["length"], metric("words", fails_below=0.7), corpus=())
    assert (faults["truncated"].seen_by, faults["padded"].seen_by) == (("metric m",), ())
    assert verdict.reason == "blind"
    assert "length (padded)" in verdict.summary


@pytest.mark.parametrize("against", ["reference", "good"])
def test_a_metric_that_is_the_same_for_every_input_sees_nothing(judged, against):
    _, verdict = judged(
        ["length"],
        metric("constant", fails_below=0.4, against=against),
        corpus=(),
        scores={"m": 0.5},
    )
    assert verdict.reason == "blind"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "raised ValueError: no refusals here"),
        ("hangs", "python_hung"),
        ("nan", "no finite number"),
        ("dies", "python_crashed"),
        ("not_there", "python_raised"),
    ],
)
def test_a_metric_that_does_not_answer_hides_no_blind_spot_and_makes_none(judged, function, said):
    one = metric(function, fails_below=0.5, deadline_s=1.5 if function == "hangs" else 30.0)
    faults, verdict = judged(["refusal"], one, corpus=())
    assert verdict.reason == "metric_undriven", verdict
    assert said in faults["refused"].undriven[0]


def test_a_metric_by_which_good_answers_fail_shows_nothing(judged):
    faults, verdict = judged(["length"], metric("words", fails_below=1.5), corpus=())
    assert faults["truncated"].failing == ("metric m",)
    assert verdict.reason == "answers_not_good"


def test_a_function_that_gives_other_scores_than_the_records_hold_is_not_their_metric(judged):
    one = metric("same", fails_below=0.5)
    faults, _ = judged(["length"], one, corpus=(), scores={"m": 0.25})
    assert (
        "gives 1 over the good answers, and their records say 0.25"
        in (faults["truncated"].undriven[0])
    )
    faults, verdict = judged(["length"], one, corpus=(), scores={"m": 1.0})
    assert verdict.reason == "seen"


def test_a_metric_that_no_record_has_sees_nothing(judged):
    one = metric("words", fails_below=0.7, fails_above=1.5)
    faults, verdict = judged(["length"], one, corpus=(), scores={"f1": 1.0})
    assert faults["truncated"].undriven == ("metric m: no record has a score of it",)
    assert verdict.reason == "metric_undriven"


def test_a_record_without_a_score_makes_no_function_the_metrics_own():
    one = metric("same", fails_below=0.5)
    records = [record(n, "a", scores={"m": None if n == 0 else 0.25}) for n in range(60)]
    assert "records say 0.25" in _not_its_own(one, records, [1.0] * 60)
    assert _not_its_own(one, records, [1.0] + [0.25] * 59) == ""


def test_a_function_may_stand_under_the_section_of_nulls_alone(judged):
    nulls = NullGate(metrics=[NullMetric(metric="m", function="mine:same")])
    one = SeesMetric(metric="m", fails_below=0.5)
    assert judged(["length"], one, corpus=(), nulls=nulls)[1].reason == "seen"
    faults, _ = judged(["length"], one, corpus=())
    assert faults["truncated"].undriven == ("metric m: names no function",)


def test_a_passage_of_the_corpus_may_be_what_a_metric_is_given(judged):
    one = metric("held", fails_above=0.1, against="corpus")
    faults, _ = judged(["memorisation"], one)
    assert faults["memorised"].seen_by == ("memorisation", "metric m")


def test_what_a_metric_is_given_beside_the_output_must_be_there(judged):
    faults, verdict = judged(
        ["length"], metric("held", fails_above=0.1, against="corpus"), corpus=()
    )
    assert faults["padded"].undriven == ("metric m: corpus: some records have none",)
    assert verdict.reason == "metric_undriven"


def test_long_answers_reach_the_metric_whole(tmp_path):
    """Two hundred of them are more than an environment holds."""
    from pfid.bootstrap.judge.driving import driven
    from pfid.bootstrap.preflight.project import Project
    from pfid.config.preflight.spec import Spec

    (tmp_path / "mine.py").write_text("def size(output):\n    return len(output)\n")
    spec = Spec(python=sys.executable)
    ask = Project(spec=spec, folder=tmp_path, state=tmp_path, environ=os.environ).ask
    calls = [{"args": ["\u00e9" * 20_000 + "\ud800"], "kwargs": {}}] * 50
    assert driven("mine:size", calls, ask, deadline_s=30) == [20_001.0] * 50


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        (
            SeesGate(properties=["length"], metrics=[SeesMetric(metric="m")]),
            ".metrics[0].fails_below: state fails_below or fails_above",
        ),
        (
            SeesGate(properties=["length"], metrics=[metric("same", fails_below=1.0)] * 2),
            ".metrics[1].metric: is named twice",
        ),
    ],
)
def test_a_section_that_says_too_little_is_named(gate, problem):
    assert problem in gate.problems()
