"""Taking a process that already runs under watch, and leaving it to whoever watches."""

import time
from collections.abc import Callable
from typing import Final

from pfid.domain.errors import ControlError, LaunchError
from pfid.launch.guard import admit, alone
from pfid.launch.ports import Held, RunFiles, Watchers
from pfid.launch.start import Box
from pfid.launch.watcher_link import WatcherLink
from pfid.wire.record import RunRecord

ENGINE_UP_S: Final = 30.0
"""How long the run's own engine may take to come up."""

_ROUND_S: Final = 0.05


def attach(box: Box, watchers: Watchers, record: RunRecord, held: Held) -> str:
    """Record it, hand it over, and return what to tell the person.

    Args:
        box: see there.
        watchers: who may watch.
        record: what is known of the process.
        held: the captured process; stays the caller's.

    Raises:
        LaunchError: if its name or log is a living run's, or nobody takes it.
        StateError: if it cannot be recorded.
    """
    paths = [log.path for log in record.logs]
    with alone(box.lock, box.records, record.name, paths):
        admit(record.name, paths, box.records, box.processes, box.say)
        box.records.make_run_dir(record.run_id, 0)
        box.records.commit(record)
        try:
            said = _hand_over(box, watchers, record, held)
        except BaseException:
            box.records.discard_run_dir(record.run_id)
            raise
        box.records.point_to(record)
    return said


def _hand_over(box: Box, watchers: Watchers, record: RunRecord, held: Held) -> str:
    files = watchers.files(record.logs, record.run_id)
    daemon = WatcherLink(record, watchers.daemon_socket, "the box's daemon")
    if watchers.binding(daemon.socket) is not None:
        try:
            return _register(daemon, watchers, files, held, box.close)
        except ControlError as error:
            box.say(f"the box's daemon does not watch {record.run_id}: {error}")
    engine_pidfd = watchers.start_engine(record.run_id)
    try:
        return _register_with_engine(watchers, record, files, held, engine_pidfd, box.close)
    finally:
        box.close(engine_pidfd)


def _register_with_engine(
    watchers: Watchers,
    record: RunRecord,
    files: RunFiles,
    held: Held,
    engine_pidfd: int,
    close: Callable[[int], None],
) -> str:
    engine = WatcherLink(record, watchers.engine_socket(record.run_id), "its own engine")
    deadline_s = time.monotonic() + ENGINE_UP_S
    why = "it did not come up"
    while time.monotonic() < deadline_s and watchers.engine_runs(engine_pidfd):
        if engine.due(watchers.binding(engine.socket)):
            try:
                return _register(engine, watchers, files, held, close)
            except ControlError as error:
                why = str(error)
        time.sleep(_ROUND_S)
    raise LaunchError(
        f"nobody watches {record.name!r}: no daemon, and its engine: {why} "
        f"(see {engine.socket.parent}/engine.log)"
    )


def _register(
    link: WatcherLink,
    watchers: Watchers,
    files: RunFiles,
    held: Held,
    close: Callable[[int], None],
) -> str:
    opened = files.open_all()
    try:
        return link.register(watchers, held.pidfd, opened)
    finally:
        for file in opened:
            close(file.descriptor)
