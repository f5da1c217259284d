"""A scratch project that faults are planted in: a real repository, and the real interpreter."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from pfid.adapters.bounded_process import found_program
from pfid.adapters.manifest_files import write_manifest
from pfid.adapters.process_identity import capture, machine_id
from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.live.canary import NotDeliveredError
from pfid.bootstrap.live.ground import Legs
from pfid.bootstrap.live.witness import NotSeenError
from pfid.bootstrap.preflight.project import Project
from pfid.bootstrap.preflight.world import project_world
from pfid.config.paths import user_state_dir
from pfid.config.preflight.spec import Spec
from pfid.domain.errors import PfidError
from pfid.domain.outcome import Outcome
from pfid.domain.provenance import InterpreterIdentity, Manifest
from pfid.policy.evaluate import run_check
from pfid.policy.launch_identity import interpreter_identity
from pfid.spec.check import AnyCheck
from pfid.wire.record import RunRecord, recorded

NAME: Final = "pfid-selftest"
_IDENTITY: Final = ("-c", "user.name=pfid", "-c", "user.email=selftest@localhost")
_GIT_S: Final = 30.0


class GitMissingError(PfidError):
    """There is no git on this box."""


class ProjectGround:
    """The project of one drill, under a folder of its own that is removed at its end.

    Attributes:
        legs: what was seen.
        folder: the working tree.
        state: the user's own folder, of a user who has no other.
    """

    def __init__(self, check: AnyCheck) -> None:
        """Make the repository, with one commit.

        Raises:
            GitMissingError: if there is no git.
        """
        self.legs = Legs()
        self._check = check
        self._spec = Spec()
        self._undo = ExitStack()
        root = Path(self._undo.enter_context(tempfile.TemporaryDirectory("-pfid-drill")))
        self.folder = root / "project"
        self.outside = root / "outside"
        self._environ = _environ(root)
        self.state = user_state_dir(self._environ, machine_id())
        try:
            self.outside.mkdir()
            self.folder.mkdir()
            self.git("init", "--quiet")
            self.write("train.py", "print('training')\n")
            self.commit()
        except BaseException:
            self._undo.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def ask(self, **tables: object) -> None:
        """Say what the spec says, from now on."""
        self._spec = replace(Spec(python=sys.executable), **tables)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project, and read it back.

        Raises:
            NotDeliveredError: if something else stands there.
        """
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        if path.read_text(encoding="utf-8") != text:
            raise NotDeliveredError(f"{name} does not hold what was written")

    def commit(self) -> str:
        """Commit everything; returns the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a drill")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        """Run git in the project.

        Raises:
            GitMissingError: if there is none.
            NotDeliveredError: if it fails.
        """
        program = found_program("git", self._environ, "/")
        if program is None:
            raise GitMissingError("there is no git on the PATH")
        try:
            done = subprocess.run(  # noqa: S603 - git, with words of our own
                [program, *_IDENTITY, "-C", str(self.folder), *arguments],
                env=self._environ, capture_output=True, text=True, timeout=_GIT_S, check=True,
            )  # fmt: skip
        except subprocess.SubprocessError as error:
            raise NotDeliveredError(f"git {arguments[0]}: {error}") from error
        return done.stdout.strip()

    def manifest(self, manifest: Manifest) -> Path:
        """Write the manifest of a smoke run, outside of the tree; returns where."""
        folder = self.outside / "smoke"
        folder.mkdir(exist_ok=True)
        write_manifest(folder, manifest)
        return folder / "provenance.json"

    def interpreter(self) -> InterpreterIdentity:
        """The training interpreter of the project, and what is installed in it."""
        return interpreter_identity(self._project.ask("distributions", {}))

    def living_run(self, name: str) -> Callable[[], None]:
        """Record a process that lives as a run of a name; returns what ends it."""
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], env=self._environ
        )
        self._undo.callback(process.wait)
        self._undo.callback(process.kill)
        captured = capture(process.pid)
        os.close(captured.pidfd)
        record = RunRecord(
            run_id=f"{name}-1",
            name=name,
            process=recorded(captured.identity),
            started_at_s=time.time(),
        )
        records = RunRecords(self.state)
        records.make_run_dir(record.run_id, 1)
        records.commit(record)
        records.point_to(record)

        def end() -> None:
            process.kill()
            process.wait()

        return end

    def good(self, code: str) -> None:
        """The check must say PASS, for this reason."""
        self._expect(Outcome.PASS, code)

    def bad(self, code: str) -> None:
        """The check must say FAIL, for this reason."""
        self._expect(Outcome.FAIL, code)

    @property
    def _project(self) -> Project:
        return Project(spec=self._spec, folder=self.folder, state=self.state, environ=self._environ)

    def _expect(self, outcome: Outcome, code: str) -> None:
        began_s = time.monotonic()
        verdict = run_check(self._check, project_world(self._project))
        if (verdict.outcome, verdict.reason) != (outcome, code):
            seen = f"{verdict.outcome.value} {verdict.reason} {'; '.join(verdict.evidence)}"
            raise NotSeenError(f"no {outcome.value} {code}: the verdict is {seen.rstrip()}"[:300])
        self.legs.outcomes.append(outcome)
        self.legs.seconds.append(time.monotonic() - began_s)


def _environ(root: Path) -> dict[str, str]:
    """What a user has who owns nothing but the scratch folder, and no daemon."""
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "LD_LIBRARY_PATH", "LANG"}}
    return {
        **kept,
        "HOME": str(root),
        "XDG_STATE_HOME": str(root / "state"),
        "XDG_CONFIG_HOME": str(root / "config"),
        "PFID_SOCKET": str(root / "nobody.sock"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
