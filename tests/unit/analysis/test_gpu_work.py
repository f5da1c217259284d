"""The table of the contradiction gate, and its laws."""

import dataclasses

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pfid.analysis.gpu_window import GpuWindow
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.analysis.gpu_work_reading import Against, Work
from pfid.analysis.gpu_work_words import clauses
from pfid.domain.gpu import AbsentReason
from pfid.domain.gpu_view import WorkKind
from pfid.spec.fakes_gpus import gemm_reference

LIMITS = WorkLimits()
FAILS = {Work.TENSOR_IDLE, Work.LOW_POWER, Work.IDLE, Work.THROTTLED, Work.DISAGREE}
"""What a run or a card may fail on."""
GEMM = gemm_reference(power_w=640.0, power_limit_w=700.0, tflops=740.0)


def window(watts=627.4, utilization=1.0, **more):
    base = {
        "seconds": 60.0,
        "utilization": utilization,
        "power_w": watts,
        "power_limit_w": 700.0,
        "throttle": frozenset(),
        "sm_activity": None,
        "tensor_activity": None,
        "tensor_moved": bool(more.get("tensor_activity")),
    }
    return GpuWindow(**{**base, **more})


def work(reference=GEMM, flops=None, **fields):
    return classify(window(**fields), reference, LIMITS, flops).work


TABLE = [
    ({"tensor_activity": 0.8}, Work.MATMUL),
    ({"tensor_activity": 0.08}, Work.TENSOR_IDLE),
    ({}, Work.TENSOR_UNKNOWN),
    ({"flops": 500e12}, Work.MATMUL),
    ({"flops": 50e12}, Work.TENSOR_IDLE),
    ({"watts": 90.0, "tensor_activity": 0.05}, Work.LOW_POWER),
    ({"watts": 90.0}, Work.LOW_POWER),
    ({"watts": 90.0, "utilization": 0.0}, Work.IDLE),
    ({"watts": 450.0}, Work.TENSOR_UNKNOWN),
    ({"watts": 450.0, "tensor_activity": 0.2}, Work.NO_CLEAR_FAULT),
    ({"watts": 0.65 * 640, "tensor_activity": 0.0, "sm_activity": 0.95}, Work.POWER_UNCLEAR),
    ({"watts": 0.65 * 640, "flops": 50e12}, Work.POWER_UNCLEAR),
    ({"watts": 0.47 * 640, "tensor_activity": 0.27}, Work.NO_CLEAR_FAULT),
    ({"watts": 0.47 * 640, "flops": 500e12}, Work.NO_CLEAR_FAULT),
    ({"utilization": 0.6, "watts": 90.0}, Work.NO_CLEAR_FAULT),
    ({"throttle": frozenset({"hw_power_brake"}), "watts": 300.0}, Work.THROTTLED),
    ({"throttle": frozenset({"sw_power_cap"}), "tensor_activity": 0.8}, Work.MATMUL),
    ({"sm_activity": 0.0, "tensor_activity": 0.0}, Work.DISAGREE),
    ({"watts": 90.0, "sm_activity": 0.0}, Work.DISAGREE),
    ({"utilization": 0.0, "watts": 690.0}, Work.DISAGREE),
    ({"tensor_activity": 0.05, "flops": 500e12}, Work.DISAGREE),
    ({"watts": 90.0, "tensor_activity": 0.8}, Work.DISAGREE),
]


@pytest.mark.parametrize(("fields", "expected"), TABLE)
def test_the_table_of_the_gate(fields, expected):
    assert work(**fields) is expected


@pytest.mark.parametrize("flops", [7_400e12, 1e30, float("nan"), float("inf")])
def test_a_rate_that_no_card_does_neither_convicts_nor_acquits(flops):
    """As of a run that counts the tokens of all its ranks, or wrong FLOPs a token."""
    assert work(flops=flops) is Work.TENSOR_UNKNOWN
    assert work(flops=flops, watts=90.0) is Work.LOW_POWER
    assert work(flops=flops, tensor_activity=0.05) is Work.TENSOR_IDLE


def test_it_says_that_the_rate_cannot_be():
    said = " ".join(clauses("tensor_activity_unknown", classify(window(), GEMM, LIMITS, 7_400e12)))
    assert "the rate it reports is 10 times that of its own GEMM, which no card does" in said


@pytest.mark.parametrize(
    "measured",
    [{"power_w": 0.0}, {"power_w": float("nan")}, {"tflops": 0.0}, {"tflops": float("inf")}],
)
def test_a_reference_that_cannot_be_divided_by_is_none(measured):
    found = classify(window(), dataclasses.replace(GEMM, **measured), LIMITS, 400e12)
    assert (found.work, found.against) == (Work.TENSOR_UNKNOWN, Against.LIMIT)


