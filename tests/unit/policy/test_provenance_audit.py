import pytest

from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    Field,
    HostIdentity,
    InterpreterIdentity,
    Manifest,
    Source,
)
from pfid.policy.provenance_audit import Standing, audit
from pfid.policy.provenance_fields import at_launch

SHA = "d" * 64
STEPS = {"n": 1312, "first": 45.0, "min": 11.84, "p50": 19.48, "p99": 28.96, "max": 45.79}


def manifest(expected=None, **fields):
    return Manifest(
        run_id="r",
        name="n",
        attempt=1,
        sampled_at_s=1.0,
        command=CommandIdentity(),
        host=HostIdentity(),
        code=CodeIdentity(),
        interpreter=InterpreterIdentity(),
        fields={
            **at_launch({}, "", None),
            **{name.replace("__", "."): field for name, field in fields.items()},
        },
        expected=expected or {},
    )


def rows(*args, **fields):
    return {row.field: row for row in audit(manifest(*args, **fields))}


def row(name, *args, **fields):
    return rows(*args, **fields)[name]


def test_the_playbooks_own_manifest_comes_out_as_its_table():
    """Section 4.3: what was paired, what was available and unwired, what is rightly unpaired."""
    found = rows(
        max_seq_len=Field(requested=16_384),
        truncation=Field(observed={"truncated": 12, "longest": 16_384}),
        mask__sha256=Field(requested=SHA),
        tokens__loss_delta=Field(observed=-221_712),
        quantized_base=Field(requested=True),
        quantized_tensors=Field(observed={"quantized": 407}),
        template__sha256=Field(requested=SHA, observed=SHA),
        adapter__rank=Field(requested=64),
        adapter__alpha=Field(requested=128),
        adapter__targets=Field(requested=["q_proj"]),
        eligibility_override=Field(requested=["1", "2", "3"]),
    )
    assert {name: row.standing for name, row in found.items()} == {
        "max_seq_len": Standing.PAIRED,
        "mask.sha256": Standing.PAIRED,
        "quantized_base": Standing.PAIRED,
        "template.sha256": Standing.PAIRED,
        "adapter.rank": Standing.INTENT_ONLY,
        "adapter.alpha": Standing.INTENT_ONLY,
        "adapter.targets": Standing.INTENT_ONLY,
        "eligibility_override": Standing.DECISION,
    }
    assert found["adapter.rank"].pair == "adapter.norm"
    assert "lora_B" in found["adapter.rank"].why


@pytest.mark.parametrize(
    ("field", "configured", "pair", "observed", "contradicted"),
    [
        ("max_seq_len", 100, "truncation", {"longest": 101}, True),
        ("max_seq_len", 100, "truncation", {"longest": 100}, False),
        ("max_seq_len", 100, "truncation", 7, False),
        ("mask.sha256", SHA, "tokens.loss_delta", 0, True),
        ("mask.sha256", SHA, "tokens.loss_delta", {"delta": 0}, True),
        ("mask.sha256", SHA, "tokens.loss_delta", -1, False),
        ("quantized_base", True, "quantized_tensors", 0, True),
        ("quantized_base", True, "quantized_tensors", 1, False),
        ("quantized_base", False, "quantized_tensors", 1, True),
        ("quantized_base", False, "quantized_tensors", 0, False),
        ("quantized_base", "nf4", "quantized_tensors", {"n": 0}, True),
        ("adapter.rank", 64, "adapter.norm", {"q": 0.0, "v": 0}, True),
        ("adapter.rank", 64, "adapter.norm", {"q": 0.0, "v": 1e-6}, False),
        ("adapter.rank", 64, "adapter.norm", [1.0, "nan"], True),
        ("adapter.rank", 64, "adapter.norm", {"n": 2, "zero": 2, "min": 0.0, "max": 0.0}, True),
        ("adapter.rank", 64, "adapter.norm", {"n": 2, "zero": 1, "min": 0.0, "max": 3.0}, False),
        ("adapter.rank", 64, "adapter.norm", {"n": 2, "zero": 0, "min": "nan", "max": 1.0}, True),
        ("adapter.rank", 64, "adapter.norm", {"n": 2, "zero": 0, "min": 1.0, "max": "inf"}, True),
        ("adapter.rank", 64, "adapter.norm", {"n": 2, "zero": 0, "not_finite": 1}, True),
        ("adapter.rank", 0, "adapter.norm", {"n": 0, "zero": 0, "min": None, "max": None}, False),
        ("template.sha256", SHA, "template.sha256", "e" * 64, True),
        ("template.sha256", SHA, "template.sha256", SHA, False),
        ("seed", 7, "seed", 8, True),
        ("seed", 7, "seed", 7, False),
    ],
)
def test_a_pair_contradicts_only_where_it_cannot_be_otherwise(
    field, configured, pair, observed, contradicted
):
    fields = {field: Field(requested=configured)}
    known = fields.get(pair, Field())
    fields[pair] = Field(requested=known.requested, observed=observed)
    found = row(field, **{name.replace(".", "__"): value for name, value in fields.items()})
    assert found.standing is (Standing.CONTRADICTED if contradicted else Standing.PAIRED)
    assert bool(found.why) is contradicted


