"""Who will watch the run, and when it last showed that it fires."""

import time

from pfid.adapters.control_client import ControlClient
from pfid.adapters.drill_record import DrillRecord, recall_drill
from pfid.bootstrap.preflight.project import Project
from pfid.config.paths import daemon_socket
from pfid.domain.errors import ControlError, WireError
from pfid.domain.snapshot import Snapshot
from pfid.spec.ports.preflight import WatchdogFacts
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of

TIMEOUT_S = 5.0


def watchdog_facts(project: Project) -> WatchdogFacts:
    """Ask the box's daemon; without one the run gets an engine of its own."""
    socket = daemon_socket(project.environ)
    record = recall_drill(project.state)
    if not socket.exists():
        return _of_engine(record)
    try:
        with ControlClient(socket, timeout_s=TIMEOUT_S) as client:
            snapshot = snapshot_of(client.ask(GetSnapshot(), SnapshotReply))
    except (ControlError, WireError):
        return WatchdogFacts()
    return _of_daemon(snapshot, record)


def _of_engine(record: DrillRecord | None) -> WatchdogFacts:
    """The same program as the daemon's: a drill through either shows that it fires."""
    if record is None:
        return WatchdogFacts(who="engine")
    return WatchdogFacts(who="engine", age_s=_age_s(record.at_s), failed=_failed(record))


def _of_daemon(snapshot: Snapshot, record: DrillRecord | None) -> WatchdogFacts:
    """The daemon's own record counts, and ours where it was this daemon that was driven."""
    failed = tuple(str(g.check) for g in snapshot.gates if g.proven_to.live is False)
    known = snapshot.health.selftest_last_success_s.get("live")
    times = [] if known is None else [known]
    since_s = snapshot.health.started_at_s
    if record is not None and record.through_daemon and record.at_s >= since_s:
        times.append(record.at_s)
        failed = tuple(dict.fromkeys((*failed, *_failed(record))))
    age_s = _age_s(max(times)) if times else None
    return WatchdogFacts(who="daemon", age_s=age_s, failed=failed)


def _failed(record: DrillRecord) -> tuple[str, ...]:
    return tuple(sorted(name for name, came in record.results.items() if not came))


def _age_s(at_s: float) -> float:
    return time.time() - at_s
