"""Proves a serving path: launches the engine as any run, puts it on trial, keeps how that ended."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid import __version__
from pfid.adapters.engine_http import EngineClient
from pfid.adapters.manifest_files import MANIFEST, read_manifest
from pfid.adapters.model_files import read_model
from pfid.adapters.process_identity import machine_id
from pfid.adapters.proof_files import ProofFiles, file_sha256, tail_of
from pfid.bootstrap.launch import build_launcher, nonce, user_records, utc_stamp
from pfid.bootstrap.viability.proven_parts import model_in, proven_engine, proven_model
from pfid.bootstrap.viability.trial import EngineTrial
from pfid.bootstrap.viability.trial_children import EngineChildren
from pfid.config.paths import user_state_dir
from pfid.domain.errors import LaunchError, PfidError, StateError
from pfid.domain.exit_status import ExitStatus
from pfid.domain.names import RUN_NAME_MAX_CHARS, slug
from pfid.domain.provenance import InterpreterIdentity
from pfid.domain.serving import ServingEnd, Shape
from pfid.formats.engine_command import EngineCommand, is_detached, read_engine_command
from pfid.formats.engine_words import cause, ran_out_of_memory
from pfid.formats.untrusted import printable
from pfid.launch.ports import Echo
from pfid.launch.request import LaunchRequest
from pfid.launch.run import Launcher, run
from pfid.policy.masking import mask_argv
from pfid.policy.serving import Trial, classify
from pfid.wire.record import RecordedLog, RunRecord
from pfid.wire.serving import ProvenModel, ServingProof

TAIL_BYTES: Final = 1 << 20
LINE_MAX_CHARS: Final = 500


class NotProvableError(PfidError):
    """The trial cannot be made as it was asked for."""


class InterruptedTrialError(PfidError):
    """A person ended the trial: it says nothing of the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What shall be proven.

    Attributes:
        argv: the command that starts the engine.
        model: folder of the model; None to find it in the command.
        url: where the engine will answer; "" to find it in the command.
        shape: what is served; None to tell by the command's options.
        names: adapters or models of which one shall answer.
        deadline_s: from start to completion.
        grace_s: between asking the engine to end and killing it.
        environ: of the asker.
        cwd: where it is started.
        say: tells the person.
    """

    argv: Sequence[str]
    model: Path | None = None
    url: str = ""
    shape: Shape | None = None
    names: tuple[str, ...] = ()
    deadline_s: float = 600.0
    grace_s: float = 15.0
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: str = ""
    say: Callable[[str], None] = lambda _: None


def prove_serving(asked: Asked) -> tuple[ServingProof, Path]:
    """Make the trial; the proof and where it is kept.

    Raises:
        NotProvableError: if there is no model to bind a proof to, or the port is taken.
        InterruptedTrialError: if a person ended it; nothing is kept then.
        LaunchError: if the command cannot be launched.
        StateError: if nothing can be kept.
    """
    if is_detached(asked.argv):
        raise NotProvableError(
            "the container would go on in the background, where nobody ends it: start it without "
            "-d (and with --rm)"
        )
    command = read_engine_command(asked.argv)
    model = _model(asked)
    client = EngineClient(asked.url or command.url, _key(asked, command))
    if client.listens():
        raise NotProvableError(
            f"something listens on {client.host}:{client.port} already: its answers would be "
            "taken for the engine's; end it, or give this engine another --port"
        )
    files = ProofFiles(user_state_dir(asked.environ, machine_id()))
    stem = f"{slug(model.name)[:60]}-{utc_stamp(time.time())}-{nonce()}"
    trial = EngineTrial(
        client,
        asked.environ,
        asked.say,
        names=asked.names or command.adapters,
        deadline_s=asked.deadline_s,
        grace_s=asked.grace_s,
    )
    record = _launch(asked, trial, model, files.log_for(stem))
    if trial.interrupted:
        raise InterruptedTrialError("the trial was ended by a signal: nothing is kept of it")
    proof = _proof(asked, command, model, trial, record)
    return proof, files.keep(stem, proof)


def _model(asked: Asked) -> ProvenModel:
    folder = asked.model or model_in(asked.argv, asked.cwd)
    if folder is None:
        raise NotProvableError(
            "the command names no folder with a config.json: say --model DIR, so that the proof "
            "can be found again"
        )
    model = proven_model(read_model((folder,)))
    if model is None:
        raise NotProvableError(f"{folder}: no configuration that can be read")
    return model


def _key(asked: Asked, command: EngineCommand) -> str:
    return command.api_key or asked.environ.get("VLLM_API_KEY", "")


def _launch(asked: Asked, trial: EngineTrial, model: ProvenModel, log: Path) -> RunRecord:
    """Launch it as ``pfid run`` does: guard, identity, log, provenance, watcher, end."""
    request = LaunchRequest(
        name=f"serving-{model.name}"[:RUN_NAME_MAX_CHARS],
        argv=asked.argv,
        log_paths=(str(log),),
        environ=asked.environ,
        cwd=asked.cwd,
    )
    with EngineChildren(trial, asked.grace_s) as children:
        built = build_launcher(asked.environ, children, asked.say, shown=False)
        launcher = Launcher(
            box=built.box, watchers=built.watchers, echo=lambda *_: _SeenThrough(children)
        )
        try:
            ran = run(launcher, request)
        finally:
            if trial.under_way:
                trial.interrupt()
                trial.finish()
    return ran.attempts[-1]


class _SeenThrough(Echo):
    """Where a run's echo stands: told when the child has ended, it sees the trial through."""

    def __init__(self, children: EngineChildren) -> None:
        self._children = children

    def finish(self) -> None:
        """Let the trial come to its end."""
        self._children.see_through()