def test_one_of_many_processes_that_saw_another_value_contradicts():
    found = row(
        "template.sha256",
        template__sha256=Field(requested=SHA, observed=[SHA, "e" * 64], conflicting=True),
    )
    assert found.standing is Standing.CONTRADICTED


def test_a_value_that_only_its_own_process_saw_is_no_pair():
    found = row("template.sha256", template__sha256=Field(requested=SHA, refused=SHA))
    assert found.standing is Standing.SELF_OBSERVED
    assert "worker" in found.why


def test_a_consequence_of_another_name_that_only_the_assigning_process_saw_is_no_pair():
    fields = {
        "adapter.rank": Field(requested=64, self_observed="adapter.norm"),
        "adapter.alpha": Field(requested=128),
        "adapter.norm": Field(observed={"n": 2, "zero": 0, "min": 1.0, "max": 3.0}),
    }
    found = rows(**{name.replace(".", "__"): field for name, field in fields.items()})
    assert found["adapter.rank"].standing is Standing.SELF_OBSERVED
    assert "[provenance.requested]" in found["adapter.rank"].why
    assert found["adapter.alpha"].standing is Standing.PAIRED
    fields["adapter.norm"] = Field(observed={"n": 2, "zero": 2, "min": 0.0, "max": 0.0})
    found = rows(**{name.replace(".", "__"): field for name, field in fields.items()})
    assert found["adapter.rank"].standing is Standing.CONTRADICTED


def test_null_that_somebody_observed_contradicts_a_value_and_is_no_measurement():
    by = Source(kind="process", pid=2)
    found = row(
        "template.sha256", template__sha256=Field(requested=SHA, observed=None, observed_by=by)
    )
    assert (found.standing, found.observed) == (Standing.CONTRADICTED, None)
    assert found.why == "the process that looked found none"
    one = Field(requested=SHA, observed=[SHA, None], observed_by=by, conflicting=True)
    assert row("template.sha256", template__sha256=one).standing is Standing.CONTRADICTED
    fields = {"max_seq_len": Field(requested=4), "truncation": Field(observed_by=by)}
    assert row("max_seq_len", **fields).standing is Standing.INTENT_ONLY


def test_what_nobody_configured_is_no_row_and_null_is_no_setting():
    assert rows(template__sha256=Field(observed=SHA)) == {}


@pytest.mark.parametrize(("seen", "agrees"), [("yarn", True), ("linear", False)])
def test_what_was_only_resolved_is_compared_with_what_it_resolved_to(seen, agrees):
    found = row("rope_scaling", rope_scaling=Field(resolved="yarn", observed=seen))
    assert found.standing is (Standing.PAIRED if agrees else Standing.CONTRADICTED)


def test_a_silent_downgrade_contradicts():
    found = row(
        "attn_implementation",
        attn_implementation=Field(requested="flash_attention_2", resolved="sdpa"),
        step_seconds=Field(observed=STEPS),
    )
    assert found.standing is Standing.CONTRADICTED
    assert found.why == "flash_attention_2 was asked for, sdpa was settled on"


def test_ranks_that_settled_on_different_values_contradict():
    field = Field(requested="sdpa", resolved=["sdpa", "eager"], conflicting=True)
    found = row("attn_implementation", attn_implementation=field)
    assert found.standing is Standing.CONTRADICTED
    assert "different" in found.why


def test_a_process_that_asked_for_other_than_the_spec_contradicts():
    by = Source(kind="process", detail="/spec asks for 'flex_attention'")
    field = Field(requested="sdpa", resolved="sdpa", requested_by=by, conflicting=True)
    found = row("attn_implementation", attn_implementation=field)
    assert found.standing is Standing.CONTRADICTED


