"""Launching a run, and launching it again after a failure, until it is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from pfid.domain.errors import LaunchError, StateError
from pfid.domain.exit_status import ExitStatus
from pfid.launch.ports import Echo, Watchers
from pfid.launch.request import LaunchRequest
from pfid.launch.start import Box, Started, start
from pfid.launch.supervise import Supervised, supervise
from pfid.launch.watching import Watching
from pfid.policy.instrument import CALL
from pfid.policy.job_control import asks_to_end
from pfid.policy.relaunch import backoff_s, relaunches
from pfid.wire.control import Ended
from pfid.wire.record import RecordedEnd, RecordedLog, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Everything a launch needs.

    Attributes:
        box: see there.
        watchers: who may watch.
        echo: shows a log where somebody looks; None where nobody does.
    """

    box: Box
    watchers: Watchers
    echo: Callable[[Sequence[RecordedLog], str], Echo | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What it came to.

    Attributes:
        shell_code: exit status of the last child, as a shell shows it.
        attempts: the record of each launch, oldest first.
        problem: why it was not launched again though it should have been, "" if nothing is wrong.
    """

    shell_code: int
    attempts: tuple[RunRecord, ...]
    problem: str = ""


def run(launcher: Launcher, request: LaunchRequest) -> Ran:
    """Launch and wait.

    Raises:
        LaunchError: if the first launch is refused or fails.
        StateError: if it cannot be recorded.
    """
    box = launcher.box
    started = start(box, request, 1)
    attempts: list[RunRecord] = []
    while True:
        outcome = _see_through(launcher, started)
        if request.instrument is not None:
            _say_if_silent(box, started.record)
        stopped = box.records.stop_of(started.record.run_id) is not None
        again = relaunches(
            outcome.status,
            restarts_left=started.record.restarts_left,
            asked_to_end=outcome.asked_to_end,
            stopped_by_operator=stopped,
        )
        record = _note_end(box, started.record, outcome.status, waiting=again)
        attempts.append(record)
        code = outcome.status.shell_code
        if not again or not _pause(box, record):
            return Ran(shell_code=code, attempts=tuple(attempts))
        try:
            started = start(box, request, len(attempts) + 1)
        except (LaunchError, StateError) as error:
            problem = f"{request.name} is not relaunched: {error}"
            box.say(problem)
            _note_waiting_over(box, record)
            return Ran(shell_code=code, attempts=tuple(attempts), problem=problem)


def _see_through(launcher: Launcher, started: Started) -> Supervised:
    """Watch and wait for one child."""
    box, record = launcher.box, started.record
    _announce(box, record)
    echo = launcher.echo(record.logs, started.first_line)
    watching = Watching(record, started.held.pidfd, launcher.watchers, box.close, box.say)
    outcome = supervise(box.children, record.process.pid, started.held.pidfd)
    at_s = box.now_s()
    if echo is not None:
        echo.finish()
    status = outcome.status
    watching.finish(
        Ended(run_id=record.run_id, exit_code=status.exit_code, signal=status.signal, at_s=at_s)
    )
    box.close(started.held.pidfd)
    box.say(f"{record.run_id} {_end_in_words(box, record, status)}")
    return outcome


def _say_if_silent(box: Box, record: RunRecord) -> None:
    """Whoever asked for step reports and got none is told, also where nothing else saw a step."""
    if not box.records.reported_steps(record.run_id):
        run_id = record.run_id
        box.say(f"WARNING: --instrument saw no optimizer step of {run_id}; if it trained, {CALL}")


def _announce(box: Box, record: RunRecord) -> None:
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    logs = ", ".join(log.path for log in record.logs)
    box.say(
        f"run {record.run_id} (name {record.name}, log {logs}, pid {record.process.pid}{attempt})"
    )
    for log in record.logs:
        if log.rotated_to is not None:
            box.say(f"the earlier {log.path} is now {log.rotated_to}")


def _end_in_words(box: Box, record: RunRecord, status: ExitStatus) -> str:
    """A stop that was announced is no death, whatever signal carried it out."""
    stop = box.records.stop_of(record.run_id)
    if stop is None:
        return f"ended: {_in_words(status)}"
    return f"was stopped by {stop.username}: {stop.why or 'no reason given'} ({_in_words(status)})"


def _in_words(status: ExitStatus) -> str:
    if status.signal is not None:
        return f"killed by signal {status.signal}"
    return f"exit status {status.exit_code}"


def _note_end(box: Box, record: RunRecord, status: ExitStatus, *, waiting: bool) -> RunRecord:
    end = RecordedEnd(exit_code=status.exit_code, signal=status.signal, at_s=box.now_s())
    noted = msgspec.structs.replace(record, end=end, waiting=waiting)
    _commit(box, noted)
    try:
        box.provenance.complete(noted, box.records.run_dir(noted.run_id))
    except StateError as error:
        box.say(f"the manifest of {noted.run_id} stays incomplete: {error}")
    return noted


def _commit(box: Box, record: RunRecord) -> None:
    """Its identity alone says that the run is over; a full disk takes nothing away from that."""
    try:
        box.records.commit(record)
    except StateError as error:
        box.say(str(error))


def _pause(box: Box, record: RunRecord) -> bool:
    """Wait before the next attempt; False if somebody ended the waiting."""
    wait_s = backoff_s(record.attempt)
    box.say(f"{record.name} is launched again in {wait_s:g} s ({record.restarts_left} left)")
    number = box.children.pause(wait_s)
    stopped = box.records.stop_of(record.run_id) is not None
    if not stopped and (number is None or not asks_to_end(number)):
        return True
    _note_waiting_over(box, record)
    return False


def _note_waiting_over(box: Box, record: RunRecord) -> None:
    _commit(box, msgspec.structs.replace(record, waiting=False))
