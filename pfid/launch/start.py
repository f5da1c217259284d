"""One launch, up to the moment the child runs: guard, identity, rotate, spawn, record."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from pfid.domain.errors import ExecError, LaunchError, NameTakenError, StateError
from pfid.domain.names import RunId
from pfid.launch.guard import admit, alone
from pfid.launch.ports import (
    Children,
    Gated,
    Held,
    LogFiles,
    NameLock,
    Processes,
    Records,
    ToSpawn,
)
from pfid.launch.provenance import Provenance
from pfid.launch.request import LaunchRequest
from pfid.policy.child_environ import child_environ, local_ranks
from pfid.policy.job_identity import fingerprint_parts, job_identity
from pfid.policy.masking import mask_argv
from pfid.policy.rotation import LogSeen, Move, Step, plan_rotation
from pfid.policy.run_name import new_run_id
from pfid.wire.record import (
    RecordedEnd,
    RecordedLog,
    RunRecord,
    recorded,
)

_TRIES_FOR_A_NAME: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What a launch works with.

    Attributes:
        records: the user's records.
        lock: one launch of a name at a time.
        processes: of this box.
        logs: the file system under the logs.
        children: starting and waiting.
        provenance: what a run says about itself.
        now_s: wall clock, Unix seconds.
        stamp: wall time as ``YYYYMMDDTHHMMSSZ``, UTC.
        close: closes a descriptor.
        nonce: a few random letters.
        say: tells the person at the terminal.
    """

    records: Records
    lock: NameLock
    processes: Processes
    logs: LogFiles
    children: Children
    provenance: Provenance
    now_s: Callable[[], float]
    stamp: Callable[[float], str]
    close: Callable[[int], None]
    nonce: Callable[[], str]
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A child that runs its command, captured and recorded.

    Attributes:
        record: as committed.
        held: the process.
        first_line: what its log begins with.
    """

    record: RunRecord
    held: Held
    first_line: str


def start(box: Box, request: LaunchRequest, attempt: int) -> Started:
    """Launch once.

    Raises:
        LaunchError: if it is refused or fails; no byte of any log was lost.
        StateError: if it cannot be recorded; no child was started.
        ExecError: if the command cannot be executed.
    """
    box.children.find(request.argv[0], request.environ.get("PATH"))
    box.provenance.begin(request)
    try:
        return _start(box, request, attempt)
    finally:
        box.provenance.drop()


def _start(box: Box, request: LaunchRequest, attempt: int) -> Started:
    with alone(box.lock, box.records, request.name, request.log_paths):
        logs = [box.logs.observe(Path(path)) for path in request.log_paths]
        admit(request.name, [log.path for log in logs], box.records, box.processes, box.say)
        stamp = box.stamp(box.now_s())
        run_id = new_run_id(request.name, stamp, box.nonce())
        line = first_line(run_id, _rfc3339(stamp))
        ranks = local_ranks(tuple(request.argv), request.environ)
        instrumented = request.instrument is not None
        run_dir = box.records.make_run_dir(run_id, ranks, instrumented=instrumented)
        try:
            box.provenance.sample(request, run_id, attempt, run_dir)
            output, recorded_logs = _make_room(box, request.log_paths, run_id, line)
        except BaseException:
            box.records.discard_run_dir(run_id)
            raise
        environ = child_environ(request.environ, run_id, str(run_dir), request.instrument)
        try:
            child = box.children.spawn(ToSpawn(argv=request.argv, environ=environ, output=output))
        finally:
            box.close(output)
        return _let_go(box, child, _Draft(request, run_id, attempt, recorded_logs, line))


def first_line(run_id: str, started: str) -> str:
    """What a log begins with, so that its text can never be taken for another run's."""
    return f"# pfid run {run_id} started {started}\n"


def _make_room(
    box: Box, paths: Sequence[str], run_id: RunId, line: str
) -> tuple[int, tuple[RecordedLog, ...]]:
    """Rotate until nobody takes a name in between."""
    for _ in range(_TRIES_FOR_A_NAME):
        stamp = box.stamp(box.now_s())
        seen = [box.logs.observe(Path(path)) for path in paths]
        steps = plan_rotation(seen, stamp=stamp, run_id=run_id, first_line=line)
        try:
            output = box.logs.carry_out(steps)
        except NameTakenError:
            continue
        if output is None:
            break
        head = line.encode()
        mark = {
            "file_id": box.logs.file_id(output),
            "head_bytes": len(head),
            "head": box.logs.text_digest(head),
        }
        return output, _recorded_logs(seen, steps, mark)
    raise LaunchError(f"the names beside {paths[0]} keep being taken; nothing was lost, try again")


def _rfc3339(stamp: str) -> str:
    date, clock = stamp[:8], stamp[9:15]
    return f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}Z"


def _recorded_logs(
    seen: Sequence[LogSeen], steps: Sequence[Step], mark: dict[str, Any]
) -> tuple[RecordedLog, ...]:
    moved = {step.source: step.target for step in steps if isinstance(step, Move)}
    first, *more = (RecordedLog(path=log.path, rotated_to=moved.get(log.path)) for log in seen)
    return (msgspec.structs.replace(first, ours=True, **mark), *more)


@dataclass(frozen=True, slots=True)
class _Draft:
    request: LaunchRequest
    run_id: RunId
    attempt: int
    logs: tuple[RecordedLog, ...]
    first_line: str


def _let_go(box: Box, child: Gated, draft: _Draft) -> Started:
    """Record the waiting child, then open its gate."""
    try:
        held = box.processes.hold(child.pid)
        record = _record(box, held, draft)
        box.records.commit(record)
        box.records.point_to(record)
    except BaseException:
        child.abandon()
        raise
    try:
        child.release()
    except ExecError as error:
        box.close(held.pidfd)
        ended = RecordedEnd(exit_code=error.exit_code, signal=None, at_s=box.now_s())
        record = msgspec.structs.replace(record, end=ended)
        box.records.commit(record)
        with suppress(StateError):
            box.provenance.complete(record, box.records.run_dir(record.run_id))
        raise
    return Started(record=record, held=held, first_line=draft.first_line)


def _record(box: Box, held: Held, draft: _Draft) -> RunRecord:
    request = draft.request
    job = job_identity(request.environ)
    start_ticks = held.identity.start_ticks
    here = box.processes.here()
    launcher = box.processes.seen(here.own_pid)
    return RunRecord(
        run_id=draft.run_id,
        name=request.name,
        process=recorded(held.identity),
        launcher=msgspec.structs.replace(
            recorded(held.identity),
            pid=here.own_pid,
            start_ticks=None if launcher is None else launcher.start_ticks,
        ),
        started_at_s=box.now_s()
        if start_ticks is None
        else box.processes.started_at_s(start_ticks),
        attempt=draft.attempt,
        restarts_left=max(0, request.restarts + 1 - draft.attempt),
        argv=list(mask_argv(request.argv)[0]),
        cwd=request.cwd,
        logs=list(draft.logs),
        expect_step_s=request.expect_step_s,
        fit=request.fit,
        fingerprint=fingerprint(request.argv, request.cwd, job.world_size),
        job_id=job.job_id,
        rank=job.rank,
        world_size=job.world_size,
    )


def fingerprint(argv: Sequence[str], cwd: str, world_size: int | None) -> str:
    """Digest of what makes two launches the same work."""
    parts = "\0".join(fingerprint_parts(argv, cwd, world_size))
    return hashlib.sha256(parts.encode(errors="surrogateescape")).hexdigest()[:16]
