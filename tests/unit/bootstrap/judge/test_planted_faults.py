"""Faults are planted into good answers, proven to have arrived, and put before the other gates."""

from dataclasses import replace

import pytest
from pfid_plugins.result import collapse, gate_sees_property, length_conformance, refusal_retention

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.bootstrap.judge.planted import Ground, corpus_passage, planted_facts
from pfid.domain.outcome import Outcome
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_facts import FixedFacts
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.refusals import RefusalFacts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.gate_sees_property import SeesGate
from pfid.spec.result_gates.length_conformance import FamilyLengths, LengthGate
from pfid.spec.result_gates.memorisation import MemorisationGate
from pfid.spec.result_gates.refusal_retention import RefusalGate

PATTERNS = shipped_patterns()
PLACES = ("harbour", "mill", "station", "bakery", "orchard", "museum", "bridge", "garden", "quay")
PEOPLE = ("Anna", "the pilot", "a child", "the baker", "nobody", "her aunt", "the guard", "a nun")
THINGS = (
    "lamp",
    "letter",
    "bell",
    "coat",
    "ladder",
    "map",
    "kettle",
    "door",
    "boat",
    "stone",
    "key",
)
CHECKS = [
    check
    for module in (collapse, gate_sees_property, length_conformance, refusal_retention)
    for check in module.pfid_checks()
]
(SEES,) = gate_sees_property.pfid_checks()


def story(n):
    """Some sixty words that no other number gives."""
    return " ".join(
        f"{PEOPLE[(n + i) % 8]} carried number {n * 7 + i} {THINGS[(n * 3 + i) % 11]} past "
        f"the {PLACES[(n + 2 * i) % 9]}."
        for i in range(7)
    )


def evaluation(answers, lengths=None, refusal=None):
    stock = arm([record(n, "I can't write this scene.") for n in range(len(answers))], "stock")
    return result_facts(
        arm([record(n, text, output_tokens=90) for n, text in enumerate(answers)]),
        stock,
        gates=Gates(length_conformance=lengths, refusal_retention=refusal),
    )


def world_of(facts):
    return result_world(facts, refusals=RefusalFacts(files=PATTERNS))


def tried(facts, *properties, ground=None, sample=200):
    gate = SeesGate(properties=list(properties), sample=sample)
    known = planted_facts(gate, facts, ground or Ground(checks=CHECKS, world_of=world_of))
    return known, run_check(SEES, replace(world_of(facts), planted=FixedFacts(known)))


STORIES = [story(n) for n in range(60)]
WORDS = len(story(0).split())
LENGTHS = LengthGate(families=[FamilyLengths(median=WORDS)])
REFUSAL = RefusalGate(axis="a", abliterated="a")


def test_a_whole_gate_set_sees_all_that_it_declares():
    facts = evaluation(STORIES, LENGTHS, REFUSAL)
    known, verdict = tried(facts, "length", "collapse", "refusal")
    assert verdict.reason == "seen", verdict
    seen = {f.name: f.seen_by for f in known.faults}
    assert seen["truncated"] == seen["padded"] == ("length_conformance",)
    assert "collapse" in seen["looped"]
    assert "refusal_retention" in seen["refused"]
    assert {f.delivered for f in known.faults} == {60}


LISBON = "The capital of Portugal is **Lisbon**."


@pytest.mark.parametrize(
    "lengths",
    [None, LengthGate(families=[FamilyLengths(median=6)]),
     LengthGate(known_good={str(n): [LISBON] for n in range(72)})],
    ids=["no gate", "a median of six words", "a floor for each prompt"],
)  # fmt: skip
def test_short_answer_tasks_alone_cannot_see_length_and_are_named(lengths):
    """Whatever looks at six words: a model whose stories became short still says six of them."""
    facts = evaluation(
        [LISBON.replace("Portugal", place) for place in PLACES * 8], lengths, REFUSAL
    )
    known, verdict = tried(facts, "length", "collapse", "refusal")
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason == "short_answers"
    assert "length (padded)" in verdict.summary
    assert verdict.figures["properties_blind"].value == 2
    by_name = {f.name: f for f in known.faults}
    assert "refusal_retention" in by_name.pop("refused").seen_by
    assert {(f.answers, f.able, f.seen_by) for f in by_name.values()} == {(72, 0, ())}


def test_long_answers_among_short_ones_show_what_short_ones_cannot():
    """The gate that looks at short answers alone stays blind, the one that has the stories sees."""
    short = [record(n, LISBON.replace("Portugal", p), family="fact", output_tokens=9)
             for n, p in enumerate(PLACES * 4)]  # fmt: skip
    stories = [record(n, text, family="story", output_tokens=90) for n, text in enumerate(STORIES)]

    def with_target(family, median):
        gate = LengthGate(families=[FamilyLengths(family=family, median=median)])
        facts = result_facts(arm([*short, *stories]), gates=Gates(length_conformance=gate))
        return tried(facts, "length", sample=96)

    known, verdict = with_target("fact", 6)
    assert verdict.reason == "blind"
    assert {(f.answers, f.able, f.delivered) for f in known.faults} == {(96, 60, 60)}
    assert with_target("story", WORDS)[1].reason == "seen"


