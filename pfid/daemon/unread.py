"""Runs whose stored row cannot be read: taken up again where somebody still knows who they are.

The row's own columns say whose run it is; the process is told by the pidfd that the service manager
kept, else by the launcher, which registers again. Until then it is counted, shown and alerted on:
an unwatched run must not look like none.
"""

from pfid.daemon.core import Core
from pfid.domain.identity import ProcessIdentity
from pfid.domain.names import RunId, RunName
from pfid.domain.run import Run, RunSource, RunState
from pfid.wire.stored import DropStreams, EndRun, RunBody, StoredRun, UnreadRun


def as_stored(core: Core, unread: UnreadRun, identity: ProcessIdentity) -> StoredRun:
    """The run as it would have been read, as far as its columns and its process say."""
    run = Run(
        run_id=RunId(unread.run_id),
        name=RunName(unread.name),
        identity=identity,
        uid=unread.uid,
        username=core.ports.processes.username(unread.uid),
        source=RunSource.CAPTURED,
        started_at_s=unread.started_at_s,
        fingerprint=unread.fingerprint,
    )
    body = RunBody(
        run=run,
        state=RunState.RUNNING,
        synthetic=unread.synthetic,
        registered_monotonic_s=core.monotonic_s(),
    )
    return StoredRun(body=body, streams=unread.streams, steps=unread.steps)


def registered(core: Core, run: Run) -> None:
    """Somebody registers a run: one that could not be read and is the same is no longer unwatched.

    Of one user one run of a name lives at a time, so another of the name means that it has ended,
    or is the same process under an id of its own.
    """
    for unread in [*core.unread.values()]:
        if unread.run_id == run.run_id:
            core.changes.append(DropStreams(run_id=unread.run_id))  # it is read from its start
        elif (unread.uid, unread.name) == (run.uid, run.name):
            core.changes.append(EndRun(run_id=unread.run_id))
        else:
            continue
        del core.unread[unread.run_id]
        core.snapshot_stale = True
