"""A user hands over a file on a file system of their own making that never answers."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from following import WAIT_S

from pfid.adapters.worker_events import WorkerEnded
from pfid.policy.worker_life import EndCause, LifeRules
from pfid.wire.reader import Batch, Closed, CloseReason, Configure, Follow, StreamKind, encode
from pfid.workers import closing as closing_module
from pfid.workers.admission import Admission, Refusal
from pfid.workers.closing import Closer

pytestmark = [pytest.mark.full, pytest.mark.root]
REFUSED = Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="fuse")


def test_the_fault_is_real_a_reader_of_it_survives_sigkill(hostile_file):
    file = hostile_file("hang_read")
    reader = subprocess.Popen(
        [sys.executable, "-c", f"import os; os.pread({file.fd}, 1, 0)"], pass_fds=(file.fd,)
    )
    while "read" not in file.requests:
        time.sleep(0.01)
    reader.kill()
    with pytest.raises(subprocess.TimeoutExpired):
        reader.wait(0.5)
    file.answer_with_errors()
    reader.wait()


def test_fuse_is_refused_before_it_is_asked_anything(hostile_file):
    file = hostile_file("hang_all")
    before = file.requests
    assert Admission().refusal(file.fd) == REFUSED
    assert file.requests == before


def test_fuse_of_another_mount_namespace_is_refused_by_its_magic_number(hostile_file):
    file = hostile_file("hang_read", private=True)
    assert "stub" not in Path("/proc/self/mountinfo").read_text(), "the mount is not in our table"
    assert Admission().refusal(file.fd) == REFUSED
    assert "read" not in file.requests


def test_fuse_is_followed_where_the_reader_serves_one_user_alone(hostile_file):
    file = hostile_file("serve")
    assert Admission(allow_fuse=True).refusal(file.fd) is None
    assert os.pread(file.fd, 25, 0) == b'{"step":1,"seconds":0.5}\n'


def test_the_fault_is_real_a_plain_close_hangs(hostile_file):
    file = hostile_file("hang_all")
    duplicate = os.dup(file.fd)

    def close() -> None:
        with contextlib.suppress(OSError):
            os.close(duplicate)

    closing = threading.Thread(target=close)
    closing.start()
    closing.join(0.5)
    assert closing.is_alive()
    assert "flush" in file.requests
    file.answer_with_errors()
    closing.join()


def test_a_close_that_hangs_hangs_alone_and_the_number_is_free(hostile_file):
    file = hostile_file("hang_all")
    closer = Closer()
    handed_over = os.dup(file.fd)
    closer.close(handed_over)
    while "flush" not in file.requests:
        time.sleep(0.01)
    assert not Path(f"/proc/self/fd/{handed_over}").is_symlink()
    assert closer.stuck == 1
    file.answer_with_errors()
    while closer.stuck:
        time.sleep(0.01)
    assert closer.kept == 0


def test_beyond_a_few_stuck_closes_descriptors_are_kept_and_counted(hostile_file, monkeypatch):
    monkeypatch.setattr(closing_module, "STUCK_MAX", 1)
    file = hostile_file("hang_all")
    closer = Closer()
    handed_over = [os.dup(file.fd) for _ in range(2)]
    for fd in handed_over:
        closer.close(fd)
    assert (closer.stuck, closer.kept) == (1, 1)
    assert Path(f"/proc/self/fd/{handed_over[1]}").is_symlink()
    file.answer_with_errors()
    while closer.stuck:
        time.sleep(0.01)
    closer.close(handed_over[1])


def test_a_hostile_file_costs_the_log_reader_nothing(hostile_file, follower, tmp_path: Path):
    """The reader runs already: with such a descriptor open no process can be started at all."""
    following = follower()
    while not following.beats:
        time.sleep(0.01)
    (tmp_path / "steps.jsonl").write_text('{"step":1,"seconds":0.5}\n')
    hidden = hostile_file("hang_read", private=True)
    file = hostile_file("hang_all")
    generation = following.owner.counters.starts
    # Past the daemon's own door, where both are refused already.
    for stream, hostile in ((1, file), (2, hidden)):
        order = encode(Follow(stream=stream))
        following._orders[stream] = (os.dup(0), Follow(stream=stream))
        assert following.owner.send(order, [hostile.fd], generation=generation)
    with (tmp_path / "steps.jsonl").open() as good:
        following.follow(good.fileno(), Follow(stream=3, kind=StreamKind.STEPS))
    closed, steps = set(), 0
    while len(closed) < 2 or not steps:
        report = following.reports.get(timeout=WAIT_S)
        if isinstance(report, Closed):
            assert report.why is CloseReason.FILESYSTEM_REFUSED
            closed.add(report.stream)
        elif isinstance(report, Batch):
            steps += len(report.events)
    assert closed == {1, 2}
    assert following.owner.counters.starts == 1
    file.answer_with_errors()


def test_a_file_that_hangs_the_reader_past_kill_leaves_one_orphan_and_the_others_go_on(
    hostile_file, follower, tmp_path: Path
):
    """FUSE allowed, as in an embedded engine."""
    rules = LifeRules(deadline_s=1.5, start_deadline_s=10, term_grace_s=0.2, kill_grace_s=0.5)
    following = follower(configure=Configure(allow_fuse=True, poll_s=0.05), rules=rules)
    steps_path = tmp_path / "steps.jsonl"
    steps_path.write_text('{"step":1,"seconds":0.5}\n')
    with steps_path.open() as good:
        following.follow(good.fileno(), Follow(stream=1, kind=StreamKind.STEPS))
    assert following.steps(1) == [1]
    file = hostile_file("hang_read")
    following.follow(file.fd, Follow(stream=2))
    report = following.reports.get(timeout=WAIT_S)
    while not isinstance(report, WorkerEnded):
        report = following.reports.get(timeout=WAIT_S)
    assert "read" in file.requests
    assert (report.cause, report.touching, report.status) == (EndCause.TIMED_OUT, 2, None)
    assert following.owner.counters.orphans == 1
    with steps_path.open("a") as more:
        more.write('{"step":2,"seconds":0.5}\n')
    assert following.steps(1) == [2]
    counters = following.owner.counters
    assert (counters.starts, counters.timeouts, counters.orphans) == (2, 1, 1)
    file.answer_with_errors()
    while following.owner.counters.orphans:
        time.sleep(0.01)
