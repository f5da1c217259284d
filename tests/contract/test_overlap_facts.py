"""Outputs held against a corpus on disk: what is found, where, and whether the scan is trusted."""

import gzip
import json
import random

import pytest
from pfid_plugins.result.memorisation import Limits, judge, observe

from pfid.bootstrap.judge import overlap
from pfid.bootstrap.judge.overlap import overlap_facts
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.memorisation import MemorisationGate

QUOTE = "She kept the brass compass under the third stair, where the damp could not find it, and"


def prose(chars, seed=5):
    chance = random.Random(seed)
    lengths = [chance.randint(2, 9) for _ in range(900)]
    words = ["".join(chance.choices("abcdefghijklmnop", k=length)) for length in lengths]
    return " ".join(chance.choices(words, k=chars // 6))


def facts_of(folder, outputs, base=None, told=lambda _: None, **gate):
    gate = MemorisationGate(**{"corpus": ["corpus"], **gate})
    candidate = arm(record(i, output) for i, output in enumerate(outputs))
    baseline = arm(record(i, output) for i, output in enumerate(base)) if base else None
    return overlap_facts(gate, folder, result_facts(candidate, baseline), told)


def said(facts, **limits):
    gates = Gates(memorisation=None if facts is None else MemorisationGate(corpus=["c"]))
    world = result_world(result_facts(arm([record(1)]), gates=gates), overlap=facts)
    return judge(observe(world), Limits(**limits))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text(prose(4_000) + "\n" + QUOTE + "\n" + prose(900, 6))
    return tmp_path


def test_what_never_saw_the_corpus_is_a_zero_that_counts(folder):
    facts = facts_of(folder, [prose(800, 9), ""])
    assert [(k.kind, k.expected_chars, k.found_chars) for k in facts.known] == [
        ("identical", 200, 200),
        ("half", 100, 100),
        ("last", 200, 200),
        ("unrelated", 0, 0),
        ("empty", 0, 0),
    ]
    assert said(facts).reason == "little_verbatim"
    assert (facts.candidate.quoting, facts.candidate.outputs, facts.files) == (0, 2, 1)


def test_a_quote_is_found_with_its_words_and_its_place(folder):
    facts = facts_of(folder, ["Nothing.", f"Well: {QUOTE} so on"], base=["Nothing."])
    (worst,) = facts.candidate.worst
    body = (folder / "corpus" / "a.txt").read_text()
    assert (worst.item, worst.chars, worst.words) == ("1", len(QUOTE), 17)
    assert worst.place == f"{folder / 'corpus' / 'a.txt'}, byte {body.index(QUOTE)}"
    assert said(facts).reason == "much_verbatim"
    assert said(facts, longest_max_chars=60, share_max=0.99).reason == "long_verbatim"
    assert facts.baseline.quoting == 0


@pytest.mark.parametrize("packed", [False, True])
def test_a_field_of_json_lines(folder, packed):
    rows = [{"text": prose(900)}, {"text": f"and {QUOTE}"}, {"no": 1}]
    body = "\n".join(map(json.dumps, rows)).encode()
    name = "c.jsonl.gz" if packed else "c.jsonl"
    (folder / name).write_bytes(gzip.compress(body) if packed else body)
    facts = facts_of(folder, [QUOTE], corpus=[name])
    assert facts.candidate.worst[0].place == f"{folder / name}:2, byte 4"
    assert (facts.bad_lines, facts.corpus_bytes) == (1, len(rows[0]["text"]) + len(QUOTE) + 4)


def test_case_and_blanks_count_only_if_the_spec_says_so(folder):
    other = QUOTE.upper().replace(" ", "\n ")
    assert facts_of(folder, [other]).candidate.quoting == 0
    facts = facts_of(folder, [other], normalise="case_and_blanks")
    assert facts.candidate.worst[0].chars == len(QUOTE)
    assert facts.candidate.worst[0].place.endswith("a.txt, from byte 0 on")
    assert all(k.found_chars == k.expected_chars for k in facts.known)


def test_a_run_under_the_floor_is_not_looked_for(folder):
    assert facts_of(folder, [QUOTE], min_chars=len(QUOTE) + 1).candidate.quoting == 0
    assert facts_of(folder, [QUOTE], min_chars=len(QUOTE)).candidate.quoting == 1


def test_more_outputs_than_one_pass_takes_need_more_passes(folder, monkeypatch):
    monkeypatch.setattr(overlap, "PASS_BYTES", 300)
    facts = facts_of(folder, [prose(200, 9), QUOTE, prose(200, 10), QUOTE + "!"])
    assert [q.item for q in facts.candidate.worst] == ["1", "3"]
    assert facts.corpus_bytes == (folder / "corpus" / "a.txt").stat().st_size


@pytest.mark.parametrize(
    ("corpus", "problem"),
    [("gone", "corpus_unreadable"), ("short.txt", "corpus_empty"), ("none", "corpus_empty")],
)
def test_a_corpus_that_cannot_be_had_is_unknown(folder, corpus, problem):
    (folder / "short.txt").write_text(QUOTE)
    (folder / "none").mkdir()
    assert said(facts_of(folder, [QUOTE], corpus=[corpus])).reason == problem


def test_a_deadline_ends_it_by_name(folder):
    facts = facts_of(folder, [QUOTE], deadline_s=1e-9)
    assert said(facts).reason == "too_slow"
    assert facts.detail.startswith("0% read") or "read after" in facts.detail


def test_how_far_it_is_is_told(folder, monkeypatch):
    monkeypatch.setattr(overlap, "SAY_EVERY_S", 0.0)
    told = []
    facts_of(folder, [QUOTE], told=told.append)
    assert told[-1].startswith("reading the corpus: 100% of")


def test_a_scan_that_finds_nothing_is_not_trusted(folder, monkeypatch):
    from pfid.analysis.overlap import scan

    monkeypatch.setattr(scan.OverlapScan, "_scan", lambda *_: None)
    facts = facts_of(folder, [QUOTE])
    assert facts.candidate.quoting == 0
    assert said(facts).reason == "scan_not_trusted"


def test_a_corpus_that_is_not_read_to_its_end_is_not_trusted(folder, monkeypatch):
    from pfid.analysis.overlap import scan

    def deaf(self, piece, feed=scan.OverlapScan.feed):
        if self._at + self._waiting_bytes < 100:
            feed(self, piece)

    monkeypatch.setattr(scan.OverlapScan, "feed", deaf)
    facts = facts_of(folder, [QUOTE])
    assert {k.kind: k.found_chars for k in facts.known}["last"] == 0
    assert said(facts).reason == "scan_not_trusted"


def test_what_was_only_thought_is_held_against_the_corpus_too(folder):
    records = [record(1, "Nothing.", reasoning=f"First: {QUOTE} ..."), record(2, "No more.")]
    gate = MemorisationGate(corpus=["corpus"])
    facts = overlap_facts(gate, folder, result_facts(arm(records)), lambda _: None)
    assert [(q.item, q.chars) for q in facts.candidate.worst] == [("1 (reasoning)", len(QUOTE))]
    assert (facts.candidate.outputs, facts.candidate.quoting) == (2, 1)
    assert facts.candidate.chars == len("Nothing.No more.First:  ...") + len(QUOTE)


def test_a_text_is_held_against_the_corpus_once_however_often_it_is_asked_about(folder):
    held = overlap.Overlaps(MemorisationGate(corpus=["corpus"]), folder, lambda _: None)
    first = held.facts(result_facts(arm([record(1, QUOTE), record(2, prose(200, 9))])))
    body = (folder / "corpus" / "a.txt").read_text()
    (folder / "corpus" / "a.txt").unlink()
    again = held.facts(result_facts(arm([record(7, QUOTE)])))
    assert again.candidate.worst[0].place == first.candidate.worst[0].place
    assert (again.known, again.corpus_bytes) == (first.known, first.corpus_bytes)
    new = result_facts(arm([record(1, body[10:400])]))
    assert held.facts(new).problem == "corpus_empty"
    (folder / "corpus" / "a.txt").write_text(body)
    assert held.facts(new).candidate.worst[0].chars == 390


def test_no_spec_no_look(folder):
    assert overlap_facts(None, folder, result_facts(arm([record(1)])), lambda _: None) is None
    assert said(None).reason == "not_configured"
