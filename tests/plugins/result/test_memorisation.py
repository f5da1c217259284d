"""Is a long overlap refused, and a zero believed only where the scan was tried?"""

from dataclasses import replace

import pytest
from pfid_plugins.result.memorisation import Limits, judge, observe

from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.overlap import ArmOverlap, KnownOverlap, OverlapFacts, Quoted
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.memorisation import MemorisationGate

LIMITS = Limits()
KNOWN = tuple(
    KnownOverlap(kind=kind, expected_chars=chars, found_chars=chars)
    for kind, chars in (
        ("identical", 200),
        ("half", 100),
        ("last", 200),
        ("unrelated", 0),
        ("empty", 0),
    )
)
CLEAN = OverlapFacts(known=KNOWN, candidate=ArmOverlap(outputs=9, chars=9_000), files=1)


def said(facts, limits=LIMITS):
    gates = Gates(memorisation=None if facts is None else MemorisationGate(corpus=["c"]))
    world = result_world(result_facts(arm([record(1)]), gates=gates), overlap=facts)
    return judge(observe(world), limits)


def quoting(chars, covered):
    worst = (Quoted(item="7", chars=chars, words=chars // 6, place="b.txt, byte 12"),)
    return ArmOverlap(outputs=9, chars=9_000, covered_chars=covered, quoting=1, worst=worst)


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (CLEAN.candidate, "little_verbatim"),
        (quoting(200, 200), "little_verbatim"),
        (quoting(201, 201), "long_verbatim"),
        (quoting(90, 451), "much_verbatim"),
        (ArmOverlap(outputs=9), "no_outputs"),
    ],
)
def test_what_was_found_is_judged(candidate, reason):
    assert said(replace(CLEAN, candidate=candidate)).reason == reason


@pytest.mark.parametrize("at", range(5))
def test_one_known_text_that_comes_out_wrong_takes_all_trust(at):
    off = replace(KNOWN[at], found_chars=KNOWN[at].expected_chars + 1)
    facts = replace(CLEAN, known=(*KNOWN[:at], off, *KNOWN[at + 1 :]))
    assert said(facts).reason == "scan_not_trusted"
    assert any(off.kind in line for line in said(facts).evidence)
    assert said(replace(CLEAN, known=KNOWN[:at] + KNOWN[at + 1 :])).reason == "scan_not_trusted"


def test_the_evidence_names_item_words_place_and_how_it_was_compared():
    facts = replace(CLEAN, candidate=quoting(300, 300), baseline=quoting(60, 60), bad_bytes=3)
    verdict = said(facts)
    assert verdict.evidence[0] == "7: 300 characters, 50 whole words: b.txt, byte 12"
    assert "compared as it stands" in verdict.evidence[-1]
    assert "3 places that are no UTF-8" in verdict.evidence[-1]
    assert verdict.figures["baseline_longest_chars"].value == 60
    assert "b.txt" not in verdict.summary


def test_a_floor_over_the_limit_sees_nothing_between():
    assert said(replace(CLEAN, min_chars=201)).reason == "floor_over_limit"
    wider = Limits(longest_max_chars=300)
    assert said(replace(CLEAN, min_chars=201), wider).reason == "little_verbatim"
