"""What steps report reaches the judgement of a GPU, and only where it is the GPU's own."""

import pytest
from pfid_plugins.watch import gpu_work_kind

from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.gpu_views import gpus_view
from pfid.daemon.gpu_worlds import LiveGpus
from pfid.domain.gpu import NVML, GpuFacts, GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import WorkKind
from pfid.domain.inside import Achieved
from pfid.spec.fakes import CONTROL_SUBJECT, FixedClock, FixedSteps, moving, run_world
from pfid.spec.fakes_gpus import CONTROL_HOLDER
from pfid.spec.world import World
from pfid.wire.gpu import Opened, Read

CARDS = tuple(
    GpuFacts(uuid=f"GPU-{name}", index=i, name=name, pci_bus_id=f"0000:0{name}:00.0")
    for i, name in enumerate("ab")
)
MEASURED = {"tflops": 300.0, "power_w": 290.0, "power_limit_w": 300.0, "driver": "580"}


def said(flops_per_s, *, ranks=1, recompute=None):
    return lambda: Achieved(
        window_s=60.0,
        steps=9,
        ranks=ranks,
        flops_per_s=flops_per_s,
        recompute_flops_per_s=recompute,
    )


def busy(facts, at_s):
    """The playbook's card: fully busy, at the power of its own dense GEMM."""
    fields = {"utilization": 1.0, "power_w": 288.0, "power_limit_w": 300.0}
    return GpuSample(uuid=facts.uuid, at_s=at_s, window_s=1.0, **fields)


@pytest.fixture
def box():
    """Two cards for a minute and a half, the run on the first."""
    box = GpuBox()
    box.opened(Opened(sampler=NVML, driver="580"), 0.0)
    for second in range(90):
        samples = tuple(busy(card, 100.0 + second) for card in CARDS)
        report = Read(sampler=NVML, at_s=100.0 + second, samples=samples, facts=CARDS)
        box.read(report, 10.0 + second, lambda _: None)
    for gpu in box.gpus.values():
        gpu.holders = ()
        gpu.reference = GpuReference(uuid=gpu.facts.uuid, at_s=1.0, **MEASURED)
    hold(box, "GPU-a")
    return box


def hold(box, *uuids):
    for uuid in uuids:
        box.gpus[uuid].holders = (CONTROL_HOLDER,)


def live(box, reported):
    return LiveGpus(box, CONTROL_SUBJECT, 99.0, reported)


def test_what_is_computed_again_is_work_of_the_card_as_well(box):
    achieved = live(box, said(2e14, recompute=1e14)).achieved()
    assert (achieved.flops_per_s, achieved.window_s) == (3e14, 60.0)


def test_ranks_share_the_cards_they_are_on(box):
    hold(box, "GPU-a", "GPU-b")
    assert live(box, said(4e14, ranks=2)).achieved().flops_per_s == 2e14
    assert live(box, said(4e14, ranks=4)).achieved().flops_per_s == 2e14


def test_fewer_reporting_ranks_than_cards_tell_nothing_of_one_card(box):
    hold(box, "GPU-a", "GPU-b")
    assert live(box, said(4e14, ranks=1)).achieved() is None


def test_nothing_is_made_up_where_nobody_says_or_nobody_is_on_a_card(box):
    assert live(box, said(None)).achieved() is None
    assert live(box, lambda: None).achieved() is None
    assert LiveGpus(box, CONTROL_SUBJECT, 99.0).achieved() is None
    box.gpus["GPU-a"].holders = ()
    assert live(box, said(1e14)).achieved() is None


@pytest.mark.parametrize(
    ("flops_per_s", "reason"),
    [(2.7e13, "sm_busy_tensor_idle"), (2.5e14, "matmul_bound")],
    ids=["the playbook's 27 of 304", "a healthy run"],
)
def test_the_check_acquits_and_convicts_by_it_where_no_counter_tells(box, flops_per_s, reason):
    def judged(reported):
        world = World(
            subject=CONTROL_SUBJECT,
            clock=FixedClock(),
            run=run_world().run,
            steps=FixedSteps(moves=moving()),
            gpus=live(box, reported).frozen(),
        )
        return gpu_work_kind.judge(gpu_work_kind.observe(world), gpu_work_kind.Limits()).reason

    assert judged(lambda: None) == "tensor_activity_unknown"
    assert judged(said(flops_per_s)) == reason


def test_the_list_of_gpus_says_the_same_as_the_check(box):
    assert gpus_view(box, 99.0, {}).gpus[0].kind is WorkKind.UNKNOWN
    view = gpus_view(box, 99.0, {}, achieved={"GPU-a": 2.7e13, "GPU-b": 2.5e14})
    assert [gpu.kind for gpu in view.gpus] == [WorkKind.NOT_MATMUL, WorkKind.MATMUL]
