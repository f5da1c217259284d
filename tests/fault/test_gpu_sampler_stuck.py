"""GPU samplers that not even KILL ends: in a driver's call that waits in the kernel for ever.

The wait is a real one: a read of a file whose file system does not answer, in state D after KILL.
"""

import queue
import time
from pathlib import Path

import pytest
from nvml_shim import H200, uuid

from pfid.adapters.gpu_worker import GpuSaid, GpuSamplerGone, GpuWorker
from pfid.policy.worker_life import LifePhase, LifeRules
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import Read

pytestmark = [pytest.mark.full, pytest.mark.root]
WAIT_S = 60.0
RULES = LifeRules(
    start_deadline_s=30.0,
    deadline_s=1.5,
    term_grace_s=0.2,
    kill_grace_s=0.5,
    backoff_first_s=0.05,
    backoff_max_s=0.1,
)


class Watching:
    """The sampler's owner, and what it was told."""

    def __init__(self):
        self.events = queue.SimpleQueue()
        self.worker = GpuWorker(self.events.put, interval_s=0.1, rules=RULES)
        self.worker.start()

    @property
    def pid(self):
        return self.worker.owner._process.pid

    @property
    def counters(self):
        return self.worker.counters

    def next(self, wanted):
        while not wanted(event := self.events.get(timeout=WAIT_S)):
            pass
        return event

    def gone(self):
        return self.next(lambda e: isinstance(e, GpuSamplerGone))

    def read(self, *uuids):
        """Wait for a reading of these cards and no others."""

        def those(event):
            said = event.report if isinstance(event, GpuSaid) else None
            return isinstance(said, Read) and {s.uuid for s in said.samples} == set(uuids)

        return self.next(those)


@pytest.fixture
def watching():
    made = Watching()
    yield made
    made.worker.close(WAIT_S)


def until(fact):
    ends_s = time.monotonic() + WAIT_S
    while not fact():
        assert time.monotonic() < ends_s
        time.sleep(0.01)


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_one_is_left_behind_and_beside_a_second_none_is_started(nvml, hostile_file, request):
    nvml.play(H200, H200, H200)
    file = hostile_file("hang_read")
    watching = request.getfixturevalue("watching")
    stuck = f"stuck {file.path}"
    watching.read(*map(uuid, range(3)))
    first = watching.pid
    nvml.change(2, temperature=stuck)
    gone = watching.gone()
    assert (gone.problem, gone.index) == (SamplerProblem.HUNG, 2)
    assert (state(first), watching.counters.orphans) == ("D", 1), "KILL did not take"
    watching.read(uuid(0), uuid(1))
    second = watching.pid
    nvml.change(1, temperature=stuck)
    until(lambda: watching.counters.phase is LifePhase.STUCK)
    assert {state(first), state(second)} == {"D"}
    for _ in range(20):  # whatever wakes its owner
        watching.worker.owner._wake()
        time.sleep(0.05)
    counters = watching.counters
    assert (counters.phase, counters.starts, counters.orphans) == (LifePhase.STUCK, 2, 1)
    assert Path(f"/proc/{second}").exists()
    nvml.change(1, temperature=50)
    nvml.change(2, temperature=50)
    file.answer_with_errors()
    watching.read(uuid(0))
    assert (watching.counters.starts, watching.counters.orphans) == (3, 0)
