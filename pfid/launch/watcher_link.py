"""One watcher of a run, as its launcher sees it: registered there or not, and with whom."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pfid.domain.errors import ControlError
from pfid.launch.ports import Watchers
from pfid.policy.baseline import EarlierRun
from pfid.wire.control import Refused, Register, Registered, Reply, Request, Role
from pfid.wire.handing import OpenFile
from pfid.wire.record import RunRecord

_RETRY_FIRST_S: Final = 0.25
_RETRY_MAX_S: Final = 10.0
_REGISTER_TIMEOUT_S: Final = 10.0
_YOUNG_S: Final = 15.0


class WatcherLink:
    """Registers a run at one socket, once for every process that binds there."""

    def __init__(self, record: RunRecord, socket: Path, title: str) -> None:
        """Nothing is asked yet."""
        self.socket = socket
        self.title = title
        self._record = record
        self.forget()

    def forget(self) -> None:
        """Begin afresh."""
        self.registered = False
        self._binding: tuple[int, ...] | None = None
        self._begun_s = time.monotonic()
        self._retry_s = _RETRY_FIRST_S
        self._next_try_s = 0.0
        self._last_error = ""

    def recently_begun(self) -> bool:
        """Whether the watcher may still be coming up."""
        return time.monotonic() - self._begun_s < _YOUNG_S

    def due(self, binding: tuple[int, ...] | None) -> bool:
        """Whether to register now.

        Args:
            binding: changes whenever somebody binds the socket anew; None if nobody has.
        """
        if binding is None:
            self.registered = False
            return False
        if binding != self._binding:
            self.registered = False
            self._next_try_s = 0.0
            self._retry_s = _RETRY_FIRST_S
            self._binding = binding
        return not self.registered and time.monotonic() >= self._next_try_s

    def register(self, watchers: Watchers, pidfd: int, files: Sequence[OpenFile]) -> str:
        """Hand the run over; returns what to tell the person.

        Raises:
            ControlError: if nobody answers, or it is refused; tried again later.
        """
        self._next_try_s = time.monotonic() + self._retry_s
        self._retry_s = min(_RETRY_MAX_S, self._retry_s * 2)
        request = registration(self._record, files, watchers.earlier(self._record))
        reply = self.tell(watchers, request, [pidfd, *(file.descriptor for file in files)])
        self.registered = True
        self._last_error = ""
        url = reply.metrics_url if isinstance(reply, Registered) else None
        where = "" if url is None else f"; metrics at {url}"
        return f"{self._record.run_id} is watched by {self.title}{where}"

    def tell(
        self,
        watchers: Watchers,
        request: Request,
        fds: Sequence[int],
        timeout_s: float = _REGISTER_TIMEOUT_S,
    ) -> Reply:
        """Ask on a connection of its own: a user's connections are counted, runs may be many.

        Raises:
            ControlError: if nobody answers, or it is refused.
        """
        asked = watchers.connect(self.socket)
        try:
            reply = asked.call(request, fds, timeout_s)
        finally:
            asked.close()
        if isinstance(reply, Refused):
            raise ControlError(f"{reply.message} ({reply.code}). {reply.remedy}".strip())
        return reply

    def worth_saying(self, error: ControlError) -> bool:
        """Whether this failure is news; a watcher that comes up is given time."""
        text = str(error)
        fresh = text != self._last_error and not self.recently_begun()
        refused = text != self._last_error and "nobody answers" not in text
        self._last_error = text
        return fresh or refused


def registration(
    record: RunRecord, files: Sequence[OpenFile], earlier: Sequence[EarlierRun] = ()
) -> Register:
    """What a watcher is told of a run."""
    return Register(
        name=record.name,
        run_id=record.run_id,
        pid=record.process.pid,
        start_ticks=record.process.start_ticks,
        started_at_s=record.started_at_s,
        source=record.source,
        attempt=record.attempt,
        expect_step_s=record.expect_step_s,
        fit=record.fit,
        fingerprint=record.fingerprint,
        earlier=list(earlier),
        job_id=record.job_id,
        rank=record.rank,
        world_size=record.world_size,
        restarts_left=record.restarts_left,
        roles=[Role.PIDFD, *(file.role for file in files)],
        logs=[file.handed for file in files],
    )
