"""One followed file: looks at its size, reads on from its offset, feeds its parser.

Reads by ``pread`` only (the offset is shared with the sender) and never maps the file (its owner
can truncate it). Nothing that stood before ``begins_at`` is read.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec

from pfid.domain.step import StepEvent
from pfid.wire.reader import Batch, Follow
from pfid.workers.arrival import ArrivalClock
from pfid.workers.closing import CLOSER
from pfid.workers.link_name import LinkName
from pfid.workers.seam import Seam
from pfid.workers.text_parser import TextParser

CHUNK_BYTES: Final = 512 * 1024
"""Read in one turn: of many busy files each gets the same share."""
LEAVING_MAX_BYTES: Final = 256 * 1024 * 1024
"""Read at most of a file whose run has ended: one with a hole of terabytes has no end."""
_PARTS: Final = ("parser", "seam", "link", "file")
"""Of a state, in the order in which they are packed."""
_encoder: Final = msgspec.msgpack.Encoder()
_QUIET_SHARE: Final = 0.125
"""A file quiet for t is looked at again after t/8, within the two poll intervals."""


class FollowedFile:
    """The follower of one descriptor, which it owns.

    Attributes:
        stream: the daemon's id.
        fd: the descriptor.
        uid: whose run it is.
        due_s: monotonic time of the next look.
        failures: looks and reads in a row that the file system answered with an error.
        leaving: an Unfollow came: close once everything is read.
    """

    def __init__(
        self, fd: int, order: Follow, make_parser: Callable[[Any], TextParser], clock: ArrivalClock
    ) -> None:
        """Go on from the order's offset and state, or start at ``begins_at``.

        Raises:
            ValueError: if the state is none of ours, DecodeError if it is not even packed;
                likewise whatever the parser raises.
            OSError: if the descriptor's name cannot be read.
        """
        self.stream: Final = order.stream
        self.fd: Final = fd
        self.uid: Final = order.uid
        self.due_s = 0.0
        self.failures = 0
        self.leaving = False
        self._clock = clock
        state = _checked(order.parser_state)
        self._parser = make_parser(state.get("parser"))
        self._seam = Seam.restore(state["seam"]) if state else Seam(order.begins_at)
        self._other_file = order.other_file
        self._identity = _identity(state.get("file"))
        self._link = LinkName(fd, None if order.other_file else state.get("link"))
        self._offset = order.begins_at if order.resume_at is None else order.resume_at
        self._size_bytes = self._offset
        self._seam_checked = False
        self._grew_s = 0.0
        self._seen_all_at_s: float | None = None
        self._written_at_s: float | None = None
        self._events: list[StepEvent] = []
        self._changed = order.resume_at is None or order.other_file
        self._grew = False

    @property
    def backlog_bytes(self) -> int:
        """Bytes known to be there and not read."""
        return max(self._size_bytes - self._offset, 0)

    def look(self, now_s: float) -> None:
        """Learn the size; notice that the file shrank or moved.

        Raises:
            OSError: if the file system refuses.
        """
        status = os.fstat(self.fd)
        self._meet(status)
        self._size_bytes = status.st_size
        self._seam_checked = False
        if self._size_bytes < self._offset or self._is_another():
            self._start_over()
        self._other_file = False
        if self._size_bytes > self._offset:
            self._grew_s = now_s
            before_s = self._seen_all_at_s
            if before_s is not None:
                self._written_at_s = self._clock.written_at_s(status.st_mtime_ns, before_s)
        else:
            self._seen_all_at_s = self._clock.now_s()
        self._changed |= self._link.look(now_s, unlinked=status.st_nlink == 0)

    def _meet(self, status: os.stat_result) -> None:
        """See whether it is another file than the one whose state we go on from.

        Nobody may have told: it took the other's place while no daemon was there.
        """
        found = (status.st_dev, status.st_ino)
        if self._identity not in {None, found}:
            self._other_file = self._changed = True
            self._link = LinkName(self.fd)
        self._identity = found

    def read(self) -> None:
        """Read one chunk and feed it to the parser.

        Raises:
            OSError: if the file system refuses.
        """
        if not self._seam_checked:
            if not self._seam.holds(self._read_at, self._offset):
                self._start_over()
            self._seam_checked = True
        chunk = self._read_at(min(CHUNK_BYTES, self.backlog_bytes), self._offset)
        if not chunk:  # it shrank since the look; the next one will tell
            self._size_bytes = self._offset
            return
        self._offset += len(chunk)
        self._seam.grew(chunk)
        self._events += self._parser.feed(chunk, self._written_at_s)
        self._changed = self._grew = True
        if not self.backlog_bytes:
            self._seen_all_at_s = self._clock.now_s()

    def look_for_the_last_time(self, now_s: float) -> None:
        """Learn what is still to be read; what is written from now on is not.

        Raises:
            OSError: if the file system refuses.
        """
        self.leaving = True
        self.look(now_s)
        self._size_bytes = min(self._size_bytes, self._offset + LEAVING_MAX_BYTES)

    def forget_size(self) -> None:
        """Look again before the next read."""
        self._size_bytes = self._offset

    def finish(self) -> None:
        """Take the last line as it stands."""
        self._events += self._parser.finish()
        self._changed = True

    def schedule(self, now_s: float, poll_s: float, quiet_poll_s: float) -> None:
        """Set ``due_s``; on a grid as wide as the wait, so that many files share one wake-up.

        A wait is ``poll_s`` doubled as often as the silence allows: a wider grid lies on every
        finer one.
        """
        quiet_s = min((now_s - self._grew_s) * _QUIET_SHARE, quiet_poll_s)
        wait_s = poll_s
        while 2 * wait_s <= quiet_s:
            wait_s *= 2
        self.due_s = (now_s // wait_s + 1) * wait_s

    def take_batch(self) -> Batch | None:
        """Return what is new since the last batch, None if nothing is."""
        if not self._changed:
            return None
        facts = self._parser.facts()
        if self._link.moved:
            facts = replace(facts, moved=True)
        batch = Batch(
            stream=self.stream,
            offset=self._offset,
            events=tuple(self._events),
            facts=facts,
            phase=self._parser.phase(),
            activity=self._grew,
            parser_state=self._state(),
        )
        self._events = []
        self._changed = self._grew = False
        return batch

    def close(self) -> None:
        """Close the descriptor."""
        CLOSER.close(self.fd)

    def _read_at(self, n_bytes: int, offset: int) -> bytes:
        return os.pread(self.fd, n_bytes, offset)

    def _is_another(self) -> bool:
        """Whether it took the place of the file that was read so far, and is no copy of it."""
        return self._other_file and not self._seam.is_copy(self._read_at, self._offset)

    def _start_over(self) -> None:
        """The file was emptied, or is another: what is in it now is new, and so begins at 0."""
        self._events += self._parser.finish()  # the line that was cut off
        if self._other_file:
            self._parser.replaced()
        else:
            self._parser.truncated()
        self._changed = True
        self._offset = 0
        self._seam = Seam(0)

    def _state(self) -> bytes:
        """Pack it: the daemon keeps it of every rank of every run, and never looks into it."""
        link, parser = self._link.state(), self._parser.state()
        return _encoder.encode((parser, self._seam.state(), link, self._identity))


def _identity(state: Any) -> tuple[int, int] | None:
    """Device and inode as they were; None in a state of an earlier version."""
    known = isinstance(state, list | tuple) and len(state) == 2
    return (int(state[0]), int(state[1])) if known else None


def _checked(state: Any) -> dict[str, Any]:
    """The parts by name; a state of an earlier version is a map of them."""
    if state is None:
        return {}
    if isinstance(state, bytes):
        parts = msgspec.msgpack.decode(state, type=tuple[Any, Any, Any, Any])
        state = dict(zip(_PARTS, parts, strict=True))
    if not isinstance(state, dict) or not {"parser", "seam"} <= state.keys():
        raise ValueError("the state of a followed file is a map with parser and seam")
    return state
