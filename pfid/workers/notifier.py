"""``python -m pfid.workers.notifier``: tells people what failed, beside the daemon.

A process of its own: a webhook that hangs or a plugin that crashes costs its own notices and
nothing else. One thread a channel; it ends when the daemon does (its stdin closes), and when a
channel hangs, for a thread cannot be ended: it is started again and goes on with that notice.
"""

import contextlib
import os
import select
import signal
import sqlite3
import sys
import time
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

import msgspec

from pfid.policy.telling import Happened, given_up, notices, wait_s
from pfid.spec.notice import Notice
from pfid.wire.notify import NotifyOrder, NotifyReport
from pfid.workers.notify_channels import PROBLEM_CHARS, Channel, channels
from pfid.workers.notify_command import end_running
from pfid.workers.notify_queue import EventQueue, Unread

LOOK_EVERY_S: Final = 0.5
EXIT_HUNG: Final = 4
LOOK_AT_HANGS_S: Final = 5.0
FINISH_S: Final = 2.0
"""On the way out a notice that is being taken is waited for: it is not to be told twice."""
_out = Lock()


class Teller:
    """Tells one channel everything, in order, for as long as it takes."""

    def __init__(self, channel: Channel, queue: EventQueue, host: str, over: Event) -> None:
        """Take who is told, of what, from where, and what says that it is over."""
        self._channel = channel
        self._over = over
        self._queue = queue
        self._host = host
        self._attempts = self._failed = 0
        self._telling_since_s: float | None = None

    def hangs(self, limit_s: float) -> bool:
        """Whether one notice has been on its way for longer than that; a failure then, and said."""
        since_s = self._telling_since_s
        if since_s is None or time.monotonic() - since_s <= limit_s:
            return False
        self._failed += 1
        self._report(f"hangs: it has not taken a notice within {limit_s:g} s")
        return True

    def run(self) -> None:
        """Until it is over."""
        self._report("")
        while not self._over.is_set():
            try:
                waiting = self._queue.next(self._channel.name)
            except (sqlite3.Error, OSError) as problem:
                self._report(f"the queue cannot be read: {problem}")
                waiting = []
            for queued in waiting:
                if not self._done_with(queued):
                    return
                self._queue.told(self._channel.name, queued.event_id)
            if not waiting:
                self._over.wait(LOOK_EVERY_S)

    def _done_with(self, queued: Happened | Unread) -> bool:
        """Tell everything of an event, or say that nobody can; False if it is over first."""
        if isinstance(queued, Unread):
            self._failed += 1
            self._report(f"event {queued.event_id} is told to nobody: {queued.problem}")
            return True
        told = all(self._told(news) for news in notices(queued, self._host))
        for problem in queued.unread:
            self._report(problem)
        return told

    def _told(self, news: Notice) -> bool:
        """Until it is taken, or is no news any more; False if it is over first."""
        failures = 0
        while not given_up(news.at_s, time.time()):
            self._attempts += 1
            self._telling_since_s = time.monotonic()
            try:
                self._channel.tell(news)
            except (Exception, SystemExit) as problem:  # noqa: BLE001 - whatever a channel raises
                self._telling_since_s = None
                failures += 1
                self._failed += 1
                self._report(f"{type(problem).__name__}: {problem}")
                if self._over.wait(wait_s(failures)):
                    return False
            else:
                self._telling_since_s = None
                self._report("")
                return True
        self._failed += 1
        self._report(f"given up event {news.event_id}")
        return True

    def _report(self, problem: str) -> None:
        report = NotifyReport(
            channel=self._channel.name,
            attempts=self._attempts,
            failed=self._failed,
            problem=problem[:PROBLEM_CHARS],
        )
        with _out, contextlib.suppress(OSError):
            sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
            sys.stdout.buffer.flush()


def main() -> None:
    """Read the order, then tell until the daemon is gone."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=NotifyOrder)
    queue = EventQueue(Path(order.state_file), Path(order.cursors))
    over = Event()
    tellers = [Teller(channel, queue, order.host, over) for channel in channels(order)]
    threads = [Thread(target=teller.run, daemon=True) for teller in tellers]
    # A service manager asks every process of the unit to end; this one ends after its daemon.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    for thread in threads:
        thread.start()
    while not _over_within(min(order.hung_s / 4, LOOK_AT_HANGS_S)):
        if [teller for teller in tellers if teller.hangs(order.hung_s)]:  # each is to be said
            end_running()
            os._exit(EXIT_HUNG)
    over.set()
    ends_at = time.monotonic() + FINISH_S
    for thread in threads:
        thread.join(max(ends_at - time.monotonic(), 0.0))
    end_running()
    os._exit(0)  # a channel that hangs is not waited for any longer


def _over_within(wait_s: float) -> bool:
    """Whether the daemon is gone; waits so long at the most to see it."""
    ready, _, _ = select.select([sys.stdin.buffer], [], [], wait_s)
    return bool(ready) and not sys.stdin.buffer.read(1)


if __name__ == "__main__":
    main()
