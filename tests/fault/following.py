"""An owner of the real log reader as the daemon is one: tells a fresh reader everything again."""

import os
import queue
import threading
import time

import msgspec

from pfid.adapters.worker_events import WorkerEnded, WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.policy.worker_life import EndCause, LifeRules
from pfid.wire.reader import (
    Batch,
    Beat,
    Closed,
    Configure,
    Follow,
    Took,
    Unfollow,
    decode_report,
    encode,
)

READER = WorkerCommand(module="pfid.workers.log_reader")
WAIT_S = 60.0
FAST = Configure(poll_s=0.05, quiet_poll_s=0.1)


class Follower:
    """Follows descriptors; ``reports`` holds every Batch, Closed and WorkerEnded in order."""

    def __init__(self, configure: Configure = FAST, rules: LifeRules | None = None) -> None:
        self.reports: queue.SimpleQueue[Batch | Closed | WorkerEnded] = queue.SimpleQueue()
        self.pid = 0
        self.beats = 0
        self.owner = WorkerOwner(READER, self._on_event, rules)
        self._configure = configure
        self._lock = threading.RLock()
        self._orders: dict[int, tuple[int, Follow]] = {}
        self._generation = 0
        self.owner.start()

    def follow(self, fd: int, order: Follow) -> None:
        with self._lock:
            self._orders[order.stream] = (os.dup(fd), order)
            self.owner.send(encode(order), [fd], generation=self._generation)

    def unfollow(self, stream: int) -> None:
        self.owner.send(encode(Unfollow(stream=stream)), generation=self._generation)

    def took(self, batches: int = 1) -> None:
        self.owner.send(encode(Took(batches=batches)), generation=self._generation)

    def next_batch(self) -> Batch:
        """Return the next batch, over the reader's deaths."""
        while True:
            report = self.reports.get(timeout=WAIT_S)
            if isinstance(report, Batch):
                return report
            assert isinstance(report, WorkerEnded), report

    def steps(self, count: int, stream: int = 1) -> list[int]:
        """Return the next ``count`` step indexes of a stream, and whatever came with the last."""
        found: list[int] = []
        while len(found) < count:
            batch = self.next_batch()
            if batch.stream == stream:
                found += [event.index for event in batch.events]
        return found

    def kill(self, number: int) -> None:
        """Send the present reader a signal, waiting for one to be there."""
        while not (pid := self.pid):
            time.sleep(0.005)
        os.kill(pid, number)

    def close(self) -> None:
        assert self.owner.close()
        for fd, _ in self._orders.values():
            os.close(fd)

    def _on_event(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerStarted):
            with self._lock:
                self._generation, self.pid = event.generation, event.pid
                self.owner.send(encode(self._configure), generation=event.generation)
                for fd, order in self._orders.values():
                    self.owner.send(encode(order), [fd], generation=event.generation)
        elif isinstance(event, WorkerEnded):
            if event.touching is not None and event.cause is EndCause.TIMED_OUT:
                self._forget(event.touching)
            self.pid = 0
            self.reports.put(event)
        elif isinstance(event, WorkerMessage):
            self._on_message(event.body)

    def _on_message(self, body: bytes) -> None:
        report = decode_report(body)
        if isinstance(report, Beat):
            self.beats += 1
            return
        if isinstance(report, Closed):
            self._forget(report.stream)
        else:
            with self._lock:
                fd, order = self._orders[report.stream]
                resumed = msgspec.structs.replace(
                    order,
                    resume_at=report.offset,
                    parser_state=report.parser_state,
                    facts=report.facts,
                )
                self._orders[report.stream] = (fd, resumed)
        self.reports.put(report)

    def _forget(self, stream: int) -> None:
        with self._lock:
            os.close(self._orders.pop(stream)[0])
