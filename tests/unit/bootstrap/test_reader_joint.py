"""What the reader says reaches the loop: news at once, a beat with whatever comes next."""

import pytest

from pfid.adapters.worker_events import WorkerMessage
from pfid.bootstrap.daemon_joints import ReaderJoint
from pfid.daemon.messages import ReaderTold
from pfid.wire.reader import Beat, Closed, CloseReason, encode

NEWS = Closed(stream=1, why=CloseReason.UNFOLLOWED)


@pytest.mark.parametrize(
    ("report", "woken", "left"), [(Beat(streams=0, busy_s=0.0), 0, 1), (NEWS, 1, 0)]
)
def test_a_beat_wakes_the_loop_for_nothing(report, woken, left):
    posted: list[object] = []
    kept: list[object] = []
    joint = ReaderJoint(posted.append, kept.append)
    try:
        joint._heard(WorkerMessage(generation=3, body=encode(report)))
    finally:
        joint.owner.close()
    assert (len(posted), len(kept)) == (woken, left)
    assert posted + kept == [ReaderTold(generation=3, report=report)]
