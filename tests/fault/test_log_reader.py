"""The real reader on real files: killed, stopped, flooded; no event lost and none doubled."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from following import WAIT_S

from pfid.adapters.worker_events import WorkerEnded
from pfid.formats.log_stream import LogParser
from pfid.policy.worker_life import EndCause, LifeRules
from pfid.wire.reader import Batch, Closed, CloseReason, Configure, Follow, StreamKind
from pfid.workers.followed_file import CHUNK_BYTES

STEPS = StreamKind.STEPS


def step_line(step: int) -> bytes:
    return b'{"step":%d,"seconds":0.5}\n' % step


class Log:
    """A file with a writer, and a descriptor to hand over."""

    def __init__(self, path: Path, *, append: bool = True) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0)
        self.writer = os.open(path, flags, 0o644)
        self.fd = os.open(path, os.O_RDONLY)

    def write(self, data: bytes) -> None:
        assert os.write(self.writer, data) == len(data)

    def close(self) -> None:
        os.close(self.writer)
        os.close(self.fd)


@pytest.fixture
def log(tmp_path: Path):
    log = Log(tmp_path / "train.log")
    yield log
    log.close()


def mixed_text(lines: int) -> bytes:
    """Bars of one writer, messages, NULs, bytes that are no UTF-8, a megabyte without an end."""
    chance = random.Random(7)
    parts = []
    for n in range(1, lines + 1):
        clock = b"%d:%02d:%02d" % (n * 3 // 3600, n * 3 // 60 % 60, n * 3 % 60)
        parts.append(b"\r  1%%|#  | %d/90000 [%s<99:00,  3.00s/it]" % (n, clock))
        if n % 5 == 0:
            parts.append(b"\n\xff\xfe\x00 saving \x1b[31mcheckpoint\x1b[0m\n")
        if n % 100 == 0:
            parts.append(b"{'loss': '%.3f', 'epoch': '0.1'}\n" % chance.random())
        if n == lines // 2:
            parts.append(b"x" * 1_000_000 + b"\n")
    return b"".join(parts) + b"\n"


def single_pass(data: bytes) -> list[tuple[int, float | None]]:
    parser = LogParser()
    return [(e.index, e.seconds) for e in [*parser.feed(data, None), *parser.finish()]]


def test_a_reader_killed_again_and_again_loses_and_doubles_nothing(follower, log: Log):
    """Written in pieces cut anywhere, the reader killed in the middle of lines."""
    following = follower(rules=LifeRules(backoff_first_s=0.01, backoff_max_s=0.02))
    data = mixed_text(3000)
    following.follow(log.fd, Follow(stream=1))
    chance = random.Random(3)
    got: list[tuple[int, float | None]] = []
    position, kills, offset = 0, 0, 0
    while position < len(data):
        size = chance.randint(1, 60_000)
        log.write(data[position : position + size])
        position = min(position + size, len(data))
        if kills < 12 and chance.random() < 0.5:
            time.sleep(chance.random() * 0.05)
            following.kill(signal.SIGKILL)
            kills += 1
            while not isinstance(report := following.reports.get(timeout=WAIT_S), WorkerEnded):
                got += [(e.index, e.seconds) for e in report.events]
                offset = report.offset
            assert report.cause is EndCause.CRASHED
            assert report.status == -signal.SIGKILL
    while offset < len(data):
        batch = following.next_batch()
        got += [(e.index, e.seconds) for e in batch.events]
        offset = batch.offset
    assert kills >= 5, "the fault was delivered"
    expected = single_pass(data)
    assert len(expected) > 2000
    assert got == expected


def test_a_stopped_reader_meets_its_deadline_and_its_successor_goes_on(follower, log: Log):
    rules = LifeRules(deadline_s=1.0, start_deadline_s=20, term_grace_s=0.2, kill_grace_s=5)
    following = follower(rules=rules)
    following.follow(log.fd, Follow(stream=1, kind=STEPS))
    log.write(step_line(1) + b'{"step":2,')
    assert following.steps(1) == [1]
    following.kill(signal.SIGSTOP)
    log.write(b'"seconds":0.5}\n')
    report = following.reports.get(timeout=WAIT_S)
    while not isinstance(report, WorkerEnded):
        report = following.reports.get(timeout=WAIT_S)
    assert report.cause is EndCause.TIMED_OUT
    assert report.status == -signal.SIGKILL, "a stopped process takes no TERM"
    assert following.steps(1) == [2]


def test_what_stood_before_the_run_is_counted_and_not_replayed(follower, log: Log):
    log.write(step_line(1) * 50)
    begins_at = os.fstat(log.fd).st_size
    following = follower()
    following.follow(log.fd, Follow(stream=1, kind=STEPS, begins_at=begins_at))
    batch = following.next_batch()
    assert batch.events == ()
    assert batch.facts.bytes_before_run == begins_at
    log.write(step_line(2))
    assert following.steps(1) == [2]


def test_truncation_and_a_rename_are_followed_and_said(follower, log: Log):
    following = follower()
    following.follow(log.fd, Follow(stream=1, kind=STEPS))
    log.write(step_line(1) + step_line(2))
    assert following.steps(2) == [1, 2]
    os.truncate(log.path, 0)
    log.write(step_line(3))
    assert following.steps(1) == [3]
    log.path.rename(log.path.with_suffix(".1"))
    log.path.write_bytes(step_line(99))
    log.write(step_line(4))
    assert following.steps(1) == [4], "the descriptor's file, not whatever has its name now"
    while not (batch := following.next_batch()).facts.moved:
        pass
    assert batch.facts.truncations == 1


def test_copytruncate_under_a_writer_that_keeps_its_place(follower, tmp_path: Path):
    log = Log(tmp_path / "train.log", append=False)
    following = follower()
    following.follow(log.fd, Follow(stream=1))
    line = b"iter %d: loss 3.2101, time 345.12ms, mfu 31.20%%\n"
    log.write(b"".join(line % n for n in range(1, 20)))
    first = following.steps(19)
    os.truncate(log.path, 0)
    log.write(b"".join(line % n for n in range(20, 30)))
    assert log.path.read_bytes()[:1] == b"\0", "the fault was delivered"
    later = following.steps(10)
    assert (first[-1], later) == (19, list(range(20, 30)))
    log.close()


def test_a_flood_does_not_starve_the_quiet_ones(follower, tmp_path: Path):
    """64 MB stand in one log; what comes in another one is told long before all of it is read."""
    flood, quiet = Log(tmp_path / "flood.log"), Log(tmp_path / "quiet.jsonl")
    size = 64 << 20
    flood.write(mixed_text(2000))
    os.truncate(flood.path, size)
    following = follower()
    following.follow(flood.fd, Follow(stream=1))
    following.follow(quiet.fd, Follow(stream=2, kind=STEPS))
    for step in range(1, 4):
        quiet.write(step_line(step))
        offset = 0
        while True:
            batch = following.next_batch()
            if batch.stream == 2 and batch.events:
                assert [event.index for event in batch.events] == [step]
                break
            offset = max(offset, batch.offset if batch.stream == 1 else 0)
        assert offset < size
    flood.close()
    quiet.close()


def test_what_is_over_a_users_bytes_a_second_waits_and_nobody_elses(follower, tmp_path: Path):
    """Half a megabyte is a debt of minutes at 4 KiB a second; others do not pay it."""
    flood, own, other = (Log(tmp_path / name) for name in ("flood.log", "own", "other"))
    os.truncate(flood.path, 1 << 40)
    own.write(step_line(1))
    other.write(step_line(2))
    configure = Configure(poll_s=0.05, quiet_poll_s=0.1, bytes_per_s=4096)
    following = follower(configure=configure)
    following.follow(flood.fd, Follow(stream=1, uid=7))
    batches = [following.next_batch()]
    while not batches[-1].offset:
        batches.append(following.next_batch())
    following.follow(own.fd, Follow(stream=2, uid=7, kind=STEPS))
    following.follow(other.fd, Follow(stream=3, uid=8, kind=STEPS))
    for step in (3, 4):
        while not (batches[-1].stream == 3 and batches[-1].events):
            batches.append(following.next_batch())
        other.write(step_line(step))
        batches.append(following.next_batch())
    told = {stream: [b for b in batches if b.stream == stream] for stream in (1, 2, 3)}
    assert [e.index for b in told[3] for e in b.events][:2] == [2, 3]
    assert [e.index for b in told[2] for e in b.events] == []
    assert max(b.offset for b in told[1]) == CHUNK_BYTES
    for log in (flood, own, other):
        log.close()


@pytest.mark.full
def test_five_hundred_streams_are_followed_together(follower, tmp_path: Path):
    logs = [Log(tmp_path / f"{n}.jsonl") for n in range(500)]
    following = follower()
    for n, log in enumerate(logs):
        log.write(step_line(n))
        following.follow(log.fd, Follow(stream=n, kind=STEPS))
    first = _one_step_each(following, 500)
    assert first == {n: n for n in range(500)}
    following.kill(signal.SIGKILL)
    for n, log in enumerate(logs):
        log.write(step_line(n + 1))
    assert _one_step_each(following, 500) == {n: n + 1 for n in range(500)}
    for log in logs:
        log.close()


def _one_step_each(following, count: int) -> dict[int, int]:
    found: dict[int, int] = {}
    while len(found) < count:
        batch = following.next_batch()
        for event in batch.events:
            assert batch.stream not in found, "a step came twice"
            found[batch.stream] = event.index
    return found


def test_unfollowing_reads_to_the_end_and_takes_the_last_line(follower, log: Log):
    following = follower()
    following.follow(log.fd, Follow(stream=1, kind=STEPS))
    following.next_batch()
    log.write(step_line(1) + step_line(2).rstrip())
    following.unfollow(1)
    events = []
    while isinstance(report := following.reports.get(timeout=WAIT_S), Batch):
        events += [event.index for event in report.events]
    assert events == [1, 2]
    assert report == Closed(stream=1, why=CloseReason.UNFOLLOWED)


def test_a_fifo_and_a_state_of_nonsense_are_refused_by_name(follower, log: Log, tmp_path: Path):
    following = follower()
    os.mkfifo(tmp_path / "fifo")
    fifo = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    following.follow(fifo, Follow(stream=1))
    report = following.reports.get(timeout=WAIT_S)
    assert report == Closed(stream=1, why=CloseReason.NOT_REGULAR)
    following.follow(log.fd, Follow(stream=2, resume_at=0, parser_state={"parser": [], "seam": []}))
    report = following.reports.get(timeout=WAIT_S)
    assert isinstance(report, Closed)
    assert report.why is CloseReason.BAD_STATE
    os.close(fifo)


def test_a_reader_out_of_descriptors_says_so_and_follows_what_it_has(follower, tmp_path: Path):
    logs = [Log(tmp_path / f"{n}.jsonl") for n in range(40)]
    following = follower()
    while not following.beats:
        time.sleep(0.01)
    open_now = len(os.listdir(f"/proc/{following.pid}/fd"))  # noqa: PTH208
    resource_limit(following.pid, open_now + 20)
    lost, found = set(), {}
    for n, log in enumerate(logs):
        log.write(step_line(n))
        following.follow(log.fd, Follow(stream=n, kind=STEPS))
    while len(lost) + len(found) < len(logs):
        report = following.reports.get(timeout=WAIT_S)
        if isinstance(report, Closed):
            assert report.why is CloseReason.NO_DESCRIPTOR
            lost.add(report.stream)
        elif isinstance(report, Batch) and report.events:
            found[report.stream] = report.events[0].index
    assert lost, "the fault was delivered"
    assert found
    assert all(stream == index for stream, index in found.items()), "no log under another's name"
    for log in logs:
        log.close()


def resource_limit(pid: int, descriptors: int) -> None:
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, descriptors))


def test_an_owner_that_is_slow_is_sent_no_more_than_it_said(follower, log: Log):
    """Six megabytes stand ready; two batches may be under way. Waiting, the reader still beats."""
    log.write(b"a line that says nothing\n" * 250_000)
    size = log.path.stat().st_size
    following = follower(configure=Configure(poll_s=0.05, quiet_poll_s=0.1, batches_max=2))
    following.follow(log.fd, Follow(stream=1))
    offsets = [following.next_batch().offset for _ in range(2)]
    beats = following.beats
    while following.beats < beats + 4:
        time.sleep(0.01)
    assert following.reports.empty()
    while offsets[-1] < size:
        following.took()
        offsets.append(following.next_batch().offset)
    assert len(offsets) > 8
    assert offsets == sorted(set(offsets))
    assert following.reports.empty()
