# ruff: noqa: E402 - what is imported stays, so all but this comes without what it never uses.
"""The log reader: follows many handed-over files for the daemon and reports what they say.

Run as ``python -m pfid.workers.log_reader SOCKET_FD CELL_FD`` by an owner (pfid.adapters). It is
disposable: killed at any moment, its successor goes on from the last batch the daemon took.
No file can starve another: each turn reads one chunk of one file, and turns go round; of one
user's files only so many bytes a second.
"""

import errno
import gc
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from pfid.workers.lean_imports import load_lean

load_lean()

from pfid.policy.rations import Rations
from pfid.wire.reader import (
    Beat,
    Closed,
    CloseReason,
    Configure,
    Follow,
    Order,
    Report,
    Took,
    Unfollow,
    decode_order,
    encode,
)
from pfid.workers.admission import Admission
from pfid.workers.arrival import ArrivalClock
from pfid.workers.bond import die_with_owner, inherited
from pfid.workers.channel import Channel
from pfid.workers.closing import CLOSER
from pfid.workers.followed_file import FollowedFile
from pfid.workers.parser_choice import parser_for
from pfid.workers.touch_cell import TouchCell

BEAT_POLLS: Final = 8
FULL_BYTES: Final = 1024 * 1024
"""Reports that the daemon did not take yet; over it nothing is read until it does."""
SLICE_S: Final = 0.05
"""Between two looks at the daemon's orders."""
GARBAGE_OBJECTS: Final = 50_000
FAILURES_MAX: Final = 10
FAILURE_WAIT_S: Final = 2.0


