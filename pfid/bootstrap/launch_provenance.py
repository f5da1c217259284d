"""Joins a launch's provenance to git, the training interpreter, declared files and the machine."""

import os
import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pfid import __version__
from pfid.adapters.git_repository import GitRepository
from pfid.adapters.host_facts import host_identity
from pfid.adapters.manifest_files import write_manifest
from pfid.bootstrap.asked_python import Asked, NotAsked, ask
from pfid.bootstrap.declarations import Declarations
from pfid.config.paths import steps_dir
from pfid.domain.provenance import (
    CommandIdentity,
    Ending,
    Field,
    FileIdentity,
    FileRole,
    Manifest,
)
from pfid.launch.request import LaunchRequest
from pfid.policy.launch_environ import launch_environ
from pfid.policy.launch_identity import code_identity
from pfid.policy.masking import mask_argv
from pfid.policy.provenance_fields import at_launch, with_heard, with_observed
from pfid.wire.record import RecordedEnd, RecordedLog, RunRecord

_WORTH_SAYING: Final = frozenset({"dubious_ownership", "git_hung", "git_failed"})
OBSERVATIONS: Final = "observations.jsonl"
FILES_SAID: Final = 5
"""Declared files without a digest that are named at the terminal; the manifest names all."""


class LaunchProvenance:
    """One launcher's manifests: sampled once each, carried to the end in memory."""

    def __init__(
        self,
        say: Callable[[str], None],
        declared: Declarations,
        cache_file: Path,
    ) -> None:
        """Nothing is sampled yet.

        Args:
            say: tells the person at the terminal.
            declared: what the spec says.
            cache_file: where digests are kept, if the spec wants that.
        """
        self._say = say
        self._declared = declared
        self._cache_file = cache_file if declared.table.trust_unchanged else None
        self._asked: Asked = NotAsked()
        self._manifests: dict[str, Manifest] = {}

    def begin(self, request: LaunchRequest) -> None:
        """Ask the interpreter, which takes longest; the rest is looked at meanwhile."""
        self._asked = ask(request, self._declared.python)

    def drop(self) -> None:
        """End the question that nobody waits for any more."""
        self._asked.drop()
        self._asked = NotAsked()

    def sample(self, request: LaunchRequest, run_id: str, attempt: int, run_dir: Path) -> None:
        """Sample everything, then write it."""
        declared = self._declared
        at_s = time.time()
        code = code_identity(GitRepository(request.cwd, request.environ).facts())
        interpreter = self._asked.identity()
        self._tell("git", code.problem)
        self._tell("the training interpreter", interpreter.problem)
        files = _unread(declared) or self._digests(declared.inputs())
        fields: Mapping[str, Field] = at_launch(
            declared.table.requested,
            declared.file,
            request.expect_step_s,
            declared.table.pairs,
        )
        if declared.base:
            fields, unread = self._with_base(fields, run_dir)
            files = (*files, *unread)
        manifest = Manifest(
            run_id=run_id,
            name=request.name,
            attempt=attempt,
            sampled_at_s=at_s,
            command=_command(request, declared.table.environ),
            host=host_identity(request.environ, declared.table.container),
            code=code,
            interpreter=interpreter,
            files=files,
            fields=fields,
            expected=declared.table.pairs,
        )
        self._manifests[run_id] = manifest
        write_manifest(run_dir, manifest)

    def complete(self, record: RunRecord, run_dir: Path) -> None:
        """Add the end and what was observed."""
        manifest, end = self._manifests.pop(record.run_id, None), record.end
        if manifest is None or end is None:
            return
        fields, bad = _with_observations(manifest, run_dir / OBSERVATIONS)
        fields, problem = _with_steps(fields, steps_dir(run_dir), record.logs)
        done = replace(
            manifest,
            complete=True,
            fields=fields,
            files=(*manifest.files, *self._digests(self._declared.outputs())),
            end=_ending(end, bad, problem),
        )
        write_manifest(run_dir, done)

    def _tell(self, who: str, problem: str | None) -> None:
        """What keeps a launch waiting, or looks like an accident, is said; the run goes on."""
        if problem in _WORTH_SAYING or (problem or "").startswith("python_"):
            self._say(f"provenance: {who} tells nothing ({(problem or '').replace('_', ' ')})")

    def _with_base(
        self, fields: Mapping[str, Field], run_dir: Path
    ) -> tuple[Mapping[str, Field], tuple[FileIdentity, ...]]:
        """What the base's tensors hold while the run does not exist, or that nobody can tell.

        Raises:
            StateError: if it cannot be written.
        """
        from pfid.bootstrap.viability.recorded_base import record_at_launch

        said, problem = record_at_launch(Path(self._declared.base), run_dir)
        if said is None:
            self._say(f"provenance: the base is not recorded: {problem}")
            unread = FileIdentity(
                role=FileRole.AUXILIARY, path=self._declared.base, problem="weights_unreadable"
            )
            return fields, (unread,)
        return with_observed(fields, "base.weights", said), ()

    def _digests(self, wanted: Sequence[tuple[FileRole, str]]) -> tuple[FileIdentity, ...]:
        if not wanted:
            return ()
        from pfid.adapters.content_digest import Declared, DigestCache, digest_all

        found = digest_all(
            [Declared(role=role, path=path) for role, path in wanted],
            self._say,
            DigestCache(self._cache_file),
        )
        without = [one for one in found if one.problem is not None]
        for one in without[:FILES_SAID]:
            problem = (one.problem or "").replace("_", " ")
            self._say(f"provenance: {one.path} has no digest ({problem})")
        if len(without) > FILES_SAID:
            self._say(f"provenance: and {len(without) - FILES_SAID} more have none")
        return found


