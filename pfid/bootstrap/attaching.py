"""Joins ``pfid attach`` to this box: who the process is, and where it writes."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pfid.adapters import process_facts, process_identity
from pfid.adapters.process_identity import Captured
from pfid.bootstrap.attached_log import attached_log
from pfid.bootstrap.engine_config import refuse_unusable
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
from pfid.launch.ports import Held
from pfid.launch.start import fingerprint
from pfid.policy.job_identity import job_identity
from pfid.policy.masking import mask_argv
from pfid.policy.run_name import default_name, new_run_id
from pfid.wire.record import RunRecord, recorded

_FIRST_PID: Final = 1


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
        ConfigError: if a configuration is there that no engine can use.
    """
    refuse_unusable(environ)
    captured = process_identity.capture(pid)
    try:
        _refuse_if_not_ours(pid)
        for doubt in _doubts(pid, logs):
            say(doubt)
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


def _doubts(pid: int, logs: Sequence[str]) -> Iterator[str]:
    """What is most likely a slip of the hand, and can be meant all the same."""
    if pid == _FIRST_PID:
        yield "WARNING: process 1 is what all others descend from, and is over when the box is"
    for path in logs:
        if not os.path.exists(path):  # noqa: PTH110 - as the user named it
            yield f"WARNING: no log is followed: there is no file {os.path.abspath(path)}"  # noqa: PTH100


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
        logs=[attached_log(path, process, earlier) for path in _paths(pid, logs)],
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
