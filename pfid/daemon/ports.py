"""What the loop needs of the outside, as it sees it; bootstrap hands in the adapters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pfid.daemon.messages import Message
from pfid.domain.identity import Identified
from pfid.domain.process_stat import ProcStat
from pfid.policy.baseline import EarlierRun
from pfid.spec.ports.clock import ClockPort
from pfid.wire.control import Reply
from pfid.wire.reader import Order
from pfid.wire.stored import Change, StoredEvent, StoredRun


class Inbox(Protocol):
    """Where every message arrives; one thread takes them."""

    def get(self, timeout: float) -> Message:
        """Take the next; raises queue.Empty if none came in so many seconds."""
        ...

    def get_nowait(self) -> Message:
        """Take the next; raises queue.Empty if there is none."""
        ...

    def empty(self) -> bool:
        """Whether there is nothing to take."""
        ...


class ProcessReading(Protocol):
    """What one process uses now."""

    @property
    def state(self) -> str:
        """One letter, as in /proc/PID/stat."""
        ...

    @property
    def cpu_s(self) -> float:
        """User and system time of the process itself."""
        ...

    @property
    def resident_bytes(self) -> int:
        """Resident memory."""
        ...


class IoReading(Protocol):
    """What one process read and wrote."""

    @property
    def read_bytes(self) -> int:
        """Bytes read."""
        ...

    @property
    def written_bytes(self) -> int:
        """Bytes written."""
        ...


class HeldProcess(Protocol):
    """One process for all time, held by descriptors."""

    pid: int
    pidfd: int

    def read(self) -> ProcessReading | None:
        """Read it; None once it is reaped."""
        ...

    def read_io(self) -> IoReading | None:
        """Read its I/O; None without the right."""
        ...

    def status(self) -> tuple[int | None, int | None] | None:
        """Exit code and signal; None while unknown."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


class ProcessPort(Protocol):
    """The box's processes."""

    def identify(self, pidfd: int) -> Identified | None:
        """Say who it is; None if it is no pidfd."""
        ...

    def hold(self, pid: int, pidfd: int | None = None) -> HeldProcess | None:
        """Hold a process; a given pidfd is taken over if it succeeds."""
        ...

    def hold_ended(self, pid: int, pidfd: int) -> HeldProcess:
        """Hold a process that is over, for its status."""
        ...

    def pids(self) -> set[int]:
        """All processes."""
        ...

    def inspect(self, pid: int) -> ProcStat | None:
        """One line of a stranger."""
        ...

    def username(self, uid: int) -> str:
        """A user's name."""
        ...

    def owner(self, pid: int) -> int | None:
        """A process's user; None if it is gone."""
        ...

    def hidden(self, pid: int) -> bool:
        """Whether there is such a process; asked where procfs shows none."""
        ...


class DeathPort(Protocol):
    """Reports deaths into the inbox."""

    def watch(self, token: int, pidfd: int) -> None:
        """Report the death behind ``pidfd`` as ``token``."""
        ...

    def unwatch(self, pidfd: int) -> None:
        """Forget it."""
        ...


class OomPort(Protocol):
    """The kernel's counts of OOM kills."""

    def box(self) -> int | None:
        """On the box."""
        ...

    def place_of(self, pid: int) -> str | None:
        """Where a process's cgroup counts its own."""
        ...

    def cgroup(self, place: str) -> int | None:
        """Counted there."""
        ...

    def forget(self, place: str) -> None:
        """No run is there any more."""
        ...


class MemoryRoom(Protocol):
    """What there is of memory where it is scantest."""

    @property
    def limit_bytes(self) -> int:
        """Of the box, or a cgroup's limit."""
        ...

    @property
    def available_bytes(self) -> int:
        """What the kernel could still give of it."""
        ...


class MemoryPort(Protocol):
    """Memory of the box and of cgroups."""

    def room(self, place: str | None) -> MemoryRoom | None:
        """For whoever is in the cgroup that counts its OOM kills at ``place``."""
        ...

    def forget(self, place: str) -> None:
        """No run is there any more."""
        ...


class StorePort(Protocol):
    """The state on disk; answers come as messages."""

    def submit(self, changes: Sequence[Change]) -> int:
        """Commit together; the number is reported once it is on disk."""
        ...

    def find_events(
        self,
        deliver: Callable[[tuple[StoredEvent, ...] | None], None],
        *,
        after_id: int,
        subject: str | None,
        synthetic: bool,
        limit: int,
    ) -> None:
        """Read events."""
        ...

    def find_run(
        self,
        deliver: Callable[[StoredRun | None, tuple[StoredEvent, ...]], None],
        run_id: str,
    ) -> None:
        """Read one run and its events."""
        ...

    def find_earlier(
        self,
        deliver: Callable[[tuple[EarlierRun, ...]], None],
        *,
        name: str,
        fingerprint: str,
        uid: int,
        synthetic: bool,
    ) -> None:
        """Read what earlier runs left behind: real ones, or those of a self-test."""
        ...

    def remember(self, name: str, fingerprint: str, left: EarlierRun) -> None:
        """Keep what a run leaves to later ones, where the store itself does not last.

        Once more for the same run, what was kept before is void.
        """
        ...


class ReaderPort(Protocol):
    """The log reader."""

    def order(self, order: Order, fds: Sequence[int], generation: int) -> bool:
        """Send an order to the reader of that generation; False if it is gone."""
        ...


class ReplyPort(Protocol):
    """The control server."""

    def reply(self, conn: int, reply: Reply) -> None:
        """Answer a client."""
        ...


class NotifyPort(Protocol):
    """The service manager, if there is one."""

    def ready(self, status: str) -> None:
        """Watching and listening."""
        ...

    def reloading(self, monotonic_s: float) -> None:
        """Reading the configuration again."""
        ...

    def stopping(self) -> None:
        """On the way out."""
        ...

    def status(self, text: str) -> None:
        """One line."""
        ...

    def watchdog(self) -> None:
        """A complete iteration was made."""
        ...

    def store(self, name: str, fds: Sequence[int]) -> None:
        """Keep descriptors until the next start."""
        ...

    def drop(self, name: str) -> None:
        """Keep them no longer."""
        ...


class LogPort(Protocol):
    """The daemon's own log."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines so far, by level."""
        ...

    def say(self, level: str, event: str, **fields: Any) -> None:
        """Write a line."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All of them."""

    clock: ClockPort
    processes: ProcessPort
    deaths: DeathPort
    oom: OomPort
    memory: MemoryPort
    store: StorePort
    reader: ReaderPort
    replies: ReplyPort
    notify: NotifyPort
    log: LogPort
