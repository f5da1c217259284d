"""What the loop has done for it, by whoever built it, and what comes back from beside it."""

from collections.abc import Callable
from dataclasses import dataclass

from pfid.domain.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What was made beside the loop and is taken now.

    Attributes:
        asked: connections that waited for it.
        problem: what went wrong, "" if nothing.
        reload: whether it was a reload of the configuration, else a proof of the gates.
        another: whether another reload has been asked for meanwhile.
    """

    asked: tuple[int, ...] = ()
    problem: str = ""
    reload: bool = False
    another: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the loop sets going.

    Attributes:
        page: makes and serves the metrics page if it is worth it; says in how many seconds it wants
            to be called again.
        reload: begins to read the configuration again and to prove the gates under it; for a
            connection that waits for it, or for a signal.
        prove: begins to prove the gates again: all of them for a connection, else what is due.
        came: takes what was made beside the loop.
        live: enters what live drills came to, by check.
        alerts: enters what the alert rules came to, by key of proof.
    """

    page: Callable[[Callable[[], Snapshot], bool], float]
    reload: Callable[[int | None], None]
    prove: Callable[[int | None], None]
    came: Callable[[], Came]
    live: Callable[[dict[str, bool]], None]
    alerts: Callable[[dict[str, bool]], None]