def attention(steps=None, expected=None, dynamo=None, resolved="flex_attention"):
    return row(
        "attn_implementation",
        attn_implementation=Field(requested="flex_attention", resolved=resolved),
        step_seconds=Field(requested=expected, observed=steps),
        dynamo__counters=Field(observed=dynamo),
    )


def test_the_resolved_name_alone_is_intent_for_it_survives_a_fallback():
    found = attention()
    assert found.standing is Standing.INTENT_ONLY
    assert "survives a fallback" in found.why


def test_the_step_times_of_the_playbooks_run_pair_it():
    assert attention(STEPS, expected=20.0).standing is Standing.PAIRED
    assert attention(STEPS, expected=20.0).why == ""
    assert "nobody said" in attention(STEPS).why


@pytest.mark.parametrize(("p50", "fallen"), [(59.9, False), (60.0, True), (400.0, True)])
def test_a_run_at_three_times_its_expectation_fell_back(p50, fallen):
    found = attention({**STEPS, "p50": p50}, expected=20.0)
    assert (found.standing is Standing.CONTRADICTED) is fallen


def test_a_recompile_limit_is_a_suspicion_until_its_cost_is_seen():
    hit = {"limit_hits": 2}
    assert attention(STEPS, 20.0, hit).standing is Standing.PAIRED
    assert "2 times, consequence not seen" in attention(STEPS, 20.0, hit).why
    assert attention(None, 20.0, hit).standing is Standing.INTENT_ONLY
    slow = attention({**STEPS, "p50": 400.0}, 20.0, hit)
    assert slow.standing is Standing.CONTRADICTED
    assert "recompile limit 2 times" in slow.why


def test_dynamos_own_table_is_understood():
    table = {"unimplemented": {"Dynamo recompile limit exceeded (x)": 3}, "frames": {"ok": 8}}
    assert "3 times" in attention(STEPS, 20.0, table).why
    assert "times" not in attention(STEPS, 20.0, {"limit_hits": 0}).why


@pytest.mark.parametrize("steps", [{"n": 4, "p50": 400.0}, {"n": 9, "p50": None}, "x", {}])
def test_too_few_steps_are_no_distribution(steps):
    assert attention(steps, 20.0).standing is Standing.INTENT_ONLY


def test_every_sub_config_is_judged_like_the_whole():
    found = row(
        "attn_implementation.vision_config",
        attn_implementation__vision_config=Field(requested="sdpa", resolved="eager"),
    )
    assert found.standing is Standing.CONTRADICTED


def test_a_sub_config_without_its_own_request_takes_that_of_the_whole():
    found = rows(
        attn_implementation=Field(requested="flex_attention", resolved="flex_attention"),
        attn_implementation__vision_config=Field(resolved="eager"),
        attn_implementation__text_config=Field(resolved="flex_attention"),
        step_seconds=Field(requested=20.0, observed=STEPS),
    )
    vision = found["attn_implementation.vision_config"]
    assert (vision.requested, vision.standing) == ("flex_attention", Standing.CONTRADICTED)
    assert vision.why == "flex_attention was asked for, eager was settled on"
    assert found["attn_implementation.text_config"].standing is Standing.PAIRED


def test_a_pair_that_the_spec_names_is_looked_at():
    found = row("seed", {"seed": "seed_used"}, seed=Field(requested=7))
    assert (found.pair, found.standing) == ("seed_used", Standing.INTENT_ONLY)
    seen = row("seed", {"seed": "seed_used"}, seed=Field(requested=7), seed_used=Field(observed=9))
    assert seen.standing is Standing.PAIRED
    known = row(
        "max_seq_len",
        {"max_seq_len": "truncation"},
        max_seq_len=Field(requested=5),
        truncation=Field(observed={"longest": 6}),
    )
    assert known.standing is Standing.CONTRADICTED


def test_no_difference_is_evidence_of_nothing_without_launch_counts():
    pair = {"kernel_flag": "max_abs_diff"}
    fields = {"kernel_flag": Field(requested="fast"), "max_abs_diff": Field(observed=0.0)}
    alone = row("kernel_flag", pair, **fields)
    assert alone.standing is Standing.INTENT_ONLY
    assert "count launches" in alone.why
    counted = row("kernel_flag", pair, **fields, launches__grouped_gemm=Field(observed=96))
    assert counted.standing is Standing.PAIRED
    uncounted = row("kernel_flag", pair, **fields, launches__grouped_gemm=Field(observed=0))
    assert uncounted.standing is Standing.INTENT_ONLY
    differs = {**fields, "max_abs_diff": Field(observed=1e-3)}
    assert row("kernel_flag", pair, **differs).standing is Standing.PAIRED
