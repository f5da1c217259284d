"""Joins launching to this box: processes, files, terminal, watchers."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from pfid.adapters import file_identity, process_identity, rotation, spawn
from pfid.adapters.background import in_background
from pfid.adapters.child_events import ChildEvents
from pfid.adapters.control_client import ControlClient
from pfid.adapters.engine_process import start_engine
from pfid.adapters.log_echo import LogEcho
from pfid.adapters.name_lock import name_lock
from pfid.adapters.run_files import RunFilesByPath
from pfid.adapters.run_history import RunHistory
from pfid.adapters.run_records import RunRecords
from pfid.adapters.terminal import Terminal, shows_output
from pfid.bootstrap.declarations import Declarations
from pfid.bootstrap.engine_config import refuse_unusable
from pfid.bootstrap.launch_provenance import LaunchProvenance
from pfid.config import paths
from pfid.domain.errors import ProcessGoneError
from pfid.launch.ports import Held, ToSpawn
from pfid.launch.run import Launcher
from pfid.launch.start import Box
from pfid.policy.baseline import EarlierRun
from pfid.policy.identity import Here, Seen
from pfid.policy.job_control import Event
from pfid.policy.rotation import LogSeen, Step
from pfid.wire.record import RecordedLog, RunRecord

_CONNECT_TIMEOUT_S = 2.0


class BoxProcesses:
    """Processes of this box, through procfs and pidfds."""

    def here(self) -> Here:
        """Where pfid itself stands."""
        return Here(
            machine_id=process_identity.machine_id(),
            boot_id=process_identity.boot_id(),
            pid_namespace=process_identity.pid_namespace(),
            own_pid=os.getpid(),
        )

    def seen(self, pid: int) -> Seen | None:
        """What stands at a pid now; a process that may not be read has an unknown start."""
        try:
            stat = process_identity.read_stat(pid)
        except ProcessGoneError:
            return None
        except (OSError, ValueError):
            return Seen(start_ticks=None)
        return Seen(start_ticks=stat.start_ticks, dead=stat.dead)

    def hold(self, pid: int) -> Held:
        """Capture a living process."""
        captured = process_identity.capture(pid)
        return Held(identity=captured.identity, pidfd=captured.pidfd)

    def started_at_s(self, start_ticks: int) -> float:
        """Wall time of a start."""
        return process_identity.started_at_s(start_ticks)


class BoxLogFiles:
    """Logs on real file systems."""

    def observe(self, path: Path) -> LogSeen:
        """Look at what stands there."""
        return rotation.observe_log(path)

    def carry_out(self, steps: Sequence[Step]) -> int | None:
        """Do all steps or none."""
        return rotation.LogRotator().carry_out(steps)

    def file_id(self, descriptor: int) -> str:
        """Which file that is."""
        return file_identity.file_id(descriptor)

    def text_digest(self, head: bytes) -> str:
        """Digest of how a log begins."""
        return file_identity.text_digest(head)


class BoxChildren:
    """Children, signals and the terminal; a context that gives all of it back."""

    def __init__(self) -> None:
        """Open the terminal, if there is one."""
        self._events = ChildEvents()
        self._terminal = Terminal()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._events.__exit__(None, None, None)
        self._terminal.__exit__(None, None, None)

    def find(self, command: str, search_path: str | None) -> None:
        """See whether a command exists."""
        spawn.find_command(command, search_path)

    def spawn(self, start: ToSpawn) -> spawn.GatedChild:
        """Fork a child that waits at its gate."""
        return spawn.spawn_gated(
            spawn.ChildStart(
                argv=start.argv,
                environ=start.environ,
                output=start.output,
                signal_mask=self._events.block(),
                default_signals=self._terminal.signal_to_restore,
                terminal=self._terminal.descriptor_if_ours(),
            )
        )

    def wait(self, pid: int) -> Event:
        """Wait for the next thing to happen."""
        return self._events.wait(pid)

    def pause(self, seconds: float) -> int | None:
        """Sleep; a signal ends it."""
        return self._events.pause(seconds)

    def signal_child(self, pidfd: int, number: int) -> None:
        """Signal the child alone."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, number)

    def signal_group(self, pid: int, number: int) -> None:
        """Signal the group of an unreaped child."""
        with suppress(ProcessLookupError):
            os.killpg(pid, number)

    def terminal_is_ours(self) -> bool:
        """Whether the launcher has the foreground."""
        return self._terminal.descriptor_if_ours() is not None

    def lend_terminal(self, pid: int) -> None:
        """Give the child the foreground."""
        self._terminal.lend(pid)

    def take_terminal(self, pid: int) -> None:
        """Take the foreground back."""
        self._terminal.take_back(pid)

    def suspend(self) -> None:
        """Stop with the whole job."""
        self._terminal.suspend()


