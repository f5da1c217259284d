"""The daemon's side of the log reader: keeps every stream followed across the reader's deaths.

It keeps a descriptor of every file and the last batch's offset and state, so a fresh reader goes on
where the dead one's reports end: no event lost, none doubled. A file that hung the reader is held
back for a while, longer each time, so that it cannot take the other logs with it.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from pfid.adapters.descriptors import is_on_fuse
from pfid.adapters.worker_events import (
    WorkerCounters,
    WorkerEnded,
    WorkerEvent,
    WorkerMessage,
    WorkerStarted,
)
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.domain.errors import WireError
from pfid.policy.worker_life import EndCause, LifeRules
from pfid.wire.reader import (
    Batch,
    Beat,
    Closed,
    CloseReason,
    Configure,
    Follow,
    Unfollow,
    decode_report,
    encode,
)
from pfid.workers.closing import CLOSER

READER: Final = WorkerCommand(module="pfid.workers.log_reader")
HELD_FIRST_S: Final = 30.0
HELD_MAX_S: Final = 1800.0
CRASHES_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file hung the reader and is not followed for a while: its evidence is missing.

    Attributes:
        stream: the caller's id.
        for_s: seconds until it is tried again.
        times: how often it has hung the reader.
    """

    stream: int
    for_s: float
    times: int


FollowerReport = Batch | Closed | Held


@dataclass(slots=True, kw_only=True)
class _Stream:
    fd: int
    order: Follow
    leaving: bool = False
    strikes: int = 0
    crashes: int = 0
    held_until_s: float = 0.0


class LogFollower:
    """Follows files by descriptor. Call it from any thread; reports come in the owner's thread."""

    def __init__(
        self,
        on_report: Callable[[FollowerReport], None],
        configure: Configure | None = None,
        rules: LifeRules | None = None,
    ) -> None:
        """Prepare; ``start`` starts the reader.

        Args:
            on_report: may block, which slows the reader down and is not held against it.
            configure: dialects and pace.
            rules: deadlines of the reader.
        """
        self._on_report = on_report
        self._configure = configure or Configure()
        self._lock = threading.RLock()
        self._streams: dict[int, _Stream] = {}
        self._generation = 0
        self._beat: Beat | None = None
        self._owner = WorkerOwner(READER, self._on_event, rules)

    def start(self) -> None:
        """Start the reader."""
        self._owner.start()

    def close(self) -> bool:
        """End the reader and close every descriptor; False if the reader took too long."""
        ended = self._owner.close()
        with self._lock:
            for stream in self._streams.values():
                CLOSER.close(stream.fd)
            self._streams.clear()
        return ended

    @property
    def counters(self) -> WorkerCounters:
        """The reader's life in figures."""
        return self._owner.counters

    @property
    def beat(self) -> Beat | None:
        """The reader's last beat, None before the first."""
        return self._beat

    def follow(self, fd: int, order: Follow) -> None:
        """Follow a file. ``fd`` stays the caller's: it is duplicated.

        One on FUSE is reported closed at once, in the caller's thread, unless FUSE is allowed:
        while its server hangs, a process that has it open can start no other.

        Raises:
            OSError: if it cannot be duplicated.
            ValueError: if the stream id is in use.
        """
        with self._lock:
            if order.stream in self._streams:
                raise ValueError(f"stream {order.stream} is followed already")
            if not self._configure.allow_fuse and is_on_fuse(fd):
                why = CloseReason.FILESYSTEM_REFUSED
                self._on_report(Closed(stream=order.stream, why=why, detail="fuse"))
                return
            stream = _Stream(fd=os.dup(fd), order=order)
            self._streams[order.stream] = stream
            self._send_follow(stream)

    def unfollow(self, stream: int) -> None:
        """Read to the end once more; a last batch and a Closed follow. Unknown ids are ignored."""
        with self._lock:
            known = self._streams.get(stream)
            if known is None:
                return
            known.leaving = True
            self._send(Unfollow(stream=stream))

    def reconfigure(self, configure: Configure) -> None:
        """Take another pace and other dialects, for files followed from now on."""
        with self._lock:
            self._configure = configure
            self._send(configure)

    def _send(self, order: Follow | Unfollow | Configure, fd: int | None = None) -> None:
        descriptors = () if fd is None else (fd,)
        self._owner.send(encode(order), descriptors, generation=self._generation)

    def _send_follow(self, stream: _Stream) -> None:
        if time.monotonic() >= stream.held_until_s:
            self._send(stream.order, stream.fd)
            if stream.leaving:
                self._send(Unfollow(stream=stream.order.stream))

    # Everything below runs in the owner's thread.

    def _on_event(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage):
            self._on_message(event.body)
        elif isinstance(event, WorkerStarted):
            self._on_start(event.generation)
        else:
            self._on_end(event)

    def _on_start(self, generation: int) -> None:
        with self._lock:
            self._generation = generation
            self._send(self._configure)
            for stream in self._streams.values():
                self._send_follow(stream)

    def _on_end(self, event: WorkerEnded) -> None:
        held = None
        with self._lock:
            self._generation = 0
            stream = self._streams.get(event.touching) if event.touching is not None else None
            if stream is not None and _blamed(stream, event.cause):
                held = _struck(stream)
        if held is not None:
            self._on_report(held)

    def _on_message(self, body: bytes) -> None:
        report = decode_report(body)
        if isinstance(report, Beat):
            self._beat = report
            self._retry_held()
            return
        with self._lock:
            stream = self._streams.get(report.stream)
            if stream is None:
                raise WireError(f"the log reader reports on stream {report.stream}, which is none")
            if isinstance(report, Batch):
                stream.order = _resumed(stream.order, report)
                stream.crashes = 0
            else:
                CLOSER.close(self._streams.pop(report.stream).fd)
        self._on_report(report)

    def _retry_held(self) -> None:
        with self._lock:
            for stream in self._streams.values():
                if stream.held_until_s and time.monotonic() >= stream.held_until_s:
                    stream.held_until_s = 0.0
                    self._send_follow(stream)


def _resumed(order: Follow, batch: Batch) -> Follow:
    return msgspec.structs.replace(order, resume_at=batch.offset, parser_state=batch.parser_state)


def _blamed(stream: _Stream, cause: EndCause) -> bool:
    """A hang is the file's fault at once; a crash only when it comes again at the same place.

    Somebody may have killed a reader that happened to be reading this file.
    """
    if cause is EndCause.CRASHED:
        stream.crashes += 1
        return stream.crashes >= CRASHES_MAX
    return cause is EndCause.TIMED_OUT


def _struck(stream: _Stream) -> Held:
    stream.strikes += 1
    for_s = min(HELD_FIRST_S * 2.0 ** (stream.strikes - 1), HELD_MAX_S)
    stream.held_until_s = time.monotonic() + for_s
    return Held(stream=stream.order.stream, for_s=for_s, times=stream.strikes)