@pytest.mark.parametrize("limit_w", [300.0, 600.0])
def test_the_playbooks_card_is_judged_by_its_own_gemm_whatever_its_limit(limit_w):
    reference = gemm_reference(power_w=286.0, power_limit_w=limit_w, tflops=304.0)
    found = classify(
        window(285.0, power_limit_w=limit_w, tensor_activity=27 / 304, sm_activity=0.97),
        reference,
        LIMITS,
    )
    assert (found.work, found.against) == (Work.TENSOR_IDLE, Against.REFERENCE)
    assert found.power_share == pytest.approx(285 / 286)


def test_a_share_of_the_limit_alone_would_have_said_two_different_things():
    """Why the reference comes first."""
    by_limit = {
        w: work(None, watts=285.0, power_limit_w=w, tensor_activity=0.09) for w in (300.0, 600.0)
    }
    assert by_limit == {300.0: Work.TENSOR_IDLE, 600.0: Work.LOW_POWER}


def test_without_a_reference_it_says_that_it_held_power_against_the_limit():
    assert classify(window(), None, LIMITS).against is Against.LIMIT


def test_a_lowered_limit_is_compared_with_and_said():
    found = classify(window(290.0, power_limit_w=300.0), GEMM, LIMITS)
    assert (found.work, found.against) == (Work.THROTTLED, Against.LOWERED_LIMIT)
    assert "700 W to 300 W" in found.why


def test_without_a_reference_a_limit_below_the_cards_own_is_seen_all_the_same():
    capped = window(198.0, power_limit_w=200.0, throttle=frozenset({"sw_power_cap"}))
    found = classify(capped, None, LIMITS, default_limit_w=350.0)
    assert (found.work, found.against) == (Work.THROTTLED, Against.BELOW_DEFAULT)
    assert "350 W to 200 W" in found.why
    said = " ".join(clauses("throttled", found))
    assert "below the card's default" in said
    assert "pfid probe gemm" in said
    measured = gemm_reference(power_w=197.0, power_limit_w=200.0)
    assert classify(capped, measured, LIMITS, default_limit_w=350.0).work is not Work.THROTTLED
    assert classify(capped, None, LIMITS, default_limit_w=200.0).work is not Work.THROTTLED


def test_a_lowered_limit_that_does_not_bind_is_no_throttling():
    found = classify(window(120.0, power_limit_w=300.0), GEMM, LIMITS)
    assert (found.work, found.against) == (Work.LOW_POWER, Against.LOWERED_LIMIT)


def test_throttling_is_named_by_the_drivers_reason():
    held = frozenset({"hw_thermal", "gpu_idle"})
    assert classify(window(300.0, throttle=held), GEMM, LIMITS).why == "hw_thermal"


def test_a_counter_that_is_missing_for_the_moment_is_not_one_that_the_card_never_had():
    """Against the limit only tensor activity can acquit: 285 of 600 W may be a dense GEMM."""
    for reason, expected in (
        (AbsentReason.NOT_SUPPORTED, Work.LOW_POWER),
        (AbsentReason.BLANK, Work.UNREADABLE),
    ):
        gap = {"tensor_activity": reason}
        assert work(None, watts=285.0, power_limit_w=600.0, absent=gap) is expected
        assert work(GEMM, watts=285.0, absent=gap) is expected


def test_a_counter_nobody_may_read_excuses_no_card_at_half_the_power_of_its_own_gemm():
    refused = {"tensor_activity": AbsentReason.NO_PERMISSION}
    assert work(GEMM, watts=285.0, absent=refused) is Work.LOW_POWER
    assert work(None, watts=285.0, power_limit_w=600.0, absent=refused) is Work.UNREADABLE


def test_settings_are_no_throttling():
    """applications_clocks, sync_boost and the like are what somebody chose."""
    chosen = frozenset({"gpu_idle", "applications_clocks", "sync_boost", "display_clock"})
    assert work(throttle=chosen, tensor_activity=0.8) is Work.MATMUL


def test_a_counter_stuck_at_zero_convicts_nobody():
    """dcgm-exporter#662: tensor activity read 0 under full load until somebody ran another tool."""
    assert work(tensor_activity=0.0, watts=600.0) is Work.TENSOR_UNKNOWN
    assert work(tensor_activity=0.0, watts=640.0) is Work.DISAGREE


def test_a_counter_at_zero_that_another_one_vouches_for_counts():
    assert work(tensor_activity=0.0, sm_activity=0.98) is Work.TENSOR_IDLE


NEEDS_PERMISSION = "if pfid were allowed"
NO_COUNTERS = "no GPM counters"
NOT_NOW = "cannot be read just now"
STUCK = "stands still"
REPORTS = "steps reported with their FLOPs"
PROBE = "`pfid probe gemm`"


