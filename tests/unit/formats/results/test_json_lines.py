"""A JSON line is a record by the spec's fields, or bad with a reason."""

import pytest

from pfid.formats.results.json_lines import Line, record_of
from pfid.formats.results.problems import RecordError
from pfid.formats.results.values import looked_up
from pfid.spec.record_fields import Fields

FIELDS = Fields(
    item="id",
    output="choices.0.message.content",
    seed="seed",
    repeat="rep",
    output_tokens="usage.out",
    flags="flags",
    family="kind",
    reference="gold",
    scores={"acc": "m.acc"},
)
GOOD = {
    "id": 7,
    "choices": [{"message": {"content": "Lisbon."}}],
    "seed": 3,
    "rep": 1,
    "usage": {"out": 2},
    "flags": {"too_short": True, "loop": False},
    "kind": "rp",
    "m": {"acc": True},
}


def read(**changed):
    data = {**GOOD, **changed}
    return record_of(Line(data=data, number=4, place="r.jsonl:4", run=2), FIELDS)


def refused(**changed):
    with pytest.raises(RecordError) as caught:
        read(**changed)
    return caught.value.reason


def test_every_field_is_taken_from_its_key():
    record = read()
    assert (record.item, record.output, record.seed, record.repeat) == ("7", "Lisbon.", 3, 1)
    assert (record.output_tokens, record.flags, record.family) == (2, ("too_short",), "rp")
    assert dict(record.scores) == {"acc": 1.0}
    assert record.reference is None
    assert record.place == "r.jsonl:4"


def test_what_names_no_repeat_is_of_the_run_of_its_file():
    assert read(rep=None).repeat == 2


def test_an_empty_answer_is_an_answer_and_none_is_none():
    assert read(choices=[{"message": {"content": ""}}]).output == ""
    assert refused(choices=[]) == "no_output"
    assert refused(choices=[{"message": {"content": None}}]) == "no_output"


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (float("nan"), "score_is_nan"),
        (float("-inf"), "score_is_nan"),
        ("high", "score_is_no_number"),
        ([1], "score_is_no_number"),
        (10**400, "score_is_no_number"),
    ],
)
def test_what_is_no_score_makes_the_record_bad(score, reason):
    assert refused(m={"acc": score}) == reason


@pytest.mark.parametrize(("score", "value"), [("C", 1.0), ("I", 0.0), ("P", 0.5), (None, None)])
def test_letters_and_absence_are_scores(score, value):
    assert read(m={"acc": score}).scores["acc"] == value


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"id": None}, "no_item"),
        ({"id": "  "}, "no_item"),
        ({"id": {"a": 1}}, "item_is_no_text"),
        ({"seed": "x"}, "seed_is_no_number"),
        ({"seed": 1.5}, "seed_is_no_number"),
        ({"rep": -1}, "repeat_is_negative"),
        ({"usage": {"out": -3}}, "output_tokens_is_negative"),
        ({"flags": {"n": 3}}, "flags_are_no_words"),
        ({"choices": [{"message": {"content": {"a": 1}}}]}, "output_is_no_text"),
    ],
)
def test_other_values_make_it_bad(changed, reason):
    assert refused(**changed) == reason


def test_a_line_that_is_no_object_is_bad():
    with pytest.raises(RecordError, match=r"\[1, 2\]"):
        record_of(Line(data=[1, 2], number=1, place="r:1"), FIELDS)


def test_lines_can_be_numbered():
    line = Line(data={"output": "x"}, number=9, place="r:9")
    assert record_of(line, Fields(item="#")).item == "9"


def test_messages_are_joined():
    fields = Fields(prompt="messages")
    data = {
        "id": 1,
        "output": "x",
        "messages": [{"role": "user", "content": "a"}, {"content": "b"}],
    }
    assert record_of(Line(data=data, number=1, place="r:1"), fields).prompt == "a\nb"


def test_a_key_with_a_dot_in_its_name_goes_first():
    assert looked_up({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert looked_up({"a": {"b.c": 3}}, "a.b.c") == 3
    assert looked_up({"a": [{"b": 4}]}, "a.-1.b") == 4
    assert looked_up({"a": 1}, "a.b.c") is None
