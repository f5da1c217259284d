"""records_complete: counts both arms, and shows every bad record with its place."""

from pfid_plugins.result.records_complete import ANSWERS, pfid_checks

from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.results import BadRecord, PreviousResult

(CHECK,) = pfid_checks()
TEN = [record(i) for i in range(10)]
BAD = BadRecord(place="r.jsonl:3", reason="not_json", detail="Expecting \x1b[2Jvalue")


OTHER = [record(i, f"Porto {i}.") for i in range(10)]


def judged(candidate, baseline=None, **more):
    return CHECK.evaluate(result_world(result_facts(candidate, baseline, **more)))


def test_one_file_given_for_both_arms_lets_nothing_be_compared():
    verdict = judged(arm(TEN), arm(TEN, "base"))
    assert verdict.reason == "arms_alike"
    assert "a change never applied" in verdict.summary
    thought = [record(i, reasoning="hm") for i in range(10)]
    assert judged(arm(TEN), arm(thought, "base")).reason == "records_complete"
    assert judged(arm(TEN), arm(OTHER, "base")).reason == "records_complete"
    strangers = arm([record(f"x{i}") for i in range(10)], "base")
    assert judged(arm(TEN), strangers).reason == "records_complete"


def test_arms_that_changed_places_since_the_earlier_judgement_are_said():
    ours, base = arm(TEN), arm(OTHER, "base")
    before = PreviousResult(name="x", judged_at_s=0.0, digest=f"{base.digest}+{ours.digest}")
    said = "the arms stand the other way round"
    assert said in judged(ours, base, previous=before).summary
    assert said not in judged(base, ours, previous=before).summary
    assert said not in judged(ours, previous=before).summary


def test_a_baseline_that_was_cut_short_is_told_as_the_candidates_would_be():
    verdict = judged(arm(TEN), arm(TEN[:7], "base", declared=10))
    assert verdict.reason == "records_missing"
    assert "base: 7 of 10" in verdict.summary


def test_more_than_was_declared_is_worse_than_less():
    verdict = judged(arm(TEN[:7], declared=10), arm([*TEN, record(10)], "base", declared=10))
    assert verdict.reason == "records_too_many"


def test_bad_records_count_as_records_that_came():
    assert judged(arm(TEN, bad=(BAD,), bad_total=1)).reason == "records_too_many"


def test_bad_records_are_shown_with_place_and_reason_and_move_no_cursor():
    verdict = judged(arm(TEN[:9], declared=10, bad=(BAD,) * 30, bad_total=700))
    assert verdict.evidence[0] == "30 x not_json"
    assert "r.jsonl:3: not_json: Expecting \\x1b[2Jvalue" in verdict.evidence[1]
    assert verdict.evidence[-1] == "and 680 more"
    assert verdict.figures["candidate_bad"].value == 700


def test_every_answer_is_a_sentence_without_text_of_a_record():
    assert all("r.jsonl" not in sentence for _, sentence in ANSWERS.sentences.values())
