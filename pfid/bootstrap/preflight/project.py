"""The project that would be launched, and the training interpreter asked in its folder."""

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pfid.adapters.git_repository import GitRepository
from pfid.adapters.python_introspection import PROBES, PythonIntrospection
from pfid.config.preflight.spec import Spec
from pfid.spec.ports.git import GitFacts
from pfid.spec.ports.python import PythonAnswer

SIGNATURE_FILE: Final = Path(__file__).parents[2] / "trainer" / "signature.py"
DEADLINE_S: Final = 60.0
"""Of one question; a first import of torch from a cold disk takes half of it."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """What is asked about.

    Attributes:
        spec: what it says about itself.
        folder: absolute, of the spec; where training is started.
        environ: what training is started with.
        state: the user's own folder for what is kept between two looks.
        argv: the command that is about to be launched, where that is known.
        argv_cwd: from where; the folder itself if None.
    """

    spec: Spec
    folder: Path
    state: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    argv: tuple[str, ...] = ()
    argv_cwd: Path | None = None

    def of_spec(self, spec: Spec) -> "Project":
        """The same project, spoken of otherwise."""
        return replace(self, spec=spec)

    @property
    def name(self) -> str:
        """What verdicts call it."""
        return self.spec.name or self.folder.name or "project"

    @property
    def command(self) -> tuple[str, ...]:
        """What will be launched: what is about to be, else what the spec says."""
        return self.argv or tuple(self.spec.command)

    @property
    def cwd(self) -> Path:
        """From where."""
        return self.argv_cwd if self.argv and self.argv_cwd is not None else self.folder

    def about_to_launch(self, argv: Sequence[str], cwd: Path) -> "Project":
        """The same project, with the command that is about to be launched."""
        return replace(self, argv=tuple(argv), argv_cwd=cwd)

    @property
    def repository(self) -> GitRepository:
        """The repository around its folder."""
        return GitRepository(str(self.folder), self.environ)

    @cached_property
    def git(self) -> GitFacts:
        """The repository, looked at once."""
        return self.repository.facts()

    @property
    def clean_commit(self) -> str | None:
        """The commit that names everything that would run; None if none does."""
        return self.git.commit if not self.git.problem.value and self.git.dirty is False else None

    def path(self, name: str) -> Path:
        """A path of the spec."""
        return self.folder / os.path.expanduser(name)  # noqa: PTH111 - before it is joined

    def ask(
        self,
        question: str,
        asked: Mapping[str, Any],
        *,
        deadline_s: float = DEADLINE_S,
        more: Mapping[str, str] | None = None,
    ) -> PythonAnswer:
        """Ask the training interpreter, in the project's folder.

        Args:
            question: a file of pfid.probes.
            asked: besides the folder and where pfid's probes lie.
            deadline_s: when it is ended.
            more: changes of its environment.
        """
        return self.ask_at(self.folder, question, asked, deadline_s=deadline_s, more=more)

    def ask_at(
        self,
        folder: Path,
        question: str,
        asked: Mapping[str, Any],
        *,
        deadline_s: float = DEADLINE_S,
        more: Mapping[str, str] | None = None,
    ) -> PythonAnswer:
        """Ask it in another folder: a copy of the project."""
        python = self._python(folder, more or {})
        known = {"folder": str(folder), "probes": str(PROBES), **asked}
        return python.ask(question, _json(known), deadline_s=deadline_s)

    @property
    def interpreter(self) -> PythonIntrospection:
        """The training interpreter, as a check may ask it."""
        return self._python(self.folder, {})

    def _python(self, folder: Path, more: Mapping[str, str]) -> PythonIntrospection:
        name = self.spec.python
        named = str(self.path(name)) if "/" in name else name
        return PythonIntrospection(named or None, {**self.environ, **more}, str(folder))


def _json(value: Any) -> Any:
    """TOML knows dates, JSON does not."""
    if isinstance(value, dict):
        return {str(name): _json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value
