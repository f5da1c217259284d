"""A check of a run that reads GPUs is asked again when it could say something else."""

from types import SimpleNamespace

import pytest
from pfid_plugins.watch import gpu_shared_unexpectedly, gpu_work_kind

from pfid.daemon.box_judging import BoxJudging
from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.gpu_worlds import LiveGpus
from pfid.daemon.gpus import Gpus
from pfid.daemon.judging import Judging
from pfid.daemon.messages import GpuHeard
from pfid.daemon.tracked import Judged
from pfid.domain.gpu import NVML, GpuFacts, GpuProcess, GpuSample, XidEvent
from pfid.domain.names import RunId
from pfid.domain.process_stat import ProcStat
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.fakes import FixedSteps, moving, run_world
from pfid.spec.world import World
from pfid.wire.gpu import Read

CARD = GpuFacts(uuid="GPU-a", index=0, name="a", pci_bus_id="0000:0a:00.0")
RUN = Entity(EntityKind.RUN, "run-1")
MIB = 1024**2


def read(*listed, facts=None):
    processes = tuple(GpuProcess(pid=pid, memory_bytes=used) for pid, used in listed)
    sample = GpuSample(uuid="GPU-a", at_s=100.0, utilization=1.0, power_w=1.0, processes=processes)
    return Read(sampler=NVML, at_s=100.0, samples=(sample,), facts=facts)


def asks_for_the_time(plugin, box):
    noted = []
    live = LiveGpus(box, RUN, 10.0, note=lambda: noted.append(1))
    steps = FixedSteps(moves=moving())
    plugin.observe(World(subject=RUN, run=run_world().run, steps=steps, gpus=live))
    return bool(noted)


def test_who_is_on_a_card_does_not_change_by_time_alone_and_what_it_does_does():
    box = GpuBox()
    assert not asks_for_the_time(gpu_work_kind, box), "a box without GPUs costs nothing"
    box.read(read(facts=(CARD,)), 10.0, lambda _: None)
    assert asks_for_the_time(gpu_work_kind, box)
    assert not asks_for_the_time(gpu_shared_unexpectedly, box)


@pytest.fixture
def heard():
    """Tell what a sampler reads; returns what the checks were told to look at again."""
    return hearing(GpuBox())


def hearing(box):
    told = []
    processes = SimpleNamespace(
        inspect=lambda pid: ProcStat(
            pid=pid,
            comm="x",
            state="S",
            parent_pid=1,
            process_group=pid,
            session=pid,
            start_ticks=5,
            cpu_ticks=0,
        ),
        owner=lambda _: 1001,
        username=str,
    )
    core = SimpleNamespace(
        gpus=box,
        runs={},
        by_pid={},
        samplers={},
        changes=[],
        snapshot_stale=False,
        sampled=lambda *_, **__: None,
        monotonic_s=lambda: 10.0,
        ports=SimpleNamespace(processes=processes, log=SimpleNamespace(say=lambda *_, **__: None)),
    )
    gpus = Gpus(core, SimpleNamespace(gpus_changed=lambda of_runs=True: told.append(of_runs)))
    gpus.heard(GpuHeard(report=read((7, 100 * MIB), facts=(CARD,))))

    def hear(*listed):
        told.clear()
        gpus.heard(GpuHeard(report=read(*listed)))
        return told

    hear.core, hear.gpus = core, gpus
    return hear


def test_an_error_belongs_to_the_run_in_whose_tree_the_process_is_that_a_sampler_names(heard):
    """NVML's events name none; a plugin that reads the kernel's log does."""
    heard.core.by_pid[7] = SimpleNamespace(run_id=RUN.id, start_ticks=5, comm="x")
    told = [XidEvent(uuid="GPU-a", code=31, at_s=99.0, pid=pid) for pid in (7, 8, None)]
    report = Read(sampler="kernel", at_s=100.0, samples=(), xids=tuple(told))
    heard.gpus.heard(GpuHeard(report=report))
    (state,) = LiveGpus(heard.core.gpus, RUN, 10.0).all()
    assert [(x.event.pid, x.run_id) for x in state.xids] == [(7, RUN.id), (8, None), (None, None)]


def test_in_a_container_a_run_is_found_by_the_number_the_host_gives_it():
    box = GpuBox(own_pid={4007: 7}.get, pids_are_ours=False)
    heard = hearing(box)
    member = SimpleNamespace(run_id=RUN.id, start_ticks=5, comm="x")
    heard.core.by_pid[7] = member
    ended = SimpleNamespace(uid=1000, username="anna")
    heard.core.runs[RUN.id] = SimpleNamespace(
        run_id=RUN.id, run=ended, defunct=False, end=ended, gpus={}
    )
    heard((4007, 100 * MIB))
    (state,) = LiveGpus(box, RUN, 10.0).mine()
    (holder,) = state.holders
    assert (holder.run_id, holder.pid) == (RUN.id, 7)


def test_checks_of_runs_look_when_somebody_comes_or_takes_much_more(heard):
    assert heard((7, 100 * MIB)) == []
    assert heard((7, 101 * MIB)) == [False], "a little more memory is nothing to a run"
    assert heard((7, 101 * MIB), (8, 300 * MIB)) == [True]
    assert heard((7, 101 * MIB), (8, 900 * MIB)) == [True]
    assert heard((7, 101 * MIB)) == [True]


@pytest.mark.parametrize(("of_runs", "due_s"), [(True, 1015.0), (False, 1110.0)])
def test_they_look_in_their_cadence(of_runs, due_s):
    check = SimpleNamespace(name="c", reads=("run", "gpus"), cadence_s=15.0)
    judged = Judged(due_s=1110.0)
    judged.ran_s = 1000.0
    run = SimpleNamespace(run_id=RunId("run-1"), judged={"c": judged}, final=False)
    core = SimpleNamespace(
        checks=SimpleNamespace(run=(check,), box=(), gpu=()),
        box={},
        gpus=SimpleNamespace(gpus={}),
        living=lambda: [run],
        monotonic_s=lambda: 1005.0,
        due=SimpleNamespace(set=lambda *_: None),
    )
    BoxJudging(core, Judging(core)).gpus_changed(of_runs=of_runs)
    assert judged.due_s == due_s
