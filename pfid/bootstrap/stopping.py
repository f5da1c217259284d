"""Joins stopping a run to this box: whose run it is, who is told, what is signalled."""

import os
import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from pfid.adapters import process_ending, process_identity
from pfid.adapters.control_client import ControlClient
from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.launch import BoxProcesses, user_records
from pfid.config import paths
from pfid.domain.errors import (
    ControlError,
    LaunchError,
    ProcessGoneError,
    StateError,
    WireError,
)
from pfid.domain.names import run_id as check_run_id
from pfid.launch.guard import is_standing, relauncher
from pfid.launch.ports import Held
from pfid.launch.stop import Stopped, stop
from pfid.policy.job_control import SIGTERM
from pfid.wire.control import GetSnapshot, SnapshotReply, StopIntent
from pfid.wire.record import RecordedProcess, RecordedStop, RunRecord, recorded
from pfid.wire.snapshots import snapshot_of

_ROOT: Final = 0
_TIMEOUT_S: Final = 5.0


class NoSuchRunError(LaunchError):
    """Nothing that could be stopped goes by that name."""


class OthersRunError(LaunchError):
    """The run is another user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A run to be stopped.

    Attributes:
        run_id: its id.
        process: the captured process.
        record: the asker's own record; None if the daemon alone knows the run.
        uid: whose it is, by the daemon's word; None where it is the asker's own record.
        username: likewise.
    """

    run_id: str
    process: RecordedProcess
    record: RunRecord | None = None
    uid: int | None = None
    username: str = ""

    def may_stop(self, uid: int) -> bool:
        """Whether that user may signal it."""
        return uid == _ROOT or self.uid is None or self.uid == uid


class BoxEnding:
    """Acts on captured processes of this box."""

    def signal(self, pidfd: int, number: int) -> None:
        """Send a signal."""
        process_ending.send(pidfd, number)

    def wait_ended(self, pidfds: Sequence[int], timeout_s: float) -> bool:
        """Wait until all have ended."""
        return process_ending.wait_all_ended(pidfds, timeout_s)

    def has_ended(self, pidfd: int) -> bool:
        """Whether it is over."""
        return process_identity.has_ended(pidfd)

    def tree(self, root: RecordedProcess) -> list[Held]:
        """Capture its tree."""
        return [
            Held(identity=each.identity, pidfd=each.pidfd)
            for each in process_ending.capture_tree(root.pid, root.start_ticks)
        ]

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def now_s(self) -> float:
        """Monotonic clock."""
        return time.monotonic()


def find_target(environ: Mapping[str, str], wanted: str) -> Target:
    """Find a run by id or name: the asker's own records first, then what the daemon knows.

    Raises:
        NoSuchRunError: if no run that lives goes by it, or several do.
        OthersRunError: if it is another user's, naming whom to ask.
    """
    processes = BoxProcesses()
    records = user_records(environ)
    own = [r for r in _own(records, wanted) if _lives(r, records, processes)]
    if own:
        return Target(run_id=own[0].run_id, process=own[0].process, record=own[0])
    known = _known_to_daemon(environ, wanted)
    found = [target for target in known if target.may_stop(os.getuid())]
    if known and not found:
        raise OthersRunError(_whose(known[0]))
    if len(found) > 1:
        ids = ", ".join(sorted(target.run_id for target in found))
        raise NoSuchRunError(f"several runs go by {wanted!r}; say which: {ids}")
    if not found:
        raise NoSuchRunError(f"no run that lives goes by {wanted!r}; `pfid status` lists them")
    return found[0]


def _whose(target: Target) -> str:
    owner = target.username or f"uid {target.uid}"
    return (
        f"{target.run_id} is a run of {owner}, and only its owner or root can stop it; "
        f"ask {owner}, or as root: pfid stop {target.run_id}"
    )


def _own(records: RunRecords, wanted: str) -> list[RunRecord]:
    found = [record for record in records.latest(wanted)[0] if record.name == wanted]
    with suppress(ValueError, StateError):
        by_id = records.read(check_run_id(wanted))
        if by_id is not None:
            found.insert(0, by_id)
    return found


def _lives(record: RunRecord, records: RunRecords, processes: BoxProcesses) -> bool:
    if record.end is None and is_standing(record.process, processes).blocks:
        return True
    return relauncher(record, records, processes) is not None


