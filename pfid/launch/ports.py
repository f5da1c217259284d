"""What launching needs of the world; bootstrap hands in the adapters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pfid.domain.identity import ProcessIdentity
from pfid.policy.baseline import EarlierRun
from pfid.policy.identity import Here, Seen
from pfid.policy.job_control import Event
from pfid.policy.rotation import LogSeen, Step
from pfid.wire.control import Reply, Request
from pfid.wire.handing import FileNews, OpenFile
from pfid.wire.record import RecordedLog, RecordedStop, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A living process, captured. Whoever holds this closes ``pidfd``."""

    identity: ProcessIdentity
    pidfd: int


class Processes(Protocol):
    """Processes of this box."""

    def here(self) -> Here:
        """Where pfid itself stands."""
        ...

    def seen(self, pid: int) -> Seen | None:
        """What stands at a pid now."""
        ...

    def hold(self, pid: int) -> Held:
        """Capture a living process.

        Raises:
            ProcessGoneError: if it has ended.
        """
        ...

    def started_at_s(self, start_ticks: int) -> float:
        """Wall time of a start."""
        ...


class Records(Protocol):
    """The user's records."""

    def run_dir(self, run_id: str) -> Path:
        """Folder of a run."""
        ...

    def lock_file(self, name: str) -> Path:
        """Lock of a name."""
        ...

    def log_lock_files(self, log_paths: Sequence[str]) -> Sequence[Path]:
        """Locks of logs, by where each really lies, in the order in which all take them."""
        ...

    def make_run_dir(self, run_id: str, ranks: int, *, instrumented: bool = False) -> Path:
        """Make the folder of a run with its step files, which say that the run is instrumented.

        Raises:
            StateError: if it cannot be made.
        """
        ...

    def discard_run_dir(self, run_id: str) -> None:
        """Remove the folder of a run that never came to be."""
        ...

    def reported_steps(self, run_id: str) -> bool:
        """Whether any of its step files holds a step."""
        ...

    def commit(self, record: RunRecord) -> None:
        """Write a record.

        Raises:
            StateError: if it cannot be written.
        """
        ...

    def point_to(self, record: RunRecord) -> None:
        """Make it the latest of its name.

        Raises:
            StateError: if it cannot be written.
        """
        ...

    def latest(self, name: str) -> tuple[list[RunRecord], list[str]]:
        """What may live under a name, and what is corrupt."""
        ...

    def current(self) -> list[RunRecord]:
        """The latest run of every name."""
        ...

    def stop_of(self, run_id: str) -> RecordedStop | None:
        """Who stopped a run."""
        ...


class NameLock(Protocol):
    """One launch of a name at a time."""

    def __call__(self, file: Path, wait_s: float) -> AbstractContextManager[None]:
        """Hold the lock.

        Raises:
            LaunchError: if somebody else keeps it.
        """
        ...


class LogFiles(Protocol):
    """The file system under the logs."""

    def observe(self, path: Path) -> LogSeen:
        """Look at what stands there.

        Raises:
            LaunchError: if its folder cannot be used.
        """
        ...

    def carry_out(self, steps: Sequence[Step]) -> int | None:
        """Do all steps or none; the new log's descriptor, if the plan makes one.

        Raises:
            NameTakenError: if a name was taken meanwhile.
            LaunchError: if a step fails.
        """
        ...

    def file_id(self, descriptor: int) -> str:
        """Which file that is, "" where it cannot be told."""
        ...

    def text_digest(self, head: bytes) -> str:
        """Digest of how a log begins."""
        ...


class Gated(Protocol):
    """A child that waits to be let go."""

    pid: int

    def release(self) -> None:
        """Let it become its command.

        Raises:
            ExecError: if it cannot.
        """
        ...

    def abandon(self) -> None:
        """Let it go without having started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSpawn:
    """A child to be started: its command, environment and output."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    output: int


