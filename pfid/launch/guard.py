"""May a run of this name start? Asked of captured identities, never of patterns or bare pids.

A pattern can match its asker (playbook, section 4.5); an identity cannot.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from pfid.domain.errors import LaunchError
from pfid.launch.ports import NameLock, Processes, Records
from pfid.policy.identity import Standing, standing
from pfid.wire.record import RecordedProcess, RunRecord

LOCK_WAIT_S: Final = 5.0


@contextmanager
def alone(lock: NameLock, records: Records, name: str, log_paths: Sequence[str]) -> Iterator[None]:
    """Hold a name and its logs: runs of different names may be meant for one log.

    Raises:
        LaunchError: if another launch keeps one of them.
    """
    with ExitStack() as held:
        for file in (records.lock_file(name), *records.log_lock_files(log_paths)):
            held.enter_context(lock(file, LOCK_WAIT_S))
        yield


def admit(
    name: str,
    log_paths: Sequence[str],
    records: Records,
    processes: Processes,
    say: Callable[[str], None],
) -> None:
    """Return if a run of this name may start and write to these logs.

    The caller holds the locks (:func:`alone`) until the new run is recorded.

    Raises:
        LaunchError: naming the run that lives, and what to do.
    """
    found, problems = records.latest(name)
    for problem in problems:
        say(f"{problem}; it does not count")
    for record in found:
        _refuse_if_living(record, records, processes)
    for record in records.current():
        if record.name != name:
            _refuse_if_sharing(record, log_paths, processes)


def is_standing(process: RecordedProcess, processes: Processes) -> Standing:
    """What a recorded process is worth now."""
    identity = process.identity()
    return standing(identity, processes.here(), processes.seen(identity.pid))


def relauncher(record: RunRecord, records: Records, processes: Processes) -> RecordedProcess | None:
    """The launcher that lives and may launch this run, which is over, again.

    It says so (``waiting``) a moment after the end: until it has noted the end at all, one that
    has restarts left and was not told to stop counts as if it had said so already.
    """
    if record.launcher is None or not is_standing(record.launcher, processes).blocks:
        return None
    if record.end is not None:
        return record.launcher if record.waiting else None
    undecided = record.restarts_left > 0 and not is_standing(record.process, processes).blocks
    if not undecided or records.stop_of(record.run_id) is not None:
        return None
    return record.launcher


def _refuse_if_living(record: RunRecord, records: Records, processes: Processes) -> None:
    found = is_standing(record.process, processes) if record.end is None else Standing.ENDED
    pid = record.process.pid
    if found is Standing.ALIVE:
        raise LaunchError(
            f"{record.name!r} is already running as {record.run_id} (pid {pid}); "
            f"stop it with `pfid stop {record.run_id}` or give this one another --name"
        )
    if found is Standing.UNKNOWN:
        raise LaunchError(
            f"cannot tell whether {record.run_id} still runs: {found.value} (pid {pid}); "
            "look at the process, end it, or give this run another --name"
        )
    launcher = relauncher(record, records, processes)
    if launcher is not None:
        raise LaunchError(
            f"{record.name!r} is about to be relaunched by its launcher (pid {launcher.pid}); "
            f"stop that with `pfid stop {record.run_id}` or give this one another --name"
        )


def _refuse_if_sharing(record: RunRecord, log_paths: Sequence[str], processes: Processes) -> None:
    shared = {log.path for log in record.logs}.intersection(log_paths)
    if not shared or record.end is not None:
        return
    if is_standing(record.process, processes) is Standing.ALIVE:
        raise LaunchError(
            f"{min(shared)} is the log of {record.run_id}, which is running (pid "
            f"{record.process.pid}); give this one another --log: one file describes one run"
        )
