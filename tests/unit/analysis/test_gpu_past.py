"""What a GPU did stays bounded, evenly spread, in pairs, and goes on where it was."""

import pytest

from pfid.analysis.gpu_past import KEPT_MAX, GpuPastKeeper
from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.domain.gpu_reference import GpuReference

CARD = GpuFacts(uuid="GPU-a", index=3, name="H200", pci_bus_id="0000:0a:00.0")
GEMM = GpuReference(
    uuid="GPU-a", tflops=700.0, power_w=640.0, power_limit_w=700.0, at_s=1.0, driver="580"
)


def sample(power_w, utilization=0.5, **more):
    return GpuSample(
        uuid="GPU-a",
        at_s=0.0,
        utilization=utilization,
        power_w=power_w,
        power_limit_w=700.0,
        **more,
    )


def filled(n, keeper=None):
    keeper = keeper or GpuPastKeeper.of(CARD)
    for i in range(keeper.seen, n):
        keeper.add(sample(float(i)), GEMM)
    return keeper


def test_few_samples_are_all_kept_with_what_they_are_held_against():
    past = filled(5).past()
    assert past.power_w == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert past.utilization == (0.5,) * 5
    assert (past.uuid, past.index, past.name, past.seen) == ("GPU-a", 3, "H200", 5)
    assert (past.power_limit_w, past.reference) == (700.0, GEMM)


@pytest.mark.parametrize("n", [KEPT_MAX, KEPT_MAX + 1, 2 * KEPT_MAX + 1, 1_000, 86_400])
def test_however_many_come_those_kept_are_bounded_and_evenly_spread(n):
    past = filled(n).past()
    assert len(past.power_w) == len(past.utilization)
    assert KEPT_MAX / 2 <= len(past.power_w) <= KEPT_MAX
    gaps = {b - a for a, b in zip(past.power_w, past.power_w[1:], strict=False)}
    assert len(gaps) == 1
    assert past.power_w[0] == 0.0
    assert n - 1 - past.power_w[-1] < gaps.pop(), "the newest are not missed"
    assert past.seen == n


def test_a_sample_without_one_of_the_two_says_nothing():
    keeper = GpuPastKeeper.of(CARD)
    assert not keeper.add(sample(None), None)
    assert not keeper.add(sample(3.0, utilization=None), None)
    assert keeper.add(sample(3.0), None)
    assert keeper.past().power_w == (3.0,)


@pytest.mark.parametrize("n", [1, KEPT_MAX, KEPT_MAX + 7, 4_321])
def test_it_goes_on_where_it_was_as_if_nothing_had_been(n):
    again = GpuPastKeeper.restored(filled(n).past())
    assert again.past() == filled(n).past()
    assert filled(n + 500, again).past() == filled(n + 500).past()
