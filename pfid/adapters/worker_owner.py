"""The owner of one disposable worker: starts it, listens, ends it when silent, starts it anew.

Everything happens in one thread per worker: receiving, sending, the deadline. So a callback that
blocks slows the worker down (its socket fills) and is not held against it: the deadline is only
looked at after everything that came was handed on.
"""

import contextlib
import os
import random
import selectors
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pfid.adapters.worker_events import WorkerCounters, WorkerEvent, WorkerMessage
from pfid.adapters.worker_outbox import WorkerOutbox
from pfid.adapters.worker_process import WorkerCommand, WorkerProcess
from pfid.adapters.worker_size import SizeWatch
from pfid.adapters.worker_tidings import WorkerTidings
from pfid.domain.errors import WireError
from pfid.policy import worker_life
from pfid.policy.worker_life import EndCause, LifeAction, LifePhase, LifeRules
from pfid.wire.framing import MAX_FRAME_BYTES

_LONGEST_WAIT_S: Final = 60.0


class WorkerOwner:
    """One worker at a time, for as long as the owner lives."""

    def __init__(
        self,
        command: WorkerCommand,
        on_event: Callable[[WorkerEvent], None],
        rules: LifeRules | None = None,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        may_start: Callable[[], float] | None = None,
        memory_max_bytes: int | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            command: what to start.
            on_event: called in the owner's thread, in order; it may block and may call ``send``.
            rules: deadlines and back-off.
            max_frame_bytes: the largest message the worker may send.
            may_start: asked before every start, in the owner's thread: 0 to start now, else the
                seconds until it is worth asking again.
            memory_max_bytes: a worker that holds more is ended; None for no limit.
        """
        self._command = command
        self._tidings = WorkerTidings(on_event)
        self._rules = rules or LifeRules()
        self._max_frame_bytes = max_frame_bytes
        self._may_start = may_start or (lambda: 0.0)
        self._size = SizeWatch(memory_max_bytes)
        self._outbox = WorkerOutbox()
        self._generation = 0
        self._releasing = threading.Lock()
        self._stop_asked = False
        self._refused = self._ask_again = False
        self._process: WorkerProcess | None = None
        self._orphan: WorkerProcess | None = None
        self._life = worker_life.new_life(time.monotonic())
        self._selector = selectors.DefaultSelector()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._selector.register(self._wake_fd, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name=command.module, daemon=True)

    def start(self) -> None:
        """Start the thread, and with it the first worker."""
        self._thread.start()

    def close(self, timeout_s: float = 15.0) -> bool:
        """End the worker (TERM, then KILL) and the thread; False if that took too long."""
        if self._thread.ident is not None:
            self._stop_asked = True
            self._wake()
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return False
        self._release()
        return True

    @property
    def counters(self) -> WorkerCounters:
        """Counters up to now; may be read from any thread."""
        life = self._life
        return replace(self._tidings.counters, orphans=int(life.orphan), phase=life.phase)

    def send(self, body: bytes, descriptors: Sequence[int] = (), *, generation: int) -> bool:
        """Queue a message for the worker of that generation; may be called from any thread.

        Args:
            body: encoded, without a frame.
            descriptors: duplicated at once, the caller keeps theirs.
            generation: from ``WorkerStarted``.

        Returns:
            False if that worker is gone; tell its successor when it has started.

        Raises:
            OSError: if a descriptor cannot be duplicated.
            WireError: if it is more than a message can carry.
        """
        listens = self._outbox.put(body, descriptors, generation)
        if listens:
            self._wake()
        return listens

    def ask_again(self) -> None:
        """Ask at once whether a worker may start, if that was refused; from any thread."""
        self._ask_again = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed, once more
            os.eventfd_write(self._wake_fd, 1)

    # Everything below runs in the owner's thread.

    def _run(self) -> None:
        while self._life.phase is not LifePhase.STOPPED:
            self._turn()

    def _turn(self) -> None:
        ready = {key.fd for key, _ in self._selector.select(self._wait_s())}
        if self._wake_fd in ready:
            os.eventfd_read(self._wake_fd)
        self._look_at_orphan(ready)
        self._look_at_worker(ready)
        if self._process is not None and self._size.outgrown(self._process.pid):
            self._condemn(EndCause.OUTGROWN)
        if self._ask_again:
            self._ask_again = False
            if self._refused:
                self._life = worker_life.postponed(self._life, time.monotonic())
        if self._stop_asked and not self._life.stopping:
            self._life, action = worker_life.stop(self._life, self._rules, time.monotonic())
            self._act(action)
        self._life, action = worker_life.tick(self._life, self._rules, time.monotonic(), _jitter())
        self._act(action)

    def _wait_s(self) -> float:
        longest_s = _LONGEST_WAIT_S
        if self._process is not None:
            longest_s = self._size.sooner_s(longest_s)
        if self._life.due_s is None:
            return longest_s
        return min(max(self._life.due_s - time.monotonic(), 0.0), longest_s)

    def _condemn(self, cause: EndCause) -> None:
        now_s = time.monotonic()
        self._life, action = worker_life.condemned(self._life, self._rules, now_s, cause)
        self._act(action)

    def _act(self, action: LifeAction | None) -> None:
        if action is LifeAction.SPAWN:
            self._spawn_or_wait()
        elif action is LifeAction.ABANDON:
            self._abandon()
        elif action is not None and self._process is not None:
            term = action is LifeAction.TERMINATE
            self._process.signal(signal.SIGTERM if term else signal.SIGKILL)

    def _spawn_or_wait(self) -> None:
        wait_s = self._may_start()
        self._refused = wait_s > 0
        if self._refused:
            self._life = worker_life.postponed(self._life, time.monotonic() + wait_s)
        else:
            self._spawn()

    def _spawn(self) -> None:
        try:
            process = WorkerProcess(self._command, self._max_frame_bytes)
        except OSError as error:
            self._life = worker_life.spawn_failed(
                self._life, self._rules, time.monotonic(), _jitter()
            )
            self._tidings.not_started(self._cause, error)
            return
        self._process = process
        for fd in (process.channel.fileno(), process.pidfd, process.output_fd):
            self._selector.register(fd, selectors.EVENT_READ)
        self._generation += 1
        self._outbox.open(self._generation)
        self._life = worker_life.spawned(self._life, self._rules, time.monotonic())
        self._tidings.started(self._generation, process.pid)
        self._post(process)

    def _look_at_worker(self, ready: set[int]) -> None:
        process = self._process
        if process is None:
            return
        if process.output_fd in ready and not process.drain_output():
            self._selector.unregister(process.output_fd)
        if process.channel.fileno() in ready:
            self._receive(process)
        self._post(process)
        if process.pidfd in ready:
            self._reap(process)

    def _post(self, process: WorkerProcess) -> None:
        for body, descriptors in self._outbox.take():
            process.channel.send(body, descriptors)
        process.channel.flush()
        if process.channel.fileno() not in self._selector.get_map():
            return
        waiting = selectors.EVENT_WRITE if process.channel.pending_bytes else 0
        self._selector.modify(process.channel.fileno(), selectors.EVENT_READ | waiting)

    def _receive(self, process: WorkerProcess) -> bool:
        """Hand on what one read brings; False when there is nothing more to read."""
        try:
            bodies = process.channel.receive()
            for body in bodies or ():
                self._tidings.tell(WorkerMessage(generation=self._generation, body=body))
        except WireError:
            self._condemn(EndCause.MALFORMED)
            process.channel.closed = True
            bodies = None
        if bodies:  # only now: the callback's own time is not the worker's silence
            self._life = worker_life.heard(self._life, self._rules, time.monotonic())
        if process.channel.closed:  # one that lives on without its socket meets its deadline
            self._unwatch(process.channel.fileno())
        return bodies is not None

    def _reap(self, process: WorkerProcess) -> None:
        status = process.reap()
        if status is None:
            return
        while self._receive(process):
            pass  # what it said before its end still counts
        process.drain_output()
        self._life = worker_life.ended(self._life, self._rules, time.monotonic(), _jitter())
        self._part_with(process, status)
        os.close(process.pidfd)

    def _abandon(self) -> None:
        process = self._process
        if process is not None:
            self._orphan = process
            self._part_with(process, None)
            self._selector.register(process.pidfd, selectors.EVENT_READ)

    def _part_with(self, process: WorkerProcess, status: int | None) -> None:
        self._outbox.shut()
        for fd in (process.channel.fileno(), process.output_fd, process.pidfd):
            self._unwatch(fd)
        self._process = None
        self._tidings.ended(self._generation, self._cause, process, status)
        process.close()

    def _look_at_orphan(self, ready: set[int]) -> None:
        orphan = self._orphan
        if orphan is None or orphan.pidfd not in ready or orphan.reap() is None:
            return
        self._unwatch(orphan.pidfd)
        os.close(orphan.pidfd)
        self._orphan = None
        self._life = worker_life.orphan_gone(self._life, time.monotonic())

    def _unwatch(self, fd: int) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(fd)

    @property
    def _cause(self) -> EndCause:
        return self._life.cause or EndCause.CRASHED

    def _release(self) -> None:
        with self._releasing:
            if self._wake_fd >= 0:
                self._selector.close()
                os.close(self._wake_fd)
                self._wake_fd = -1


def _jitter() -> float:
    return random.random()  # noqa: S311 - spreads restarts, protects nothing
