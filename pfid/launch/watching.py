"""Seeing to it that somebody watches the run, for as long as its launcher lives.

A thread: neither the child's start nor its end waits for a watcher. It registers with the box's
daemon, again when somebody else binds the socket (a restart); without a daemon it starts the
run's own engine, and again should that die. New files are handed over when they appear.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pfid.domain.errors import ControlError, StateError
from pfid.launch.ports import RunFiles, Watchers
from pfid.launch.watcher_link import WatcherLink
from pfid.wire.control import Done, Ended, HandOver
from pfid.wire.handing import FileNews, OpenFile
from pfid.wire.record import RunRecord

ROUND_S: Final = 1.0
"""How long a new file or a restarted daemon may go unnoticed."""

_ENGINE_STARTS_MAX: Final = 5
_DAEMON_RESTART_S: Final = 20.0
"""How long a daemon that went away is waited for before an engine is started."""
_ENGINE_UP_S: Final = 30.0
_LAST_WORD_S: Final = 3.0
"""How long a watcher may hold up a launcher whose child has ended."""
_FIRST_ROUNDS_S: Final = 0.05
"""While an engine comes up it is asked more often."""


class Watching:
    """One run's watchers."""

    def __init__(
        self,
        record: RunRecord,
        pidfd: int,
        watchers: Watchers,
        close: Callable[[int], None],
        say: Callable[[str], None],
    ) -> None:
        """Start the thread.

        Args:
            record: of the run.
            pidfd: of the run's process; stays the caller's.
            watchers: who may watch.
            close: closes a descriptor.
            say: tells the person at the terminal.
        """
        self._record = record
        self._pidfd = pidfd
        self._watchers = watchers
        self._close = close
        self._say = say
        self._files: RunFiles = watchers.files(record.logs, record.run_id)
        self._daemon = WatcherLink(record, watchers.daemon_socket, "the box's daemon")
        self._engine = WatcherLink(record, watchers.engine_socket(record.run_id), "its own engine")
        self._engine_pidfd: int | None = None
        self._engine_starts = 0
        self._engine_due_s = 0.0
        self._over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._wake.wait(self._round())
            if self._over:
                return
            with self._files.watched(self._wake.set):
                self._go_round()
        except Exception as error:  # noqa: BLE001 - the run goes on whatever happens to its watching
            self._say(f"watching {self._record.run_id} failed: {error}; the run goes on")

    def _at_the_end(self, step: Callable[[], None]) -> None:
        """One of the last steps, in the launcher's own thread: what fails there keeps none up."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the run has ended as it did, watched or not
            self._say(f"the end of {self._record.run_id} is not told in full: {error}")

    def _go_round(self) -> None:
        while True:
            self._wake.clear()
            if self._over:
                return
            self._wake.wait(self._round())

    def _round(self) -> float:
        """Look after every link once; seconds until the next round."""
        was_watched = self._daemon.registered
        self._look_after(self._daemon)
        if was_watched and not self._daemon.registered:
            self._engine_due_s = time.monotonic() + _DAEMON_RESTART_S
        if not self._daemon.registered and self._engine_due():
            self._start_engine()
        if self._engine_pidfd is not None:
            self._look_after(self._engine)
        self._hand_over_news()
        waiting = self._engine_pidfd is not None and not self._engine.registered
        return _FIRST_ROUNDS_S if waiting and self._engine.recently_begun() else ROUND_S

    def _look_after(self, link: WatcherLink) -> None:
        if not link.due(self._watchers.binding(link.socket)):
            return
        files = self._files.open_all()
        try:
            self._register(link, files)
        finally:
            self._close_all(files)

    def _register(self, link: WatcherLink, files: Sequence[OpenFile]) -> None:
        try:
            self._say(link.register(self._watchers, self._pidfd, files))
        except ControlError as error:
            if link.worth_saying(error):
                self._say(f"{link.title} does not watch {self._record.run_id}: {error}")

    def _engine_due(self) -> bool:
        if self._engine_pidfd is not None and self._watchers.engine_runs(self._engine_pidfd):
            return False
        return self._engine_starts < _ENGINE_STARTS_MAX and time.monotonic() >= self._engine_due_s

    def _start_engine(self) -> None:
        self._engine.forget()
        self._forget_engine()
        self._engine_starts += 1
        self._engine_due_s = time.monotonic() + 2.0**self._engine_starts
        try:
            self._engine_pidfd = self._watchers.start_engine(self._record.run_id)
        except StateError as error:
            self._say(f"{error}; {self._record.run_id} goes on unwatched")
            self._engine_starts = _ENGINE_STARTS_MAX
            return
        if self._engine_starts == _ENGINE_STARTS_MAX:
            folder = self._watchers.engine_socket(self._record.run_id).parent
            self._say(f"its engine keeps ending (see {folder}/engine.log); no further tries")

    def _forget_engine(self) -> None:
        if self._engine_pidfd is not None:
            self._close(self._engine_pidfd)
            self._engine_pidfd = None

    def _hand_over_news(self) -> None:
        links = [link for link in (self._daemon, self._engine) if link.registered]
        if not links:
            self._files.look()
            return
        news = self._files.news()
        try:
            told = [self._tell_news(link, news) for link in links]
        finally:
            self._close_all([*news.added, *news.logs_replaced])
        if all(told):
            self._files.taken()

    def _tell_news(self, link: WatcherLink, news: FileNews) -> bool:
        return self._hand_over(link, news.added, replace=False) and self._hand_over(
            link, news.logs_replaced, replace=news.all_logs_replaced
        )

    def _hand_over(self, link: WatcherLink, files: Sequence[OpenFile], *, replace: bool) -> bool:
        if not files:
            return True
        request = HandOver(
            run_id=self._record.run_id,
            roles=[file.role for file in files],
            logs=[file.handed for file in files],
            replace_logs=replace,
        )
        try:
            link.tell(self._watchers, request, [file.descriptor for file in files])
        except ControlError as error:
            self._say(f"{link.title} did not take a file of {self._record.run_id}: {error}")
            return False
        return True

    def _close_all(self, files: Sequence[OpenFile]) -> None:
        for file in files:
            self._close(file.descriptor)

    def finish(self, ended: Ended, within_s: float = _LAST_WORD_S) -> None:
        """Tell whoever watches how it ended; an engine that is not up yet is told later."""
        self._over = True
        self._wake.set()
        self._thread.join(within_s)
        if not self._thread.is_alive():
            # A new log may have been written to since the last round.
            self._at_the_end(self._hand_over_news)
        for link in (self._daemon, self._engine):
            if link.registered:
                self._at_the_end(partial(self._tell_end, link, ended))
        if not self._daemon.registered and not self._engine.registered:
            self._say_if_unwatched()
            self._at_the_end(partial(self._tell_later, ended))
        self._forget_engine()
        self._files.close()

    def _say_if_unwatched(self) -> None:
        """Over a short run an engine may not be up yet; one that is gone will never be."""
        pidfd = self._engine_pidfd
        gone = pidfd is not None and not self._watchers.engine_runs(pidfd)
        if gone or self._engine_starts > 1:
            log = self._watchers.engine_socket(self._record.run_id).parent / "engine.log"
            self._say(f"nobody watches {self._record.run_id}: its engine ended (see {log})")

    def _tell_end(self, link: WatcherLink, ended: Ended) -> None:
        try:
            reply = link.tell(self._watchers, ended, [], _LAST_WORD_S)
        except ControlError as error:
            self._say(f"{link.title} was not told how {self._record.run_id} ended: {error}")
            return
        left = reply.left if isinstance(reply, Done) else None
        if link is self._daemon and left is not None and left.passed:
            self._watchers.keep(self._record, left)

    def _tell_later(self, ended: Ended) -> None:
        """Register and tell in the background: a run may be shorter than its engine's start.

        Its files are opened now: the next run of the name may put its own log in their place
        before the engine is up.
        """
        if self._engine_pidfd is None:
            return
        link, files, news = self._engine, self._files.open_all(), self._files.news()

        def deliver() -> None:
            deadline_s = time.monotonic() + _ENGINE_UP_S
            while time.monotonic() < deadline_s:
                if link.due(self._watchers.binding(link.socket)):
                    self._register(link, files)
                if link.registered:
                    self._tell_news(link, news)
                    self._tell_end(link, ended)
                    return
                time.sleep(_FIRST_ROUNDS_S)

        try:
            self._watchers.in_background(deliver)
        finally:
            self._close_all([*files, *news.added, *news.logs_replaced])
