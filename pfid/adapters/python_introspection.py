"""The training interpreter, asked by running a probe file in it (pfid.spec.ports.python)."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pfid.adapters.bounded_process import (
    BoundedProcess,
    CannotStartError,
    Finished,
    found_program,
)
from pfid.domain.interpreter import PythonAnswer, PythonProblem

PROBES: Final = Path(__file__).parents[1] / "probes"
ANSWER_MAX_BYTES: Final = 1 << 24
_OLD: Final = re.compile(r"[0-2]\.|3\.[0-8](\.|\Z)")


class PythonIntrospection:
    """One interpreter, in the environment and folder that training has."""

    def __init__(
        self,
        python: str | None,
        environ: Mapping[str, str],
        folder: str,
        *,
        imports: bool = True,
        flags: Sequence[str] = (),
    ) -> None:
        """Nothing is started yet.

        Args:
            python: its path, or its name to be looked for as a shell does; None if nobody named it.
            environ: what training is started with.
            folder: absolute, where training is started.
            imports: whether modules in ``folder`` can be imported, as in ``python -m``.
            flags: the interpreter's own, as ``-I``.
        """
        self._python = python
        self._environ = environ
        self._folder = folder
        self._imports = imports
        self._flags = flags

    def ask(
        self, question: str, asked: Mapping[str, Any] | None = None, *, deadline_s: float = 30.0
    ) -> PythonAnswer:
        """Ask a question, and wait."""
        return self.start(question, asked, deadline_s=deadline_s).answer()

    def start(
        self, question: str, asked: Mapping[str, Any] | None = None, *, deadline_s: float = 30.0
    ) -> "Pending":
        """Ask a question; whoever asks takes the answer, or drops it, before the deadline."""
        script = PROBES / f"{question}.py"
        if not script.is_file():
            raise ValueError(f"there is no question {question!r} in {PROBES}")
        if self._python is None:
            return Pending("", problem=PythonProblem.NOT_CONFIGURED)
        program = found_program(self._python, self._environ, self._folder)
        if program is None:
            return Pending(self._python, problem=PythonProblem.NOT_FOUND)
        try:
            process = BoundedProcess(
                [
                    program,
                    *self._flags,
                    str(PROBES / "ask.py"),
                    str(script),
                    self._folder,
                    "imports" if self._imports else "-",
                    f"{deadline_s:g}",
                ],
                {**self._environ, "PFID_ASKED": json.dumps(asked or {})},
                deadline_s=deadline_s,
                out_max_bytes=ANSWER_MAX_BYTES,
                answers=True,
            )
        except CannotStartError as error:
            return Pending(program, problem=PythonProblem.NOT_STARTED, detail=str(error))
        return Pending(program, process=process)


class Pending:
    """A question under way."""

    def __init__(
        self,
        python: str,
        *,
        process: BoundedProcess | None = None,
        problem: PythonProblem = PythonProblem.NONE,
        detail: str = "",
    ) -> None:
        """Keep the process, or why there is none."""
        self._python = python
        self._process = process
        self._problem = problem
        self._detail = detail

    def answer(self) -> PythonAnswer:
        """Wait for the answer."""
        if self._process is None:
            return PythonAnswer(problem=self._problem, detail=self._detail, python=self._python)
        with self._process as process:
            return _understood(self._python, process.finish())

    def drop(self) -> None:
        """End it: nobody wants the answer any more."""
        if self._process is not None:
            with self._process:
                pass


def _understood(python: str, finished: Finished) -> PythonAnswer:
    """Tell an answer from every way not to give one."""
    said = _envelope(finished.out)
    if finished.hung:
        return PythonAnswer(problem=PythonProblem.HUNG, detail=finished.last_line(), python=python)
    if said is None:
        return PythonAnswer(
            problem=_why_none(finished), detail=_last_words(finished), python=python
        )
    answer, raised = said.get("answer"), said.get("raised")
    calls_itself, version = str(said.get("python") or python), str(said.get("version"))
    if isinstance(answer, dict):
        return PythonAnswer(said=answer, python=calls_itself, version=version)
    problem, detail = PythonProblem.RUBBISH, "its answer is no JSON object"
    if isinstance(raised, str):
        problem, detail = PythonProblem.RAISED, raised.strip()
    elif "answer" not in said and _OLD.match(version):
        problem, detail = PythonProblem.TOO_OLD, f"it is Python {version}; 3.9 is needed"
    return PythonAnswer(problem=problem, detail=detail, python=calls_itself, version=version)


def _envelope(out: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(out)
    except ValueError:
        return None
    return said if isinstance(said, dict) and said.get("pfid") == 1 else None


def _why_none(finished: Finished) -> PythonProblem:
    if finished.exit_code == 0 or finished.overflowed:
        return PythonProblem.RUBBISH
    return PythonProblem.CRASHED


def _last_words(finished: Finished) -> str:
    if finished.overflowed:
        return "it said far too much"
    how = f"signal {finished.signal}" if finished.signal else f"exit status {finished.exit_code}"
    return f"{how}: {finished.last_line() or 'it said nothing'}"
