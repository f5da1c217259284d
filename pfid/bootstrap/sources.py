"""Everything that can be asked about runs: the box's daemon, engines that live, files they left.

With a daemon its answer is enough for everything it watches; a user's own engines are asked
beside it, because a run that was started while no daemon was there stays with its engine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pfid.adapters.control_client import ControlClient
from pfid.adapters.process_identity import machine_id
from pfid.bootstrap.unanswered import STARTING_S, Unanswered, unanswered
from pfid.config.paths import daemon_socket, engine_dir, engine_socket, runs_dir
from pfid.domain.errors import ControlError, PfidError, WireError
from pfid.domain.snapshot import DaemonHealth, Snapshot
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of

if TYPE_CHECKING:
    from pfid.adapters.ended_state import EndedState

ASK_TIMEOUT_S: Final = 5.0
STATE_FILE: Final = "pfid.sqlite"


class SourceKind(Enum):
    """Who answers."""

    DAEMON = "daemon"
    ENGINE = "engine"
    ENDED_ENGINE = "ended_engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One of those who know something, and what they know now.

    Attributes:
        kind: who it is.
        place: its socket or state file; shown to the user whose it is.
        snapshot: what it says.
        ended: everything an ended engine left, None for a living one.
    """

    kind: SourceKind
    place: Path
    snapshot: Snapshot
    ended: "EndedState | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All sources, and those that should have answered and did not.

    Attributes:
        sources: those that know something.
        problems: who did not answer and should have; ``unanswered`` runs among them.
        unanswered: the user's runs that no source knows.
    """

    sources: tuple[Source, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()


@dataclass(slots=True)
class _Gathering:
    ended_after_s: float
    now_s: float
    sources: list[Source] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)


def gather(environ: Mapping[str, str], *, now_s: float, ended_after_s: float) -> Gathered:
    """Ask everybody.

    Args:
        environ: says where the daemon's socket and the user's state are.
        now_s: wall time.
        ended_after_s: leave out engines whose folder was last written before this wall time.

    Returns:
        What was found; nothing at all is no error.
    """
    found = _Gathering(ended_after_s, now_s)
    _ask_daemon(found, daemon_socket(environ), named=bool(environ.get("PFID_SOCKET")))
    silent = [d for d in _run_dirs(environ, found) if not _ask_engine(found, d)]
    known = frozenset(v.run.run_id for s in found.sources for v in s.snapshot.runs)
    left = unanswered(environ, silent, known, now_s)
    for each in left:  # what its engine is just writing cannot be read yet
        found.unreadable[each.run_id] = each.sentence
    return Gathered(
        sources=tuple(found.sources),
        problems=(*found.problems, *found.unreadable.values()),
        unanswered=tuple(left),
    )


def _ask_daemon(found: _Gathering, socket: Path, *, named: bool) -> None:
    """A daemon nobody installed is no problem; one that is named, or there and silent, is."""
    try:
        there = socket.exists()
    except PermissionError:
        there = False
    if not there and not named:
        return
    try:
        found.sources.append(_asked(SourceKind.DAEMON, socket))
    except (ControlError, WireError) as error:
        found.problems.append(f"the daemon did not answer: {error}")


def _run_dirs(environ: Mapping[str, str], found: _Gathering) -> list[Path]:
    try:
        folder = runs_dir(environ, machine_id())
        return sorted(d for d in folder.iterdir() if _may_have_engine(d, found.now_s))
    except FileNotFoundError:
        return []
    except (OSError, PfidError) as error:
        found.problems.append(f"runs of this user cannot be listed: {error}")
        return []


def _may_have_engine(run_dir: Path, now_s: float) -> bool:
    """A run that has just begun may be about to get one."""
    return engine_dir(run_dir).is_dir() or now_s - run_dir.stat().st_mtime < STARTING_S


def _ask_engine(found: _Gathering, run_dir: Path) -> bool:
    """Whether there was anything to be heard of the run."""
    socket, state = engine_socket(run_dir), engine_dir(run_dir) / STATE_FILE
    if socket.exists():
        try:
            found.sources.append(_asked(SourceKind.ENGINE, socket))
        except ControlError:
            pass  # killed and left its socket behind, or about to end: its file says more
        except WireError as error:
            found.problems.append(f"{socket}: {error}")
            return True
        else:  # it may have come up without being told of its run
            return bool(found.sources[-1].snapshot.runs)
    try:
        if state.stat().st_mtime < found.ended_after_s:
            return True
        left = left_behind(state, found.now_s)
    except FileNotFoundError:
        return False  # an engine that has only just begun
    except (OSError, PfidError) as error:
        found.unreadable[run_dir.name] = str(error)
        return False
    if left.snapshot.runs:
        found.sources.append(left)
    for run_id in left.ended.cut_short if left.ended is not None else ():
        found.unreadable[run_id] = (
            f"{run_id} ended, and its engine before it had judged all that the run wrote: "
            f"what is shown of its log and steps may be short of the last of them; see "
            f"{state.with_name('engine.log')}"
        )
    return bool(left.snapshot.runs)


def _asked(kind: SourceKind, socket: Path) -> Source:
    with ControlClient(socket, timeout_s=ASK_TIMEOUT_S) as client:
        reply = client.ask(GetSnapshot(), SnapshotReply)
    return Source(kind=kind, place=socket, snapshot=snapshot_of(reply))


def left_behind(state: Path, now_s: float) -> Source:
    """What an engine that ended has written, as of ``now_s``.

    Raises:
        StateError: if that cannot be read.
    """
    from pfid.adapters.ended_state import read_ended  # the store costs 60 ms: only if needed

    ended = read_ended(state)
    last_s = max((e.transition.at_s for e in ended.events), default=0.0)
    return Source(
        kind=SourceKind.ENDED_ENGINE,
        place=state,
        ended=ended,
        snapshot=Snapshot(
            at_s=now_s,
            health=DaemonHealth(started_at_s=last_s, ready=False, last_iteration_s=last_s),
            runs=ended.runs,
            verdicts=ended.verdicts,
            transitions=tuple(event.transition for event in ended.events),
        ),
    )


def living(sources: tuple[Source, ...]) -> Iterator[Source]:
    """Those that can be asked again."""
    return (source for source in sources if source.kind is not SourceKind.ENDED_ENGINE)