def _known_to_daemon(environ: Mapping[str, str], wanted: str) -> list[Target]:
    try:
        with ControlClient(paths.daemon_socket(environ), _TIMEOUT_S) as client:
            snapshot = snapshot_of(client.ask(GetSnapshot(), SnapshotReply))
    except (ControlError, WireError):
        return []
    return [
        Target(
            run_id=view.run.run_id,
            process=recorded(view.run.identity),
            uid=view.run.uid,
            username=view.run.username,
        )
        for view in snapshot.runs
        if view.end is None and wanted in {view.run.run_id, view.run.name}
    ]


def stop_run(
    environ: Mapping[str, str],
    target: Target,
    *,
    why: str,
    grace_s: float,
    say: Callable[[str], None],
) -> Stopped:
    """Stop it: its watchers are told who and why before it is asked to end.

    Raises:
        LaunchError: if it has ended, or is not the asker's.
    """
    records = user_records(environ)

    def announce() -> None:
        _announce(environ, records, target, why, say)

    launcher = _waits(target.record, records)
    if launcher is not None:
        announce()
        return _end_relaunching(launcher)
    try:
        return stop(target.process, BoxProcesses(), BoxEnding(), announce=announce, grace_s=grace_s)
    except LaunchError:
        launcher = _would_launch_again(target)
        if launcher is None:
            raise
        announce()
        return _end_relaunching(launcher)


def _waits(record: RunRecord | None, records: RunRecords) -> RecordedProcess | None:
    """The launcher that said it would launch the run again, or is about to say so."""
    if record is None:
        return None
    return record.launcher if record.waiting else relauncher(record, records, BoxProcesses())


def _would_launch_again(target: Target) -> RecordedProcess | None:
    """The launcher of a run that ended by itself just now and is about to be launched again."""
    record, processes = target.record, BoxProcesses()
    if record is None or record.launcher is None or not record.restarts_left:
        return None
    if is_standing(target.process, processes).blocks:
        return None
    return record.launcher if is_standing(record.launcher, processes).blocks else None


def _end_relaunching(launcher: RecordedProcess) -> Stopped:
    """The run is over; its launcher waits to start the next, and is told not to."""
    try:
        held = process_identity.capture(launcher.pid)
    except ProcessGoneError:  # it has read meanwhile who stops the run, and left
        return Stopped(killed=False, leftovers=0, remaining=0)
    try:
        if is_standing(launcher, BoxProcesses()).blocks:
            process_ending.send(held.pidfd, SIGTERM)
        return Stopped(killed=False, leftovers=0, remaining=0)
    finally:
        os.close(held.pidfd)


def _announce(
    environ: Mapping[str, str],
    records: RunRecords,
    target: Target,
    why: str,
    say: Callable[[str], None],
) -> None:
    if target.record is not None:
        uid = os.getuid()
        said = RecordedStop(uid=uid, username=_username(uid), why=why, at_s=time.time())
        try:
            records.commit_stop(target.run_id, said)
        except StateError as error:
            say(f"{error}; a launcher with --restart may launch it again")
    watchers = {"the box's daemon": paths.daemon_socket(environ)}
    if target.record is not None:
        watchers["its own engine"] = paths.engine_socket(records.run_dir(target.run_id))
    intent = StopIntent(run_id=target.run_id, why=why)
    told = {who: _tell(socket, intent) for who, socket in watchers.items()}
    if None not in told.values():
        why_not = "; ".join(f"{who}: {problem}" for who, problem in told.items())
        say(f"no watcher was told who stops {target.run_id} ({why_not})")


def _tell(socket: Path, intent: StopIntent) -> str | None:
    """None if it was noted; why not otherwise. Where a socket lies is nothing to the person."""
    try:
        with ControlClient(socket, _TIMEOUT_S) as client:
            reply = client.call(intent)
    except ControlError:
        return "does not answer"
    return getattr(reply, "message", None)


def _username(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def as_builtins(stopped: Stopped, target: Target, why: str) -> dict[str, object]:
    """What ``--json`` prints."""
    return {"run_id": target.run_id, "why": why, **msgspec.to_builtins(stopped)}
