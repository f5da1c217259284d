from pfid.domain.provenance import Field, Source
from pfid.policy.provenance_fields import (
    STANDARD,
    Heard,
    Said,
    at_launch,
    with_heard,
    with_observed,
)


def by(pid, rank=None):
    return Source(kind="process", pid=pid, rank=rank, at_s=1.0)


def heard(key, configured=None, observed=(), refused=()):
    return Heard(key=key, configured=configured, observed=tuple(observed), refused=tuple(refused))


def test_every_standard_field_is_there_and_null():
    fields = at_launch({}, "", None)
    assert tuple(fields) == STANDARD
    assert set(fields.values()) == {Field()}


def test_what_is_declared_is_asked_for_by_the_spec():
    fields = at_launch({"seed": 7, "api_key": "x"}, "/spec", 2.0)
    assert fields["seed"].requested == 7
    assert fields["seed"].requested_by == Source(kind="declared", detail="/spec")
    assert fields["api_key"].requested == "[masked]"
    assert fields["step_seconds"].requested == 2.0
    assert fields["step_seconds"].requested_by.detail == "--expect-step"


def test_the_columns_of_a_pair_stand_side_by_side():
    said = heard("seed", Said(value=1, by=by(1)), [Said(value=2, by=by(2))])
    field = with_heard({}, [said])["seed"]
    assert (field.requested, field.observed, field.refused) == (1, 2, None)
    assert (field.requested_by.pid, field.observed_by.pid) == (1, 2)
    assert not field.conflicting


def test_what_the_assigning_process_saw_is_kept_apart():
    said = heard("seed", Said(value=1, by=by(1)), (), [Said(value=1, by=by(1))])
    field = with_heard({}, [said])["seed"]
    assert (field.observed, field.refused) == (None, 1)


def test_ranks_that_agree_are_one_value_and_ranks_that_differ_are_all_told():
    same = heard("t", None, [Said(value="a", by=by(1, 0)), Said(value="a", by=by(2, 1))])
    field = with_heard({}, [same])["t"]
    assert (field.observed, field.conflicting) == ("a", False)
    assert field.observed_by.detail == "2 processes"
    differing = heard("t", None, [Said(value="a", by=by(1, 0)), Said(value="b", by=by(2, 1))])
    field = with_heard({}, [differing])["t"]
    assert (field.observed, field.conflicting) == (["a", "b"], True)


def test_what_a_library_settled_on_may_be_read_by_whoever_asked_it():
    resolved = heard("resolved.attn_implementation", None, [Said(value="sdpa", by=by(1))])
    fields = with_heard(at_launch({"attn_implementation": "flex"}, "s", None), [resolved])
    field = fields["attn_implementation"]
    assert (field.requested, field.resolved, field.observed) == ("flex", "sdpa", None)
    assert field.resolved_by.pid == 1
    own = heard("resolved.x", Said(value="a", by=by(1)), (), [Said(value="b", by=by(1))])
    assert with_heard({}, [own])["x"].resolved == "b"


def test_a_process_that_assigns_another_value_than_the_spec_declares_is_told():
    fields = at_launch({"attn_implementation": "flex"}, "/spec", None)
    assigned = heard("attn_implementation", Said(value="sdpa", by=by(1)))
    field = with_heard(fields, [assigned])["attn_implementation"]
    assert (field.requested, field.conflicting) == ("sdpa", True)
    assert field.requested_by.detail == "/spec asks for 'flex'"
    same = heard("attn_implementation", Said(value="flex", by=by(1)))
    assert not with_heard(fields, [same])["attn_implementation"].conflicting


def test_what_pfid_saw_itself_fills_one_field():
    fields = with_observed(at_launch({}, "", 1.0), "step_seconds", Said(value={"n": 3}, by=by(9)))
    assert (fields["step_seconds"].requested, fields["step_seconds"].observed) == (1.0, {"n": 3})


def test_secrets_in_what_processes_say_are_masked():
    said = heard("hub_token", None, [Said(value="x", by=by(1))])
    assert with_heard({}, [said])["hub_token"].observed == "[masked]"