def _command(request: LaunchRequest, also: Sequence[str]) -> CommandIdentity:
    argv, masked = mask_argv(request.argv)
    return CommandIdentity(
        argv=argv,
        masked=masked,
        cwd=request.cwd,
        environ=launch_environ(request.environ, also),
        user=_user(),
        pfid=__version__,
    )


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _unread(declared: Declarations) -> tuple[FileIdentity, ...]:
    if not declared.problem:
        return ()
    return (FileIdentity(role=FileRole.CONFIG, path=declared.file, problem=declared.problem),)


def _with_observations(manifest: Manifest, file: Path) -> tuple[Mapping[str, Field], int]:
    """What the run's processes said; how many lines say nothing."""
    if not file.exists():
        return manifest.fields, 0
    from pfid.bootstrap.run_observations import heard_in

    heard, bad = heard_in(file)
    return with_heard(manifest.fields, heard, manifest.expected), bad


def _with_steps(
    fields: Mapping[str, Field], folder: Path, logs: Sequence[RecordedLog]
) -> tuple[Mapping[str, Field], str | None]:
    if not _wrote_anything(folder, logs):
        return fields, "nothing_written"
    from pfid.bootstrap.run_steps import run_steps

    told = run_steps(folder, logs)
    for name, said in (("step_seconds", told.seconds), ("dynamo.counters", told.dynamo)):
        if said is not None:
            fields = with_observed(fields, name, said)
    return fields, told.problem


def _wrote_anything(folder: Path, logs: Sequence[RecordedLog]) -> bool:
    """Whether there is anything to read but the line that pfid put first.

    Asked before the readers are loaded: a command that says nothing pays nothing for them.
    """
    with suppress(OSError):
        if any(file.stat().st_size for file in folder.iterdir()):
            return True
    for log in logs:
        with suppress(OSError):
            own = log.head_bytes if log.ours else log.begins_at
            if os.stat(log.path).st_size > own:  # noqa: PTH116 - a plain string
                return True
    return False


def _ending(end: RecordedEnd, bad: int, problem: str | None) -> Ending:
    return Ending(
        exit_code=end.exit_code,
        signal=end.signal,
        at_s=end.at_s,
        bad_observations=bad,
        steps_problem=problem,
    )