class LogReader:
    """The loop: orders in, looks that are due, turns of reading, beats."""

    def __init__(self, channel: Channel, cell: TouchCell) -> None:
        """Take over both."""
        self._channel = channel
        self._cell = cell
        self._configure = Configure()
        self._admission = Admission()
        self._rations = Rations(0)
        self._clock = ArrivalClock()
        self._files: dict[int, FollowedFile] = {}
        self._backlog: deque[FollowedFile] = deque()
        self._under_way = 0
        self._beat_due_s = 0.0
        self._poll = select.poll()
        self._poll.register(channel.fileno(), select.POLLIN)

    def run(self) -> None:
        """Work until the owner hangs up."""
        while not self._channel.closed:
            self._wait()
            for body in self._channel.receive() or ():
                self._obey(decode_order(body))
            self._channel.flush()
            self._look()
            self._read()
            self._beat()

    def _wait(self) -> None:
        full = self._channel.pending_bytes > 0
        self._poll.modify(self._channel.fileno(), select.POLLIN | (select.POLLOUT if full else 0))
        self._poll.poll(self._wait_s() * 1000)

    def _wait_s(self) -> float:
        now_s = time.monotonic()
        due_s = min((file.due_s for file in self._files.values()), default=self._beat_due_s)
        wait_s = max(min(due_s, self._beat_due_s) - now_s, 0.0)
        if self._full:
            return wait_s
        return min(wait_s, *(self._rations.wait_s(f.uid, now_s) for f in self._backlog), wait_s)

    @property
    def _full(self) -> bool:
        limit = self._configure.batches_max
        if limit and self._under_way >= limit:
            return True
        return self._channel.pending_bytes > FULL_BYTES

    def _obey(self, order: Order) -> None:
        if isinstance(order, Configure):
            self._configure = order
            self._admission = Admission(allow_fuse=order.allow_fuse)
            self._rations = Rations(order.bytes_per_s)
        elif isinstance(order, Follow):
            self._follow(order)
        elif isinstance(order, Unfollow):
            self._unfollow(order.stream)
        elif isinstance(order, Took):
            self._under_way = max(self._under_way - order.batches, 0)

    def _follow(self, order: Follow) -> None:
        fd = self._channel.claim()
        if fd is None:
            self._report(Closed(stream=order.stream, why=CloseReason.NO_DESCRIPTOR))
            return
        self._cell.set(order.stream)
        file = self._opened(fd, order)
        self._cell.clear()
        if file is None:
            CLOSER.close(fd)
            return
        previous = self._files.get(order.stream)
        if previous is not None:
            self._drop(previous, CloseReason.REPLACED)
        self._files[order.stream] = file

    def _opened(self, fd: int, order: Follow) -> FollowedFile | None:
        try:
            refusal = self._admission.refusal(fd)
            if refusal is not None:
                self._report(Closed(stream=order.stream, why=refusal.why, detail=refusal.detail))
                return None
            configure = self._configure
            return FollowedFile(
                fd, order, lambda state: parser_for(order, configure, state), self._clock
            )
        except OSError as error:
            why, detail = CloseReason.READ_FAILED, _named(error)
        except Exception as error:  # noqa: BLE001 - a state from elsewhere must not blind the others
            why, detail = CloseReason.BAD_STATE, _named(error)
        self._report(Closed(stream=order.stream, why=why, detail=detail))
        return None

    def _unfollow(self, stream: int) -> None:
        file = self._files.get(stream)
        if file is None or file.leaving:
            return
        if self._touch(file, lambda: file.look_for_the_last_time(time.monotonic())):
            self._queue_or_leave(file)

    def _look(self) -> None:
        now_s = time.monotonic()
        for file in [file for file in self._files.values() if file.due_s <= now_s]:
            file.schedule(now_s, self._configure.poll_s, self._configure.quiet_poll_s)
            if file.backlog_bytes:
                continue  # its turn comes without a look
            if self._touch(file, partial(file.look, now_s)):
                self._pass_on(file)
                self._queue_or_leave(file)

    def _read(self) -> None:
        now_s = time.monotonic()
        end_s = now_s + SLICE_S
        waiting: list[FollowedFile] = []
        while self._backlog and not self._full and now_s < end_s:
            file = self._backlog.popleft()
            if self._files.get(file.stream) is not file:
                continue
            if self._rations.wait_s(file.uid, now_s) > 0:
                waiting.append(file)
                continue
            before_bytes = file.backlog_bytes
            if self._touch(file, file.read):
                self._rations.took(file.uid, max(0, before_bytes - file.backlog_bytes), now_s)
                self._pass_on(file)
                self._queue_or_leave(file)
            now_s = time.monotonic()
        self._backlog.extend(waiting)

    def _queue_or_leave(self, file: FollowedFile) -> None:
        if file.backlog_bytes:
            if file not in self._backlog:
                self._backlog.append(file)
        elif file.leaving and self._touch(file, file.finish):
            self._pass_on(file)
            self._drop(file, CloseReason.UNFOLLOWED)

    def _touch(self, file: FollowedFile, act: Callable[[], None]) -> bool:
        """Do what may block or fail for this one file; False if it failed."""
        self._cell.set(file.stream)
        try:
            act()
        except OSError as error:
            self._failed(file, error)
            return False
        except Exception as error:  # noqa: BLE001 - one text must not blind the others
            self._drop(file, CloseReason.PARSER_FAILED, error)
            return False
        finally:
            self._cell.clear()
        file.failures = 0
        return True

    def _failed(self, file: FollowedFile, error: OSError) -> None:
        file.failures += 1
        file.due_s = time.monotonic() + FAILURE_WAIT_S
        file.forget_size()
        if file.leaving or file.failures >= FAILURES_MAX:
            self._drop(file, CloseReason.READ_FAILED, error)

    def _drop(self, file: FollowedFile, why: CloseReason, error: Exception | None = None) -> None:
        detail = "" if error is None else _named(error)
        self._files.pop(file.stream, None)
        file.close()
        self._report(Closed(stream=file.stream, why=why, detail=detail))

    def _pass_on(self, file: FollowedFile) -> None:
        batch = file.take_batch()
        if batch is not None:
            self._under_way += 1
            self._report(batch)

    def _beat(self) -> None:
        now_s = time.monotonic()
        if now_s < self._beat_due_s:
            return
        every_s = BEAT_POLLS * self._configure.poll_s
        self._beat_due_s = (now_s // every_s + 1) * every_s  # with the looks at quiet files
        if self._channel.pending_bytes:  # an owner that stands still takes nothing; not due again
            return
        backlog_bytes = sum(file.backlog_bytes for file in self._files.values())
        self._report(
            Beat(streams=len(self._files), busy_s=time.process_time(), backlog_bytes=backlog_bytes)
        )

    def _report(self, report: Report) -> None:
        self._channel.send(encode(report))


def _named(error: Exception) -> str:
    """Return the error's name without its text, which may hold a path or a line of a log."""
    number = getattr(error, "errno", None)
    known = errno.errorcode.get(number) if isinstance(number, int) else None
    return known or type(error).__name__


def main() -> None:
    """Take over what the owner handed down and work until it hangs up."""
    die_with_owner()
    channel, cell = inherited(sys.argv[1:])
    # Steps come and go by the thousand and never in cycles: looking for those took a sixth of
    # the time. They are looked for where garbage that only cycles hold has piled up.
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    LogReader(channel, cell).run()


if __name__ == "__main__":
    main()
