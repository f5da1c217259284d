"""May a run of this name start? Asked of captured identities, never of patterns or bare pids.

A pattern can match its asker (playbook, section 4.5); an identity cannot.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pfid.domain.errors import LaunchError
from pfid.launch.ports import Processes, Records
from pfid.policy.identity import Standing, standing
from pfid.wire.record import RecordedProcess, RunRecord

LOCK_WAIT_S: Final = 5.0


def admit(
    name: str,
    log_paths: Sequence[str],
    records: Records,
    processes: Processes,
    say: Callable[[str], None],
) -> None:
    """Return if a run of this name may start and write to these logs.

    The caller holds the name's lock until the new run is recorded.

    Raises:
        LaunchError: naming the run that lives, and what to do.
    """
    found, problems = records.latest(name)
    for problem in problems:
        say(f"{problem}; it does not count")
    for record in found:
        _refuse_if_living(record, processes)
    for record in records.current():
        if record.name != name:
            _refuse_if_sharing(record, log_paths, processes)


def is_standing(process: RecordedProcess, processes: Processes) -> Standing:
    """What a recorded process is worth now."""
    identity = process.identity()
    return standing(identity, processes.here(), processes.seen(identity.pid))


def _refuse_if_living(record: RunRecord, processes: Processes) -> None:
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
    if record.waiting and record.launcher is not None:
        _refuse_if_relaunching(record, record.launcher, processes)


def _refuse_if_relaunching(
    record: RunRecord, launcher: RecordedProcess, processes: Processes
) -> None:
    if is_standing(launcher, processes).blocks:
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
