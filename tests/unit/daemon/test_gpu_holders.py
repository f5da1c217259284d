"""Whose a process on a GPU is: the run's, a stranger's, nobody's anyone can see, or not known."""

import pytest

from pfid.daemon.gpu_holders import Holders, InTree, RunTree
from pfid.daemon.tracked_gpu import TrackedGpu
from pfid.domain.gpu import GpuFacts, GpuProcess
from pfid.domain.process_stat import ProcStat

MEMBER = InTree(run_id="run-1", start_ticks=100, comm="python", uid=1000, username="anna")
ALIVE = {"run-1": RunTree(ended=False, defunct=False)}
ENDED = {"run-1": RunTree(ended=True, defunct=False)}


class Box:
    """Processes by pid: (start ticks, state)."""

    hides = frozenset()

    def __init__(self, **processes):
        self.processes = {int(pid[1:]): known for pid, known in processes.items()}
        self.names_asked = 0

    def inspect(self, pid):
        if pid not in self.processes:
            return None
        ticks, state = self.processes[pid]
        return ProcStat(
            pid=pid,
            comm="x\x1b[2J",
            state=state,
            parent_pid=1,
            process_group=pid,
            session=pid,
            start_ticks=ticks,
            cpu_ticks=0,
        )

    def owner(self, pid):
        return 1001 if pid in self.processes else None

    def hidden(self, pid):
        return pid in self.hides

    def username(self, uid):
        self.names_asked += 1
        return f"user{uid}"


@pytest.fixture
def gpu():
    return TrackedGpu(facts=GpuFacts(uuid="GPU-a", index=0, name="a", pci_bus_id=""))


def of(gpu, box, *pids, members=None, runs=ALIVE, ours=True):
    listed = tuple(GpuProcess(pid=pid, memory_bytes=10) for pid in pids)
    return Holders(box, pids_are_ours=ours).of(gpu, listed, members or {}, runs)


def test_a_member_of_a_tree_is_the_runs(gpu):
    (holder,) = of(gpu, Box(), 7, members={7: MEMBER})
    assert (holder.run_id, holder.username, holder.run_ended) == ("run-1", "anna", False)
    assert (holder.visible, holder.zombie, holder.memory_bytes) == (True, False, 10)


def test_a_stranger_has_a_user_and_no_run(gpu):
    (holder,) = of(gpu, Box(p7=(5, "S")), 7)
    assert (holder.run_id, holder.username, holder.visible) == (None, "user1001", True)
    assert "\x1b" not in holder.comm


def test_a_pid_that_is_no_process_is_held_by_nobody_anyone_can_see(gpu):
    (holder,) = of(gpu, Box(), 7)
    assert (holder.visible, holder.uid, holder.username, holder.run_id) == (False, None, "", None)


def test_a_process_that_procfs_hides_is_not_nobody(gpu):
    box = Box()
    box.hides = {7}
    hidden, gone = of(gpu, box, 7, 8)
    assert (hidden.visible, gone.visible) == (None, False)


def test_memory_of_an_ended_run_keeps_its_name_while_the_driver_lists_the_pid(gpu):
    of(gpu, Box(), 7, members={7: MEMBER})
    (holder,) = of(gpu, Box(), 7, runs=ENDED)
    assert (holder.run_id, holder.run_ended, holder.visible) == ("run-1", True, False)
    (forgotten,) = of(gpu, Box(), 7, runs={})
    assert (forgotten.run_id, forgotten.run_ended) == ("run-1", True)
    of(gpu, Box())
    (new,) = of(gpu, Box(), 7, runs=ENDED)
    assert new.run_id is None


def test_a_pid_used_anew_is_no_longer_the_runs(gpu):
    of(gpu, Box(), 7, members={7: MEMBER})
    (same,) = of(gpu, Box(p7=(100, "S")), 7)
    assert same.run_id == "run-1"
    (other,) = of(gpu, Box(p7=(999, "S")), 7)
    assert other.run_id is None


@pytest.mark.parametrize(("state", "defunct"), [("Z", False), ("S", True)])
def test_a_zombie_is_one_whether_it_is_the_process_or_its_run(gpu, state, defunct):
    of(gpu, Box(), 7, members={7: MEMBER})
    runs = {"run-1": RunTree(ended=False, defunct=defunct)}
    (holder,) = of(gpu, Box(p7=(100, state)), 7, runs=runs)
    assert holder.zombie


def test_in_a_container_the_numbers_mean_nothing(gpu):
    (holder,) = of(gpu, Box(p7=(5, "S")), 7, members={7: MEMBER}, ours=False)
    assert (holder.visible, holder.run_id, holder.uid, holder.memory_bytes) == (
        None,
        None,
        None,
        10,
    )


def test_in_a_container_those_whose_own_number_is_known_are_told_apart(gpu):
    """The host's procfs is mounted: 4007 is our 7, 4008 our 8, of 4009 we know nothing."""
    known = Holders(Box(p8=(5, "S")), pids_are_ours=False, own_pid={4007: 7, 4008: 8}.get)
    listed = tuple(GpuProcess(pid=pid, memory_bytes=10) for pid in (4007, 4008, 4009))
    assert known.here(listed) == {4007: 7, 4008: 8}
    run, stranger, nobody = known.of(gpu, listed, {7: MEMBER, 4009: MEMBER}, ALIVE)
    assert (run.run_id, run.pid) == ("run-1", 7)
    assert (stranger.run_id, stranger.username) == (None, "user1001")
    assert (nobody.run_id, nobody.visible, nobody.pid) == (None, None, 4009)


def test_a_users_name_is_asked_for_once(gpu):
    box = Box(p7=(5, "S"), p8=(6, "S"))
    of(gpu, box, 7, 8)
    assert box.names_asked == 1