@pytest.mark.parametrize(
    ("counter", "reference", "flops", "said", "unsaid"),
    [
        (AbsentReason.NOT_SUPPORTED, None, 4e14, {NO_COUNTERS, PROBE}, {REPORTS}),
        (AbsentReason.NOT_SUPPORTED, None, None, {NO_COUNTERS, PROBE, REPORTS}, set()),
        (AbsentReason.NOT_SUPPORTED, GEMM, None, {NO_COUNTERS, REPORTS}, {PROBE}),
        (AbsentReason.NO_PERMISSION, GEMM, None, {NEEDS_PERMISSION, REPORTS}, {NO_COUNTERS}),
        (AbsentReason.TIMEOUT, GEMM, None, {NOT_NOW, REPORTS}, {NO_COUNTERS, NEEDS_PERMISSION}),
        (None, GEMM, None, {STUCK, REPORTS}, {NO_COUNTERS, NEEDS_PERMISSION, NOT_NOW, PROBE}),
    ],
)
def test_where_nothing_tells_matrix_work_it_says_what_is_lacking_and_only_that(
    counter, reference, flops, said, unsaid
):
    stuck = 0.0 if counter is None else None
    absent = {} if counter is None else {"tensor_activity": counter}
    silent = window(600.0, tensor_activity=stuck, absent=absent)
    found = classify(silent, reference, LIMITS, flops)
    assert found.work is Work.TENSOR_UNKNOWN
    text = "; ".join(clauses("tensor_activity_unknown", found))
    held = f"power is {found.power_share:.0%} of {found.against.value}"
    text = text.replace(held, "")
    assert {word for word in said | unsaid if word in text} == said


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (AbsentReason.NOT_SUPPORTED, Work.NOT_MEASURED),
        (AbsentReason.NO_PERMISSION, Work.UNREADABLE),
        (AbsentReason.BLANK, Work.UNREADABLE),
        (AbsentReason.LOST, Work.UNREADABLE),
    ],
)
def test_what_hardware_does_not_tell_is_not_what_cannot_be_read(reason, expected):
    blind = window(None, utilization=None, absent={"power_w": reason, "utilization": reason})
    found = classify(blind, GEMM, LIMITS)
    assert found.work is expected
    assert found.fields == ("utilization", "power_w")


def test_kinds_for_a_table():
    assert classify(window(tensor_activity=0.8), GEMM, LIMITS).kind is WorkKind.MATMUL
    assert classify(window(), GEMM, LIMITS).kind is WorkKind.UNKNOWN
    assert classify(window(90.0), GEMM, LIMITS).kind is WorkKind.LOW_POWER
    assert classify(GpuWindow(), GEMM, LIMITS).kind is WorkKind.UNKNOWN


SHARE = st.sampled_from([0.0, 0.005, 0.05, 0.2, 0.5, 0.95, 1.0]) | st.floats(0, 1)
windows = st.builds(
    window,
    watts=st.floats(0, 800),
    utilization=SHARE,
    power_limit_w=st.floats(50, 800),
    tensor_activity=SHARE | st.none(),
    sm_activity=SHARE | st.none(),
    throttle=st.sampled_from([None, frozenset(), frozenset({"hw_thermal"})]),
    jitter_w=st.floats(0, 50),
)
references = st.builds(
    gemm_reference, power_w=st.floats(50, 800), power_limit_w=st.none() | st.floats(50, 800)
)
FIELDS = ["utilization", "power_w", "power_limit_w", "tensor_activity", "sm_activity", "throttle"]


@settings(max_examples=600)
@given(found=windows, reference=references | st.none(), field=st.sampled_from(FIELDS))
def test_a_missing_field_never_makes_a_fail(found, reference, field):
    assume(classify(found, reference, LIMITS).work not in FAILS)
    blinded = dataclasses.replace(found, **{field: None})
    blinded = dataclasses.replace(blinded, absent={field: AbsentReason.BLANK})
    if field == "tensor_activity":
        blinded = dataclasses.replace(blinded, tensor_moved=False)
    assert classify(blinded, reference, LIMITS).work not in FAILS


@given(found=windows, reference=references | st.none(), more=st.floats(0, 500))
def test_more_power_never_makes_it_idle_or_spinning(found, reference, more):
    before = classify(found, reference, LIMITS).work
    after = classify(dataclasses.replace(found, power_w=found.power_w + more), reference, LIMITS)
    for starved in (Work.IDLE, Work.LOW_POWER):
        if after.work is starved:
            assert before in {starved, Work.DISAGREE}


@given(found=windows, reference=references | st.none())
def test_more_jitter_never_makes_a_fail(found, reference):
    still = classify(dataclasses.replace(found, jitter_w=0.0), reference, LIMITS).work
    if classify(found, reference, LIMITS).work in FAILS - {Work.DISAGREE}:
        assert still in FAILS


@given(found=windows, reference=references | st.none())
def test_only_dense_work_at_power_passes_as_matrix_work(found, reference):
    if classify(found, reference, LIMITS).work is Work.MATMUL:
        assert found.utilization >= LIMITS.utilization_high
        assert found.tensor_activity >= LIMITS.tensor_high


@given(found=windows, reference=references | st.none(), share=st.floats(0, 0.74))
def test_a_window_with_too_few_readings_says_nothing(found, reference, share):
    short = dataclasses.replace(found, seconds=share * LIMITS.window_s)
    assert classify(short, reference, LIMITS).work is Work.TOO_SHORT
