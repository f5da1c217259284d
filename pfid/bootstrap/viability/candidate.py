"""The base model that may be chosen, and what it is held against."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pfid.adapters.model_files import ModelFiles, read_model
from pfid.adapters.process_identity import machine_id
from pfid.adapters.python_introspection import PythonIntrospection
from pfid.config.paths import user_state_dir
from pfid.domain.training_plan import Plan
from pfid.formats.untrusted import printable

NAME_MAX_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What is asked about.

    Attributes:
        paths: a folder, or files of it.
        plan: how it would be trained.
        python: the training interpreter, by path or name; "" if nobody named it.
        recipe: a recipe card; None without.
        alignment: ``stock`` or ``abliterated``, as somebody says; "" if nobody does.
        environ: what training is started with.
    """

    paths: tuple[Path, ...]
    plan: Plan
    python: str = ""
    recipe: Path | None = None
    alignment: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def files(self) -> ModelFiles:
        """Its files, read once."""
        return read_model(self.paths)

    @property
    def name(self) -> str:
        """What verdicts call it: never a path."""
        return printable(self.files.name, NAME_MAX_CHARS)

    @property
    def state(self) -> Path:
        """The user's own folder for what is kept between two looks."""
        return user_state_dir(self.environ, machine_id())

    @property
    def interpreter(self) -> PythonIntrospection:
        """The training interpreter, in the current folder."""
        here = str(Path.cwd())
        named = os.path.abspath(self.python) if "/" in self.python else self.python  # noqa: PTH100
        return PythonIntrospection(named or None, self.environ, here, imports=False)