class Children(Protocol):
    """Starting a child and waiting for it, with the terminal between."""

    def find(self, command: str, search_path: str | None) -> None:
        """See whether a command exists before anything is touched.

        Raises:
            ExecError: if not.
        """
        ...

    def spawn(self, start: ToSpawn) -> Gated:
        """Fork a child that waits at its gate, in its own group, signals blocked from here on."""
        ...

    def wait(self, pid: int) -> Event:
        """Wait for the next thing to happen."""
        ...

    def pause(self, seconds: float) -> int | None:
        """Sleep; a signal ends it and is returned."""
        ...

    def signal_child(self, pidfd: int, number: int) -> None:
        """Signal the child alone; one that has ended is no matter."""
        ...

    def signal_group(self, pid: int, number: int) -> None:
        """Signal the group of an unreaped child."""
        ...

    def terminal_is_ours(self) -> bool:
        """Whether the launcher has the foreground now."""
        ...

    def lend_terminal(self, pid: int) -> None:
        """Give the child the foreground, if the launcher has it."""
        ...

    def take_terminal(self, pid: int) -> None:
        """Take the foreground back from the child."""
        ...

    def suspend(self) -> None:
        """Stop with the whole job until the shell continues it."""
        ...


class RunFiles(Protocol):
    """A run's logs and step files by path, as its user sees them."""

    def open_all(self) -> list[OpenFile]:
        """Open every one that exists now; of a rotated log what ``news`` goes on from."""
        ...

    def news(self) -> FileNews:
        """What is new: files that came, logs whose path holds another file now."""
        ...

    def look(self) -> None:
        """Keep what stands at the logs' paths now: nobody may be there to be told."""
        ...

    def taken(self) -> None:
        """Whoever watches has what was opened: nothing older need be kept."""
        ...

    def close(self) -> None:
        """Let go of what is kept."""
        ...

    def watched(self, changed: Callable[[], None]) -> AbstractContextManager[None]:
        """While the context is open, call ``changed`` when a log's path holds another file.

        Only sooner than ``news`` would be asked anyway: what it misses, the next look finds.
        """
        ...


class Asked(Protocol):
    """An open connection to a daemon or engine."""

    def call(
        self, request: Request, fds: Sequence[int] = (), timeout_s: float | None = None
    ) -> Reply:
        """Ask.

        Raises:
            ControlError: if it is not answered.
        """
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Watchers(Protocol):
    """Who may watch: the box's daemon, or an engine for this run alone."""

    @property
    def daemon_socket(self) -> Path:
        """Of the box's daemon."""
        ...

    def engine_socket(self, run_id: str) -> Path:
        """Of the run's own engine."""
        ...

    def binding(self, socket: Path) -> tuple[int, ...] | None:
        """What changes whenever somebody binds there anew; None if nothing is there."""
        ...

    def connect(self, socket: Path) -> Asked:
        """Connect.

        Raises:
            ControlError: if nobody answers.
        """
        ...

    def start_engine(self, run_id: str) -> int:
        """Start the run's own engine; a pidfd of it.

        Raises:
            StateError: if it cannot be started.
        """
        ...

    def engine_runs(self, pidfd: int) -> bool:
        """Whether the engine that was started still runs."""
        ...

    def files(self, logs: Iterable[RecordedLog], run_id: str) -> RunFiles:
        """The run's files."""
        ...

    def earlier(self, record: RunRecord) -> Sequence[EarlierRun]:
        """What the user's earlier runs of the same work left."""
        ...

    def keep(self, record: RunRecord, left: EarlierRun) -> None:
        """Keep what a run leaves with the user's own, whoever watches the next one."""
        ...

    def in_background(self, work: "Deliver") -> None:
        """Let a process of its own go on with ``work`` after the launcher has gone."""
        ...


class Deliver(Protocol):
    """Last words to a watcher that is not up yet."""

    def __call__(self) -> None:
        """Deliver them."""
        ...


class Echo(Protocol):
    """Output shown on a terminal."""

    def finish(self) -> None:
        """Show the rest."""
        ...
