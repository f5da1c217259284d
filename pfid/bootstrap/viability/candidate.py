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
from pfid.domain.serving import Shape
from pfid.domain.training_plan import Method, Plan
from pfid.formats.untrusted import printable

NAME_MAX_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class NamedEngine:
    """The engine that would serve.

    Attributes:
        name: as ``vllm``.
        python: interpreter that has it installed, by path or name; "" if a folder is named.
        path: its package, or a folder that holds it; None if an interpreter is named.
        adapter: an adapter that would be served by it; None without.
    """

    name: str
    python: str = ""
    path: Path | None = None
    adapter: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What is asked about.

    Attributes:
        paths: a folder, or files of it.
        plan: how it would be trained.
        python: the training interpreter, by path or name; "" if nobody named it.
        recipe: a recipe card; None without.
        alignment: ``stock`` or ``abliterated``, as somebody says; "" if nobody does.
        engine: that would serve it; None if nobody names one.
        serve: ``adapter``, ``merged`` or ``none``: what will be served; "" to tell by the plan.
        environ: what training is started with.
    """

    paths: tuple[Path, ...]
    plan: Plan
    python: str = ""
    recipe: Path | None = None
    alignment: str = ""
    engine: NamedEngine | None = None
    serve: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def served_as(self) -> Shape | None:
        """What will be served of it; None if nothing."""
        if self.serve:
            return None if self.serve == "none" else Shape(self.serve)
        return Shape.MERGED if self.plan.method is Method.FULL else Shape.ADAPTER

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
        return self._python(self.python)

    @property
    def engine_interpreter(self) -> PythonIntrospection:
        """The interpreter that has the engine."""
        return self._python(self.engine.python if self.engine is not None else "")

    def _python(self, python: str) -> PythonIntrospection:
        named = os.path.abspath(python) if "/" in python else python  # noqa: PTH100
        return PythonIntrospection(named or None, self.environ, str(Path.cwd()), imports=False)
