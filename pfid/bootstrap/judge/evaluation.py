"""The evaluation under judgement: its spec, its records, and whoever can be asked about it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfid.adapters.python_introspection import PROBES, PythonIntrospection
from pfid.config.gates import GateSpec
from pfid.config.model import Config
from pfid.domain.interpreter import PythonAnswer
from pfid.spec.ports.results import ResultFacts


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is judged.

    Attributes:
        name: record of its judgement is kept under it.
        spec: what is asked.
        folder: absolute, of the spec; its paths begin there.
        state: the user's own folder for what is kept between two looks.
        results: both arms, and what was judged before.
        config: limits of the spec among it.
        formats: in which its files were written.
        environ: the user's metrics are started with.
        told: how far something long is.
    """

    name: str
    spec: GateSpec
    folder: Path
    state: Path
    results: ResultFacts
    config: Config
    formats: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    told: Callable[[str], None] = lambda _: None

    def ask(self, question: str, asked: Mapping[str, Any], *, deadline_s: float) -> PythonAnswer:
        """Ask the interpreter of the user's metrics, in the folder of the spec."""
        named = os.path.expanduser(self.spec.python)  # noqa: PTH111 - before it is joined
        program = str(self.folder / named) if "/" in named else named
        python = PythonIntrospection(program or None, self.environ, str(self.folder))
        known = {"folder": str(self.folder), "probes": str(PROBES), **asked}
        return python.ask(question, known, deadline_s=deadline_s)