def _proof(
    asked: Asked,
    command: EngineCommand,
    model: ProvenModel,
    trial: EngineTrial,
    record: RunRecord,
) -> ServingProof:
    (log, *_) = record.logs
    tail = tail_of(log.path, TAIL_BYTES)
    status = _status(trial, record)
    end = classify(
        Trial(
            completed=trial.completed,
            lived_on=trial.lived_on,
            answered=trial.bad is not None,
            status=status,
            oom_kills=trial.oom_kills(),
            memory_words=ran_out_of_memory(tail),
        )
    )
    argv, _masked = mask_argv(asked.argv)
    flags, _masked = mask_argv(command.flags)
    return ServingProof(
        run_id=record.run_id,
        at_s=time.time(),
        engine=proven_engine(
            asked.argv, asked.environ, asked.cwd, _interpreter(asked, record), trial.version
        ),
        model=model,
        shape=asked.shape or command.shape,
        argv=tuple(argv),
        flags=tuple(flags),
        end=end,
        error=_error(end, trial, status, tail, log),
        exit_code=status.exit_code if status is not None else None,
        signal=status.signal if status is not None else None,
        ready_s=trial.ready_s,
        served_name=printable(trial.served, LINE_MAX_CHARS),
        answers=tuple(printable(line, LINE_MAX_CHARS) for line in trial.answers.values()),
        log=log.path,
        log_sha256=file_sha256(log.path),
        pfid=__version__,
    )


def _status(trial: EngineTrial, record: RunRecord) -> ExitStatus | None:
    if trial.taken_down or record.end is None:
        return None
    return ExitStatus(exit_code=record.end.exit_code, signal=record.end.signal)


def _interpreter(asked: Asked, record: RunRecord) -> InterpreterIdentity | None:
    folder = user_records(asked.environ).run_dir(record.run_id)
    try:
        return read_manifest(folder / MANIFEST).manifest.interpreter
    except StateError:
        return None


def _error(
    end: ServingEnd,
    trial: EngineTrial,
    status: ExitStatus | None,
    tail: bytes,
    log: RecordedLog,
) -> tuple[str, ...]:
    """The engine's own words, and what pfid saw of it."""
    if end is ServingEnd.READY:
        return ()
    said = []
    if status is not None:
        by = f"signal {status.signal}" if status.signal else f"exit status {status.exit_code}"
        kills = trial.oom_kills()
        said.append(f"it ended by {by}" + (f"; {kills} killed for memory" if kills else ""))
        if status.success and not trial.completed:
            said.append("start it in the foreground: what it left behind, if anything, is not seen")
    if trial.bad is not None:
        said.append(printable(f"{trial.bad.short}: {trial.bad.text}", LINE_MAX_CHARS))
    return (*cause(tail), *said, f"its log: {log.path}")


__all__ = ["Asked", "InterruptedTrialError", "LaunchError", "NotProvableError", "prove_serving"]
