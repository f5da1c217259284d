"""Files that do not answer hold up nobody but their owner."""

import queue
import threading

from pfid.adapters.descriptor_inspector import (
    AT_ONCE_PER_USER,
    DEADLINE_S,
    DescriptorInspector,
    Inspection,
)


class Bench:
    """An inspector whose looks at descriptor 0 hang until they are let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.done: queue.Queue[Inspection] = queue.Queue()
        self.inspector = DescriptorInspector(self._look, self.done.put)

    def _look(self, fd: int) -> str:
        if fd == 0:
            self.let_go.wait(20)
        return "" if fd < 9 else "no file"

    def finish(self, now_s: float) -> Inspection:
        inspection = self.done.get(timeout=20)
        self.inspector.finished(inspection, now_s)
        return inspection


def test_a_look_says_what_is_wrong():
    bench = Bench()
    bench.inspector.submit(Inspection(uid=1, fds=[1, 9], tag=1), 0.0)
    assert bench.finish(0.0).problem == "no file"


def test_a_user_whose_files_hang_is_given_up_and_others_are_served():
    bench = Bench()
    for tag in range(AT_ONCE_PER_USER + 1):
        bench.inspector.submit(Inspection(uid=1, fds=[0], tag=tag), 0.0)
    bench.inspector.submit(Inspection(uid=2, fds=[1], tag=99), 0.0)
    assert bench.finish(0.0).tag == 99
    assert bench.inspector.overdue(DEADLINE_S - 0.1) == []
    late = bench.inspector.overdue(DEADLINE_S)
    assert {i.tag for i in late} == set(range(AT_ONCE_PER_USER + 1))
    assert [i.tag for i in late if not i.begun] == [AT_ONCE_PER_USER]
    assert bench.inspector.overdue(DEADLINE_S + 1) == []
    bench.let_go.set()
    for _ in range(AT_ONCE_PER_USER):
        assert bench.finish(DEADLINE_S).given_up
    bench.inspector.submit(Inspection(uid=1, fds=[1], tag=100), 3.0)
    assert bench.finish(3.0).problem == ""
