"""Is a bare rate refused, a stale one too, and does its name carry all that binds it?"""

import datetime as dt

import pytest
from pfid_plugins.result.rate_bound_to_corpus import BINDING, Limits, judge, observe

from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.rate_bound_to_corpus import QuotedRate, RateGate

HERE = CorpusFacts(sha256="a" * 64, today="2026-11-30")
ONE = (record(1),)
WHOLE = {
    "name": "under_floor_rate_run02",
    "hits": 90,
    "n": 764,
    "low": 0.0949,
    "high": 0.1407,
    "method": "wald",
    "floor": 15.0,
    "corpus_sha256": "a" * 64,
    "date": dt.date(2026, 8, 26),
}


def said(*rates, corpus=HERE, records=ONE):
    quoted = [QuotedRate(**{**WHOLE, **rate}) for rate in rates]
    gates = Gates(rate_bound_to_corpus=RateGate(corpus="mix", rates=quoted))
    facts = result_facts(arm(records), gates=gates)
    return judge(observe(result_world(facts, corpus=corpus)), Limits())


def test_the_playbooks_rate_has_everything_in_its_name():
    verdict = said({})
    assert verdict.reason == "bound"
    assert verdict.evidence[0] == (
        "under_floor_rate_run02 = 11.78% [9.49, 14.07] (Wald, 95 %, 90/764) @ floor 15.0, "
        "corpus sha256:aaaaaaaaaaaa, 2026-08-26"
    )


def test_the_playbooks_interval_is_not_wilsons():
    verdict = said({"method": "wilson"})
    assert verdict.reason == "interval_wrong"
    assert "90/764 give [0.0968, 0.1426]" in verdict.evidence[1]


@pytest.mark.parametrize("key", BINDING)
def test_whatever_is_left_out_is_named(key):
    verdict = said({key: "" if key == "corpus_sha256" else None})
    assert verdict.reason == "bare"
    assert verdict.evidence[0] == f"under_floor_rate_run02: lacks {key}"


def test_another_corpus_makes_it_stale():
    other = CorpusFacts(sha256="b" * 64)
    assert said({}, corpus=other).reason == "stale"
    assert said({}, {"corpus_sha256": "c" * 64}).reason == "stale", "one of several is enough"


def test_a_corpus_that_cannot_be_read_is_unknown_and_not_stale():
    closed = CorpusFacts(problem="corpus_unreadable", detail="mix: missing")
    verdict = said({}, corpus=closed)
    assert verdict.reason == "corpus_unreadable"
    assert "mix: missing" in verdict.evidence


def test_todays_rate_stands_beside_it_named_the_same_way():
    records = [record(i, flags=("too_short",) if i < 9 else ()) for i in range(94)]
    verdict = said({"flag": "too_short"}, records=records)
    assert verdict.figures["counted"].value == pytest.approx(9 / 94)
    assert verdict.evidence[1] == (
        "counted now: under_floor_rate_run02 = 9.57% [5.12, 17.20] (Wilson, 95 %, 9/94) @ floor "
        "15.0, corpus sha256:aaaaaaaaaaaa, 2026-11-30"
    )


def test_a_bare_rate_is_told_what_to_write():
    records = [record(i, flags=("too_short",) if i < 9 else ()) for i in range(94)]
    verdict = said({"flag": "too_short", "hits": None, "corpus_sha256": ""}, records=records)
    assert verdict.evidence[-1] == (
        'as the spec writes it: hits = 9, n = 94, low = 0.0512, high = 0.172, method = "wilson", '
        f'corpus_sha256 = "{"a" * 64}"'
    )


def test_what_today_s_count_is_not_over_is_said():
    records = [record(i, scores={"m": None if i < 3 else 1.0}) for i in range(20)]
    verdict = said({"metric": "m"}, records=records)
    assert verdict.figures["counted_n"].value == 17
    assert verdict.figures["counted_unscored"].value == 3
    assert "counted now without 3 of 20 records, which have no score" in verdict.evidence[-1]
