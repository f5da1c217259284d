"""Which GPUs are missing, and the world of GPUs on its way to another process."""

import msgspec

from pfid.spec.fakes_gpus import CONTROL_GPU_SUBJECT, CONTROL_UUID, gemm_reference, gpu_state, gpus
from pfid.spec.ports.gpus import GpuCount, GpuHolder
from pfid.spec.world import World
from pfid.wire.worlds import WorldData, world_data, world_from

HERE = frozenset({"0000:01:00.0", "0000:02:00.0"})


def test_a_gpu_that_was_seen_or_is_on_the_bus_and_does_not_answer_is_missing():
    count = GpuCount(
        visible=HERE, remembered=HERE | {"0000:03:00.0"}, on_bus=HERE | {"0000:04:00.0"}
    )
    assert count.missing == {"0000:03:00.0", "0000:04:00.0"}
    assert count.expected == 4


def test_a_bus_that_cannot_be_read_takes_nothing_away():
    count = GpuCount(visible=HERE, remembered=HERE, on_bus=None)
    assert (count.missing, count.expected) == (frozenset(), 2)


def test_the_configured_number_is_the_last_word():
    assert GpuCount(visible=HERE, remembered=HERE, configured=8).expected == 8


def test_a_run_that_has_ended_is_no_longer_on_a_gpu():
    gone = GpuHolder(pid=1, run_id="old-run", run_ended=True)
    alive = GpuHolder(pid=2, run_id="new-run")
    assert gpu_state(holders=(gone, alive)).holder_runs == {"new-run"}
    assert gpu_state(holders=None).holder_runs == frozenset()


def test_the_world_of_a_gpu_survives_the_way_to_the_plugin_worker():
    world = World(
        subject=CONTROL_GPU_SUBJECT,
        gpus=gpus(gpu_state(reference=gemm_reference()), held=None),
    )
    body = msgspec.msgpack.encode(world_data(world, ("gpus",)))
    there = world_from(msgspec.msgpack.decode(body, type=WorldData))
    (state,) = there.gpus.all()
    assert there.subject.id == CONTROL_UUID
    assert (state.samples, state.holders, state.reference) == (
        world.gpus.all()[0].samples,
        world.gpus.all()[0].holders,
        gemm_reference(),
    )
    assert there.gpus.mine() is None
    assert there.gpus.count() == world.gpus.count()
    assert there.gpus.sampler() == world.gpus.sampler()
