"""The user's metric driven in a real interpreter: what it answers, and every way not to."""

import os
import re
import sys

import pytest
from pfid_plugins.result.null_has_positive_control import judge, observe

from pfid.bootstrap.judge.known_answers import OTHER, TEXT, known_answers_facts
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.spec import Spec
from pfid.spec import NoLimits
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates.null_has_positive_control import KnownInput, NullGate, NullMetric

METRICS = """
import collections, difflib, os, time

def overlap(output, against):
    match = difflib.SequenceMatcher(None, output, against, autojunk=False)
    return match.find_longest_match().size / max(len(against), 1) if output else 0.0

def longest_over(output, against, floor=20):
    size = overlap(output, against) * len(against)
    return size / len(against) if size >= floor else 0.0

def exact_match(output, against):
    return float(output.strip() == against.strip())

def contains(output, against):
    return float(against.strip() in output)

def recalled(output, against):
    return float(any(line in output for line in against.split(". ")))

def jaccard(output, against):
    ours, theirs = set(output.lower().split()), set(against.lower().split())
    return len(ours & theirs) / len(ours | theirs)

def common(output, against):
    ours, theirs = (collections.Counter(t.lower().split()) for t in (output, against))
    return sum((ours & theirs).values()), sum(ours.values()), sum(theirs.values())

def rouge1(output, against):
    both, _, of = common(output, against)
    return both / of

def token_f1(output, against):
    both, ours, theirs = common(output, against)
    return 2 * both / (ours + theirs)

def off(output, against):
    return 0.0

def percent(output, against):
    return 100 * longest_over(output, against)

def half_for_all(output, against):
    return 0.5 * longest_over(output, against)

def raises(output, against):
    raise RuntimeError("no model here")

def words(output, against):
    return "none"

def nan(output, against):
    return float("nan")

def crash(output, against):
    os._exit(7)

def hangs(output, against):
    time.sleep(60)

def shouts(output, against):
    print("rubbish on stdout", flush=True)
    os.write(1, b"more")
    return longest_over(output, against)
"""


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "my_metrics.py").write_text(METRICS)
    spec = Spec(python=sys.executable)
    return Project(spec=spec, folder=tmp_path, state=tmp_path, environ=os.environ).ask


BESIDE = {"reference": "nobody had seen the lamps before that evening"}


def said(ask, function, *, scores=(0.0, 0.0), output="quite", of=None, passage="", base=(), **more):
    """A metric that is called as its function is, unless another name is given."""
    metric = NullMetric(**{"metric": function, "function": f"my_metrics:{function}", **more})
    records = [record(i, output, scores={metric.metric: v}, **(of or BESIDE))
               for i, v in enumerate(scores)]  # fmt: skip
    there = [record(i, text, scores={metric.metric: v}, **(of or BESIDE))
             for i, (text, v) in enumerate(base)]  # fmt: skip
    known = known_answers_facts(
        NullGate(metrics=[metric]), ask, [*records, *there], lambda: passage
    )
    facts = result_facts(arm(records), arm(there) if there else None)
    return judge(observe(result_world(facts, known_answers=known)), NoLimits())


def test_a_null_of_a_metric_that_can_go_red_counts(ask):
    verdict = said(ask, "longest_over")
    assert verdict.reason == "nulls_earned"
    assert [line.split(": ")[1] for line in verdict.evidence[1:]] == [
        "identical",
        "half",
        "unrelated",
        "empty",
    ]
    assert said(ask, "percent", identical=100.0).reason == "nulls_earned"


@pytest.mark.parametrize(
    "function", ["exact_match", "contains", "recalled", "jaccard", "rouge1", "token_f1"]
)
def test_ordinary_metrics_are_no_broken_instruments(ask, function):
    """Both texts had the word "and", and a half had to lie between: each of these was accused."""
    assert said(ask, function).reason == "nulls_earned"


def test_the_unrelated_texts_share_no_word():
    theirs, ours = (set(re.findall(r"\w+", text.lower())) for text in (TEXT, OTHER))
    assert theirs & ours == set()
    assert len(theirs) > 30
    assert len(ours) > 30


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("off", "constant_answer"),
        ("half_for_all", "wrong_answer"),
        ("percent", "wrong_answer"),
        ("raises", "no_answer"),
        ("words", "no_answer"),
        ("nan", "no_answer"),
        ("crash", "crashed"),
        ("not_there", "raised"),
        ("shouts", "nulls_earned"),
    ],
)
def test_every_way_not_to_answer_has_a_name(ask, function, reason):
    assert reason in said(ask, function).reason


