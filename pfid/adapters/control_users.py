"""What each user of the control socket may take up: connections, requests a second, bytes."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from pfid.policy import token_bucket
from pfid.wire.control import Refused

ROOT: Final = 0
MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What one user may do; root is not counted.

    Attributes:
        connections: at a time.
        connections_in_all: of everybody.
        requests_per_s: over all connections.
        requests_burst: that may be saved up.
        request_bytes: of requests that came and are not answered, over all connections.
        reply_bytes: of replies that were not read; over it only refusals are sent.
    """

    connections: int = 64
    connections_in_all: int = 1024
    requests_per_s: float = 200.0
    requests_burst: float = 1000.0
    request_bytes: int = 4 * MIB
    reply_bytes: int = 16 * MIB


class Users:
    """Counts; one connection is one number ``conn``."""

    def __init__(self, allowance: Allowance) -> None:
        """Nobody is there yet."""
        self._allowance = allowance
        self._conns: Counter[int] = Counter()
        self._buckets: dict[int, token_bucket.Bucket] = {}
        self._held: dict[int, tuple[int, int]] = {}
        self._requests: Counter[int] = Counter()
        self._replies: Counter[int] = Counter()

    def admits(self, uid: int) -> bool:
        """Whether another connection of this user may be."""
        if self._conns.total() >= self._allowance.connections_in_all:
            return False
        return uid == ROOT or self._conns[uid] < self._allowance.connections

    def joined(self, uid: int) -> None:
        """A connection was taken."""
        self._conns[uid] += 1

    def left(self, uid: int, conn: int) -> None:
        """It is gone, and what it held with it."""
        self.holds(uid, conn, request_bytes=0, reply_bytes=0)
        del self._held[conn]
        self._conns[uid] -= 1
        if not self._conns[uid]:
            for counts in (self._conns, self._requests, self._replies):
                counts.pop(uid, None)

    def holds(self, uid: int, conn: int, *, request_bytes: int, reply_bytes: int) -> None:
        """Note what a connection holds now."""
        before = self._held.get(conn, (0, 0))
        self._held[conn] = (request_bytes, reply_bytes)
        self._requests[uid] += request_bytes - before[0]
        self._replies[uid] += reply_bytes - before[1]

    def sends_too_much(self, uid: int) -> bool:
        """Whether its requests hold more memory than they may."""
        return uid != ROOT and self._requests[uid] > self._allowance.request_bytes

    def reads_too_little(self, uid: int) -> bool:
        """Whether its unread replies hold more memory than they may."""
        return uid != ROOT and self._replies[uid] > self._allowance.reply_bytes

    def within_rate(self, uid: int, now_s: float) -> bool:
        """Count a request; False if it is one too many."""
        if uid == ROOT:
            return True
        rules = self._allowance
        bucket = self._buckets.get(uid) or token_bucket.full(
            rules.requests_per_s, rules.requests_burst, now_s
        )
        self._buckets[uid], granted = token_bucket.take(bucket, now_s)
        return granted


def over(what: str) -> Refused:
    """The refusal of one thing too many."""
    return Refused(
        code="quota",
        message=f"too many {what} of this user",
        remedy="close some, or ask for fewer; root is not counted",
    )