@pytest.mark.parametrize(
    ("declared", "without"), [("length", {"refusal": REFUSAL}), ("refusal", {"lengths": LENGTHS})]
)
def test_a_gate_that_is_missing_leaves_its_property_unseen(declared, without):
    _, verdict = tried(evaluation(STORIES, **without), declared)
    assert verdict.reason == ("blind" if declared == "length" else "seen")


def test_without_a_gate_that_looks_refusals_go_unseen():
    facts = evaluation(STORIES)
    _, verdict = tried(facts, "refusal")
    assert verdict.reason == "blind"
    assert "refusal (refused)" in verdict.summary


def test_a_fault_that_the_seam_lost_is_not_held_against_the_gates():
    facts = evaluation(STORIES)
    deaf = Ground(checks=CHECKS, world_of=lambda _: world_of(facts))
    known, verdict = tried(facts, "length", ground=deaf)
    assert {f.delivered for f in known.faults} == {0}
    assert verdict.reason == "not_delivered"


def test_answers_that_a_gate_fails_already_show_nothing():
    facts = evaluation(["and so it goes " * 60] * 40)
    _, verdict = tried(facts, "collapse")
    assert verdict.reason == "answers_not_good"


def test_a_gate_that_fails_over_a_small_sample_alone_hides_no_blind_spot():
    (one,) = collapse.pfid_checks()
    few = replace(one, name="few", judge=lambda seen, _: gate_verdict(len(seen.answers) < 50))
    facts = evaluation(STORIES)
    known, verdict = tried(
        facts, "length", ground=Ground(checks=[few], world_of=world_of), sample=20
    )
    assert {(f.seen_by, f.failing) for f in known.faults} == {((), ())}
    assert verdict.reason == "blind"


def gate_verdict(fails):
    return collapse.ANSWERS.say("void" if fails else "steady")


def test_without_a_corpus_nothing_can_be_memorised():
    known, verdict = tried(evaluation(STORIES), "memorisation")
    assert [f.problem for f in known.faults] == ["no_corpus"]
    assert verdict.reason == "not_planted"


def test_a_passage_of_the_corpus_stands_in_every_memorised_answer():
    passage = " ".join(story(n) for n in range(900, 930))
    ground = Ground(checks=CHECKS, world_of=world_of, passage=lambda: passage)
    known, verdict = tried(evaluation(STORIES), "memorisation", ground=ground)
    assert known.faults[0].delivered == 60
    assert verdict.reason == "blind"


def test_the_passage_is_text_of_the_corpus(tmp_path):
    (tmp_path / "corpus.txt").write_text("".join(story(n) for n in range(30)))
    gate = MemorisationGate(corpus=["corpus.txt"])
    passage = corpus_passage(gate, tmp_path)
    assert passage == "".join(story(n) for n in range(30))[:4000]
    (tmp_path / "corpus.txt").write_text(story(1) * 2)
    assert corpus_passage(gate, tmp_path) == (story(1) * 2)[:600]
    assert corpus_passage(None, tmp_path) == ""
    assert corpus_passage(MemorisationGate(corpus=["none.txt"]), tmp_path) == ""


def test_records_without_an_answer_are_not_planted_into():
    known, verdict = tried(evaluation([""] * 40), "collapse")
    assert known.faults[0].problem == "no_answers"
    assert verdict.reason == "not_planted"


def test_a_sample_is_enough():
    known, _ = tried(evaluation(STORIES, LENGTHS), "length", sample=20)
    assert {f.answers for f in known.faults} == {20}


def test_nothing_declared_is_not_asked():
    assert planted_facts(None, evaluation(STORIES), Ground(checks=[], world_of=world_of)) is None


def test_only_the_memorised_fault_is_worth_reading_a_corpus_for():
    asked = []

    def overlap_reader(check):
        def observe(world):
            asked.append(world.results.facts().candidate.records[0].output[:9])
            return check.observe(world)

        return replace(check, name="memory", observe=observe, reads=("overlap", "results"))

    (one,) = collapse.pfid_checks()
    ground = Ground(checks=[overlap_reader(one)], world_of=world_of, passage=lambda: "xyz " * 400)
    tried(evaluation(STORIES), "length", "collapse", ground=ground)
    assert asked == []
    tried(evaluation(STORIES), "memorisation", ground=ground)
    assert len(asked) == 2
