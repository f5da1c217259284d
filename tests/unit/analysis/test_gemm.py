"""From timed blocks and readings to a reference, or to a refusal."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.gemm import (
    Block,
    NotMeasuredError,
    burn_of,
    burnt,
    reference_of,
    tflops,
    why_not_idle,
)
from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.analysis.gpu_work_reading import Against, Work
from pfid.domain.gpu_view import GpuView, HolderView
from pfid.spec.fakes_gpus import CONTROL_GPU, CONTROL_UUID, gpu_samples

SIZE = 8_192
STEADY = tuple(Block(count=300, seconds=0.5) for _ in range(20))
"""300 multiplications of 2 * 8192^3 operations in half a second: 659.7 TFLOP/s."""
BUSY = gpu_samples(20, every_s=0.5, power_w=640.0)
(IDLE_SAMPLE,) = gpu_samples(1, utilization=0.0, power_w=77.7)
IDLE = GpuView(facts=CONTROL_GPU, present=True, last=IDLE_SAMPLE)


def test_tflops_count_a_multiply_add_as_two():
    assert tflops(STEADY, SIZE) == pytest.approx(659.7, abs=0.1)


def test_the_median_is_not_moved_by_one_slow_block():
    assert tflops((*STEADY, Block(count=300, seconds=5.0)), SIZE) == pytest.approx(659.7, abs=0.1)


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ((), "only 0 blocks"),
        (STEADY[:4], "only 4 blocks"),
        (tuple(Block(count=300, seconds=0.5 + 0.25 * (i % 2)) for i in range(20)), "varies"),
        (tuple(Block(count=300, seconds=0.0) for _ in range(20)), "only 0 blocks"),
    ],
)
def test_doubtful_blocks_are_refused(blocks, why):
    with pytest.raises(NotMeasuredError, match=why):
        tflops(blocks, SIZE)


def test_a_reference_holds_what_was_measured_and_under_which_driver():
    found = reference_of(STEADY, SIZE, BUSY, "580.95.05")
    assert (found.uuid, found.driver) == (CONTROL_UUID, "580.95.05")
    assert (found.power_w, found.power_limit_w) == (640.0, 700.0)
    assert found.at_s == BUSY[-1].at_s


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ((), "power was not read"),
        (gpu_samples(20, every_s=0.5, power_w=None), "power was not read"),
        (BUSY[:4], "power was not read"),
        (gpu_samples(20, every_s=0.5, utilization=0.2), "not busy"),
        (gpu_samples(20, every_s=0.5, throttle=frozenset({"hw_thermal"})), "held back"),
    ],
)
def test_doubtful_readings_are_refused(samples, why):
    with pytest.raises(NotMeasuredError, match=why):
        reference_of(STEADY, SIZE, samples, "580.95.05")


def test_the_power_cap_is_how_a_gemm_meets_its_limit():
    capped = gpu_samples(20, every_s=0.5, power_w=698.0, throttle=frozenset({"sw_power_cap"}))
    assert reference_of(STEADY, SIZE, capped, "d").power_w == 698.0


def test_without_a_driver_version_nothing_could_void_it():
    with pytest.raises(NotMeasuredError, match="driver"):
        reference_of(STEADY, SIZE, BUSY, "")


def test_a_measured_reference_is_what_verdicts_are_held_against():
    """The same 285 W: idle tensor cores on a card whose GEMM draws 286 W, whatever its limit."""
    gemm = gpu_samples(20, every_s=0.5, power_w=286.0, power_limit_w=600.0)
    reference = reference_of(STEADY, SIZE, gemm, "d")
    run = gpu_samples(60, power_w=285.0, power_limit_w=600.0, tensor_activity=0.09)
    found = classify(newest_window(run, 60.0), reference, WorkLimits())
    assert (found.work, found.against) == (Work.TENSOR_IDLE, Against.REFERENCE)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"present": False}, "does not answer"),
        ({"last": None}, "does not answer"),
        ({"holders": None}, "cannot be read"),
        ({"holders": (HolderView(pid=7, memory_bytes=2**33, visible=True),)}, "pid 7"),
        ({"holders": (HolderView(pid=7, memory_bytes=None, visible=None),)}, "pid 7"),
        ({"facts": dataclasses.replace(CONTROL_GPU, mig=True)}, "MIG"),
        ({"last": dataclasses.replace(IDLE_SAMPLE, utilization=None)}, "cannot be read"),
        ({"last": dataclasses.replace(IDLE_SAMPLE, utilization=0.4)}, "40% busy"),
    ],
)
def test_a_card_that_is_not_known_to_idle_is_not_loaded(change, why):
    assert why in why_not_idle(dataclasses.replace(IDLE, **change))


def test_an_idle_card_with_a_monitor_on_it_may_be_loaded():
    monitor = HolderView(pid=7, memory_bytes=2**20, visible=True)
    assert why_not_idle(IDLE) == ""
    assert why_not_idle(dataclasses.replace(IDLE, holders=(monitor,))) == ""


blocks = st.lists(
    st.builds(Block, count=st.integers(1, 500), seconds=st.floats(0.1, 2.0)),
    min_size=5,
    max_size=30,
)


@given(found=blocks, faster=st.floats(1.1, 10))
def test_a_faster_card_has_more_tflops(found, faster):
    try:
        before = tflops(found, SIZE)
    except NotMeasuredError:
        return
    quick = [Block(count=b.count, seconds=b.seconds / faster) for b in found]
    assert tflops(quick, SIZE) == pytest.approx(before * faster, rel=1e-6)


@pytest.mark.parametrize(
    ("works", "proven"),
    [
        ((Work.MATMUL, Work.TENSOR_IDLE, Work.MATMUL), True),
        ((Work.MATMUL, Work.LOW_POWER, Work.MATMUL), True),
        ((Work.TENSOR_UNKNOWN, Work.LOW_POWER, Work.TENSOR_UNKNOWN), True),
        ((Work.TENSOR_UNKNOWN, Work.TENSOR_UNKNOWN, Work.TENSOR_UNKNOWN), None),
        ((Work.TENSOR_UNKNOWN, Work.NO_CLEAR_FAULT, Work.TENSOR_UNKNOWN), None),
        ((Work.MATMUL, Work.POWER_UNCLEAR, Work.MATMUL), None),
        ((Work.MATMUL, Work.MATMUL, Work.MATMUL), False),
        ((Work.MATMUL, Work.NO_CLEAR_FAULT, Work.MATMUL), False),
        ((Work.MATMUL, Work.TENSOR_IDLE, Work.LOW_POWER), False),
        ((Work.DISAGREE, Work.TENSOR_IDLE, Work.MATMUL), False),
    ],
)
def test_a_burn_proves_the_gate_only_by_telling_both_kinds_of_busy_apart(works, proven):
    found = burnt(*(work.value for work in works))
    assert found.proven is proven
    assert bool(found.why) is (proven is not True)


def test_a_card_whose_gemm_let_the_gate_down_is_loaded_no_further():
    loaded = []

    def shown(work):
        loaded.append(work)
        return Work.TENSOR_IDLE.value

    assert burn_of(shown).proven is False
    assert loaded == ["gemm"]
    says = {"gemm": Work.MATMUL.value, "spin": Work.TENSOR_IDLE.value}
    asked = []
    assert burn_of(lambda work: (asked.append(work), says[work])[1]).proven is True
    assert asked == ["gemm", "spin", "gemm"]