def test_a_metric_that_hangs_is_ended(ask):
    assert "hung" in said(ask, "hangs", deadline_s=1.0).reason


def test_no_interpreter_is_said(tmp_path):
    project = Project(spec=Spec(python="./gone"), folder=tmp_path, state=tmp_path)
    assert "not_found" in said(project.ask, "overlap").reason


def test_inputs_of_ones_own_take_the_place_of_the_four(ask):
    inputs = [
        KnownInput(args=["a" * 40, "a" * 40], expect=[0.9, 1.0]),
        KnownInput(kwargs={"output": "b", "against": "a" * 40}, expect=0.0),
    ]
    assert said(ask, "longest_over", inputs=inputs).reason == "nulls_earned"
    assert said(ask, "longest_over", inputs=inputs[1:]).reason == "control_proves_nothing"


def test_nothing_is_driven_where_nothing_is_named(ask):
    assert known_answers_facts(None, ask).metrics == ()


LONG = "the harbour master kept a second ledger for ships"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"of": {"reference": LONG}, "output": LONG}, "function_untied"),
        ({"of": {"reference": LONG}, "output": LONG, "against": "reference"}, "not_its_own"),
        ({"of": {"prompt": LONG}, "output": LONG, "against": "prompt"}, "not_its_own"),
        ({"of": {"prompt": LONG}, "against": "prompt"}, "nulls_earned"),
        ({"of": {"prompt": LONG}}, "nulls_earned"),
        ({"of": {"prompt": ""}}, "function_untied"),
        ({"of": {"prompt": ""}, "passage": LONG}, "nulls_earned"),
        ({"of": {"prompt": ""}, "passage": LONG, "output": LONG}, "function_untied"),
        ({"of": {"prompt": LONG}, "against": "reference"}, "function_untied"),
        ({"of": {"reference": LONG}, "output": LONG, "scores": (1.0, 1.0)}, "nulls_earned"),
    ],
)
def test_a_null_is_earned_by_the_function_that_gives_the_scores_alone(ask, more, reason):
    """Any function that answers the four inputs rightly earned it once."""
    assert said(ask, "longest_over", **more).reason == reason


def test_what_it_gives_in_place_of_the_score_is_said(ask):
    verdict = said(ask, "longest_over", of={"reference": LONG}, output=LONG, against="reference")
    assert any("gives 1, and its record says 0" in line for line in verdict.evidence)


INPUTS = [KnownInput(args=["a" * 40, "a" * 40], expect=1.0), KnownInput(args=["b", "a"], expect=0)]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "function_untied"),
        ({"scores": (1.0, 1.0), "of": {"reference": LONG}, "output": LONG}, "function_untied"),
        ({"inputs": INPUTS}, "nulls_earned"),
        ({"metric": "longest"}, "nulls_earned"),
        ({"metric": "Over-Longest,none"}, "nulls_earned"),
        ({"metric": "my_longest_run"}, "function_untied"),
        ({"of": {"reference": LONG}, "base": ((LONG[:24], 24 / 49), ("", 0.0))}, "nulls_earned"),
        ({"of": {"reference": LONG}, "base": ((LONG[:24], 0.9), ("", 0.0))}, "function_untied"),
        (
            {"of": {"reference": LONG}, "base": ((LONG[:24], 0.9),), "against": "reference"},
            "not_its_own",
        ),
        (
            {"of": {"reference": LONG}, "scores": (0.3061, 0.3061), "output": LONG},
            "function_untied",
        ),
    ],
)
def test_scores_that_any_function_gives_tie_none(ask, more, reason):
    """`toxicity` was earned once by a function of overlap, over answers that were all 0."""
    assert said(ask, "longest_over", **{"metric": "toxicity", **more}).reason == reason


def test_what_would_tie_it_is_said(ask):
    verdict = said(ask, "longest_over", metric="toxicity")
    assert any("state under inputs what toxicity answers" in line for line in verdict.evidence)


def test_a_function_of_the_output_alone_is_known_by_it(ask, tmp_path):
    (tmp_path / "my_metrics.py").write_text(
        "def has_word(output):\n    return 1.0 * ('x' in output)\n"
    )
    inputs = [KnownInput(args=["x"], expect=1.0), KnownInput(args=["y"], expect=0.0)]
    assert said(ask, "has_word", inputs=inputs, against="nothing").reason == "nulls_earned"
    of_x = said(ask, "has_word", inputs=inputs, against="nothing", output="x")
    assert of_x.reason == "not_its_own"
