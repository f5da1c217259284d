"""Figures that have both ends are drawn, whatever word their unit goes by."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from pfid_plugins.result import length_conformance, rate_bound_to_corpus, trip_point_outside_jitter

from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.bootstrap.stage_judging import Judged
from pfid.cli.judge.page import page
from pfid.config.gates import GateSpec
from pfid.config.model import Config
from pfid.domain.snapshot import VerdictView
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_results import CONTROL_RESULT, arm, record, result_facts, result_world
from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.length_conformance import FamilyLengths, LengthGate
from pfid.spec.result_gates.rate_bound_to_corpus import QuotedRate, RateGate
from pfid.spec.result_gates.trip_point_outside_jitter import TripPoint, TripPointGate

RATE = QuotedRate(name="r", hits=90, n=764, low=0.0949, high=0.1407, method="wald")
GATES = Gates(
    rate_bound_to_corpus=RateGate(corpus="mix", rates=[RATE]),
    trip_point_outside_jitter=TripPointGate(
        points=[TripPoint(name="wrong", metric="wrong", threshold=0.12)]
    ),
    length_conformance=LengthGate(families=[FamilyLengths(median=9, p25=7)]),
)
RECORDS = [
    record(
        i,
        "word " * (5 + i % 9),
        seed=7,
        repeat=r,
        scores={"wrong": float(i < hits), "f1": (i % 20) / 20},
    )
    for r, hits in enumerate((9, 12, 9))
    for i in range(94)
]


def judged(facts):
    world = result_world(facts, corpus=CorpusFacts(sha256="a" * 64))
    for module in (length_conformance, rate_bound_to_corpus, trip_point_outside_jitter):
        (check,) = module.pfid_checks()
        found = run_check(check, world)
        view = VerdictView(
            check=check.name,
            stage="result",
            entity=CONTROL_RESULT,
            outcome=found.outcome,
            reason=found.reason,
            summary=found.summary,
            since_s=0.0,
            last_run_s=0.0,
            figures=found.figures,
        )
        yield Judged(view=view, evidence=found.evidence, remedy="", required=True)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    facts = result_facts(arm(RECORDS), gates=GATES)
    evaluation = Evaluation(
        name="n",
        spec=GateSpec(gates=GATES),
        folder=Path("/"),
        state=tmp_path_factory.mktemp("state"),
        results=facts,
        config=Config(),
    )
    text = page(evaluation, tuple(judged(facts)))
    plots = [ET.fromstring(f"<svg {part.partition('</svg>')[0]}</svg>")
             for part in text.split("<svg ")[1:]]  # fmt: skip
    return {plot.findtext("title"): plot for plot in plots}


def rows(plot):
    names = [e.text for e in plot.iter("text") if e.get("text-anchor") == "end"]
    return dict(zip(
        [n for n in names if not n.replace(".", "").replace("%", "").isdecimal()],
        [e.findtext("title") for e in plot.iter("circle")], strict=False,
    ))  # fmt: skip


def test_rates_of_records_and_of_verdicts_stand_on_one_axis(drawn):
    found = rows(drawn["3 figures with their intervals"])
    assert found["wrong, candidate"].startswith("0.1064 [")
    assert found["rate_bound_to_corpus: quoted"] == "0.1178 [0.0949, 0.1407]"
    assert any(name.startswith("trip_point_outside_jitter") for name in found)


def test_quartiles_of_lengths_have_an_axis_of_their_own(drawn):
    found = rows(drawn["2 figures with their intervals"])
    assert set(found) == {"length_conformance: p25", "length_conformance: median"}
    assert found["length_conformance: median"].startswith("9 [")


def test_the_jitter_is_drawn_beside_the_trip_point(drawn):
    (title,) = [name for name in drawn if "trip point" in name]
    assert title == "rate 0.1064, trip point 0.12, jitter sd 0.0184"
    (band,) = [e for e in drawn[title].iter("rect") if e.get("class") == "band"]
    assert float(band.get("width")) > 10


def test_distributions_are_of_the_words_that_the_check_counts(drawn):
    assert "282 of candidate by words an answer" in drawn
    assert "282 of candidate by " in drawn, "and of the graded score"
