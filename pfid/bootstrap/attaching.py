"""Joins ``pfid attach`` to this box: who the process is, and where it writes."""

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from pfid.adapters import file_identity, process_facts, process_identity
from pfid.adapters.process_identity import Captured
from pfid.bootstrap.kept_fit import kept_fit
from pfid.bootstrap.launch import (
    BoxChildren,
    BoxWatchers,
    build_box,
    nonce,
    user_records,
    utc_stamp,
)
from pfid.domain.errors import LaunchError
from pfid.domain.run import RunSource
from pfid.launch.attach import attach
from pfid.launch.older_text import FoundLog, older_bytes
from pfid.launch.ports import Held
from pfid.launch.start import fingerprint
from pfid.policy.job_identity import job_identity
from pfid.policy.masking import mask_argv
from pfid.policy.run_name import default_name, new_run_id
from pfid.wire.record import RecordedLog, RecordedProcess, RunRecord, recorded

_HEAD_BYTES: Final = 4096
_LOOK: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def attach_process(
    environ: Mapping[str, str],
    pid: int,
    *,
    name: str | None,
    logs: Sequence[str],
    say: Callable[[str], None],
) -> tuple[RunRecord, str]:
    """Take a process under watch; returns its record and what to tell the person.

    Raises:
        ProcessGoneError: if it has ended.
        LaunchError: if it is another user's, or its name or log is a living run's.
    """
    captured = process_identity.capture(pid)
    try:
        _refuse_if_not_ours(pid)
        records = user_records(environ)
        record = _record(captured, name, logs, records.current(), environ)
        with BoxChildren() as children:
            box = build_box(records, children, say)
            held = Held(identity=captured.identity, pidfd=captured.pidfd)
            return record, attach(box, BoxWatchers(environ, records), record, held)
    finally:
        os.close(captured.pidfd)


def _refuse_if_not_ours(pid: int) -> None:
    owner = process_facts.owner_uid(pid)
    if os.geteuid() not in {0, owner}:
        raise LaunchError(f"process {pid} belongs to another user; ask its owner, or root")
    if pid == os.getpid():
        raise LaunchError("pfid does not watch itself")


def _record(
    captured: Captured,
    name: str | None,
    logs: Sequence[str],
    earlier: Sequence[RunRecord],
    environ: Mapping[str, str],
) -> RunRecord:
    pid = captured.identity.pid
    readable = captured.stat.state != "D"
    argv = process_facts.command_line(pid) if readable else ()
    job = job_identity(process_facts.environment(pid) if readable else {})
    called = name or default_name(argv or (captured.stat.comm,))
    cwd = process_facts.working_directory(pid)
    process = recorded(captured.identity)
    return RunRecord(
        run_id=new_run_id(called, utc_stamp(time.time()), nonce()),
        name=called,
        process=process,
        started_at_s=process_identity.started_at_s(captured.stat.start_ticks),
        source=RunSource.CAPTURED.value,
        argv=list(mask_argv(argv)[0]),
        cwd=cwd,
        logs=[_log(path, process, earlier) for path in _paths(pid, logs)],
        fingerprint=fingerprint(argv, cwd, job.world_size),
        fit=kept_fit(called, environ),
        job_id=job.job_id,
        rank=job.rank,
        world_size=job.world_size,
    )


def _paths(pid: int, said: Sequence[str]) -> list[str]:
    own = process_facts.output_file(pid)
    paths = list(said) or ([own] if own is not None else [])
    return [os.path.abspath(path) for path in paths]  # noqa: PTH100 - as the user named it


def _log(path: str, process: RecordedProcess, earlier: Sequence[RunRecord]) -> RecordedLog:
    """What was written before the process was attached is not this watch's to tell."""
    try:
        descriptor = os.open(path, _LOOK)
    except OSError:
        return RecordedLog(path=path)
    try:
        return _seen_log(path, descriptor, process, earlier)
    finally:
        os.close(descriptor)


def _seen_log(
    path: str, descriptor: int, process: RecordedProcess, earlier: Sequence[RunRecord]
) -> RecordedLog:
    file = os.fstat(descriptor)
    if not stat.S_ISREG(file.st_mode):
        return RecordedLog(path=path)
    found = FoundLog(
        file_id=file_identity.file_id(descriptor),
        size_bytes=file.st_size,
        appended=process_facts.appends_to(process.pid, path),
        head=partial(file_identity.head_digest, descriptor),
    )
    head_bytes = min(found.size_bytes, _HEAD_BYTES)
    return RecordedLog(
        path=path,
        begins_at=found.size_bytes,
        older_bytes=older_bytes(found, process, earlier),
        file_id=found.file_id,
        head_bytes=head_bytes,
        head=found.head(head_bytes),
    )