class BoxWatchers:
    """The box's daemon and the run's own engine."""

    def __init__(self, environ: Mapping[str, str], records: RunRecords) -> None:
        """Ask nobody yet."""
        self._environ = environ
        self._records = records
        self._history = RunHistory(records.history_dir)

    @property
    def daemon_socket(self) -> Path:
        """Of the box's daemon."""
        return paths.daemon_socket(self._environ)

    def engine_socket(self, run_id: str) -> Path:
        """Of the run's own engine."""
        return paths.engine_socket(self._records.run_dir(run_id))

    def binding(self, socket: Path) -> tuple[int, ...] | None:
        """A socket that is bound anew is another inode, born at another time."""
        try:
            found = socket.stat()
        except OSError:
            return None
        return (found.st_dev, found.st_ino, found.st_ctime_ns)

    def connect(self, socket: Path) -> ControlClient:
        """Connect."""
        return ControlClient(socket, _CONNECT_TIMEOUT_S)

    def start_engine(self, run_id: str) -> int:
        """Start the run's own engine."""
        return start_engine(self._records.run_dir(run_id), self._environ)

    def engine_runs(self, pidfd: int) -> bool:
        """Whether the engine still runs."""
        return not process_identity.has_ended(pidfd)

    def files(self, logs: Iterable[RecordedLog], run_id: str) -> RunFilesByPath:
        """The run's files."""
        return RunFilesByPath(logs, paths.steps_dir(self._records.run_dir(run_id)))

    def earlier(self, record: RunRecord) -> Sequence[EarlierRun]:
        """What the user's earlier runs of the same work left; a daemon cannot look there."""
        return self._history.find(record.name, record.fingerprint)

    def keep(self, record: RunRecord, left: EarlierRun) -> None:
        """Keep what a run leaves; if that cannot be, the daemon has it all the same."""
        self._history.add(record.name, record.fingerprint, left)

    def in_background(self, work: Callable[[], None]) -> None:
        """Go on in a process of its own."""
        in_background(work)


def user_records(environ: Mapping[str, str]) -> RunRecords:
    """The asking user's records on this machine.

    Raises:
        ConfigError: if the environment names no home.
    """
    return RunRecords(paths.user_state_dir(environ, process_identity.machine_id()))


def build_box(
    records: RunRecords,
    children: BoxChildren,
    say: Callable[[str], None],
    declared: Declarations | None = None,
) -> Box:
    """Join what a launch works with; nothing is declared about it unless said."""
    return Box(
        records=records,
        lock=name_lock,
        processes=BoxProcesses(),
        logs=BoxLogFiles(),
        children=children,
        provenance=LaunchProvenance(say, declared or Declarations(), records.digests_file),
        now_s=time.time,
        stamp=utc_stamp,
        close=os.close,
        nonce=nonce,
        say=say,
    )


def build_launcher(
    environ: Mapping[str, str],
    children: BoxChildren,
    say: Callable[[str], None],
    declared: Declarations | None = None,
    *,
    shown: bool = True,
) -> Launcher:
    """Join launching to this box.

    Args:
        environ: of the launcher.
        children: starting and waiting.
        say: tells the person.
        declared: what the project's spec says about its provenance.
        shown: whether a child's output is shown as well, where somebody looks.

    Raises:
        ConfigError: if the environment names no home, or a configuration no engine can use.
    """
    refuse_unusable(environ)
    spawn.keep_listening_descriptors(environ)
    records = user_records(environ)
    return Launcher(
        box=build_box(records, children, say, declared),
        watchers=BoxWatchers(environ, records),
        echo=_echo if shown else _no_echo,
    )


def nonce() -> str:
    """Six random letters (the ``secrets`` module costs more than a tenth of the whole start)."""
    return os.urandom(3).hex()


def utc_stamp(at_s: float) -> str:
    """``YYYYMMDDTHHMMSSZ``."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at_s))


def _no_echo(_: Sequence[RecordedLog], __: str) -> None:
    return None


def _echo(logs: Sequence[RecordedLog], first_line: str) -> LogEcho | None:
    """Show the child's output where somebody looks, without the line that pfid put first."""
    if not shows_output():
        return None
    try:
        log = os.open(logs[0].path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    return LogEcho(log, len(first_line.encode()), sys.stdout.fileno())
