"""Is everything named that a ledger must not be left with, and nothing else?"""

import datetime as dt

import pytest
from msgspec.structs import replace

from pfid.bootstrap.claims.findings import findings_of, same_value
from pfid.bootstrap.claims.starter import STANDS, starter_text
from pfid.config.claims import Claim, Ledger, Source, loads_claims
from pfid.domain.outcome import Outcome

DAY = dt.date(2026, 11, 30)
SHA = "a" * 64
MEASURED = Claim(
    key="rebuild",
    text="the cache is rebuilt in minutes",
    figure=145.5,
    unit="s",
    date=dt.date(2026, 8, 26),
    source=Source(kind="measured", by="run 2"),
    status="measured",
)
DERIVED = replace(
    MEASURED,
    source=Source(kind="derived", by="arithmetic"),
    status="derived",
    expires=DAY + dt.timedelta(days=1),
)
FALLEN = replace(
    MEASURED,
    figure=4.3,
    unit="h",
    status="superseded",
    superseded_by="rebuild",
    falls=["a window"],
    survives=["a cache"],
)
BOUND = replace(MEASURED, source=Source(kind="measured", by="run 2", file="a.json", sha256=SHA))

ABOUT = replace(MEASURED, describes=f"runs/b.json@sha256:{SHA}")


def codes(*claims, digest=SHA, on=DAY):
    found = list(findings_of(Ledger(claims=list(claims)), on, lambda _: digest))
    return {(one.code, one.outcome is Outcome.FAIL) for one in found}


@pytest.mark.parametrize(
    "claims",
    [
        [MEASURED],
        [DERIVED],
        [MEASURED, FALLEN],
        [BOUND],
        [ABOUT],
        [replace(ABOUT, describes="the first run, with sdpa set explicitly")],
        [replace(FALLEN, describes=f"b.json@sha256:{'b' * 64}"), MEASURED],
        [replace(FALLEN, superseded_by="")],
        [MEASURED, MEASURED],
        [MEASURED, replace(MEASURED, figure=2.425, unit="min")],
        [MEASURED, replace(DERIVED, expires=DAY)],
        [MEASURED, replace(DERIVED, expires=None)],
        [replace(FALLEN, source=BOUND.source), replace(MEASURED, figure=1.0)],
        [replace(MEASURED, status="negative")],
        [replace(MEASURED, key="b"), replace(FALLEN, superseded_by="b")],
        [
            replace(FALLEN, superseded_by="b"),
            replace(FALLEN, key="b", superseded_by="c"),
            replace(MEASURED, key="c"),
        ],
    ],
)
def test_what_stands_well_is_left_alone(claims):
    assert not codes(*claims)


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ([replace(DERIVED, expires=DAY)], "expired"),
        ([replace(DERIVED, expires=DAY - dt.timedelta(days=9))], "expired"),
        ([replace(DERIVED, expires=None)], "no_expiry"),
        ([replace(MEASURED, source=Source(kind="consensus", by="a panel"))], "not_measured"),
        ([replace(MEASURED, source=Source(kind="derived", by="a panel"))], "not_measured"),
        (
            [replace(MEASURED, source=Source(kind="consensus", by="p"), status="negative")],
            "not_measured",
        ),
        ([replace(DERIVED, source=Source(kind="measured", by="run 2"), expires=None)], "no_expiry"),
        ([MEASURED, replace(MEASURED, figure=146.0)], "contradiction"),
        ([MEASURED, replace(MEASURED, unit="min")], "contradiction"),
        ([MEASURED, replace(MEASURED, figure=[145.5, 150.0])], "contradiction"),
        ([MEASURED, replace(DERIVED, figure=4.0)], "contradiction"),
        (
            [replace(MEASURED, figure=None, unit=""), replace(MEASURED, figure=None, text="other")],
            "contradiction",
        ),
        ([MEASURED, replace(FALLEN, falls=[])], "half_superseded"),
        ([MEASURED, replace(FALLEN, survives=[])], "half_superseded"),
        ([MEASURED, replace(FALLEN, survives=["  "])], "half_superseded"),
        ([FALLEN], "successor_missing"),
        ([replace(FALLEN, superseded_by="nowhere")], "successor_missing"),
        (
            [replace(FALLEN, superseded_by="b"), replace(FALLEN, key="b")],
            "successor_missing",
        ),
        ([replace(BOUND, source=replace(BOUND.source, sha256="b" * 64))], "artefact_changed"),
        ([replace(ABOUT, describes=f"b.json@sha256:{'b' * 64}")], "described_changed"),
        ([replace(BOUND, source=replace(BOUND.source, sha256=""))], "artefact_unbound"),
        ([replace(BOUND, source=replace(BOUND.source, file=""))], "artefact_unbound"),
    ],
)
def test_what_is_wrong_fails(claims, code):
    assert codes(*claims) == {(code, True)}


def test_an_artefact_that_cannot_be_read_is_not_known():
    assert codes(BOUND, digest=None) == {("artefact_unread", False)}
    assert codes(ABOUT, digest=None) == {("described_unread", False)}


def test_a_consensus_confirms_nothing():
    agreed = replace(DERIVED, source=Source(kind="consensus", by="four readers"))
    assert codes(agreed, replace(DERIVED, expires=DAY)) == {("expired", True)}


def test_ranges_are_the_same_in_other_units():
    one = replace(MEASURED, figure=[60.0, 120.0])
    assert same_value(one, replace(one, figure=[1.0, 2.0], unit="min"))
    assert not same_value(one, replace(one, figure=[1.0, 3.0], unit="min"))


def test_the_first_ledger_is_good_until_what_is_not_measured_in_it_expires():
    ledger = loads_claims(starter_text(DAY))
    assert not codes(*ledger.claims)
    assert codes(*ledger.claims, on=DAY + STANDS) == {("expired", True)}
    assert sum(claim.status == "superseded" for claim in ledger.claims) == 10
    fallen = {c.key: (c.ends, c.unit) for c in ledger.claims if not c.live and c.ends}
    assert fallen == {
        "attention_quadratic_share": ((14.3,), "%"),
        "chunked_cross_entropy_cost": ((2.0, 5.0), "x"),
        "bucket_size_for_diversity": ((256.0,), "samples"),
        "encode_cache_rebuild": ((4.3,), "h"),
    }
    bare = {claim.key for claim in ledger.claims if not claim.ends}
    assert bare == {
        "masked_attention_backend_sm120",
        "frozen_base_intensity",
        "flash_attention_per_layer",
        "bucket_size_for_diversity",
        "august_kernel_table_is_of_training",
        "adopt_flex_attention",
        "warmup_ratio_argument",
    }, "of these the playbook has no figure that fell, or only words"
    dead_ends = [claim.key for claim in ledger.claims if claim.status == "negative"]
    assert dead_ends == ["grouped_mm", "cuda_graphs_over_experts", "liger_fused_cross_entropy"]
