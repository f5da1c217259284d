"""What a training interpreter answered, or why it did not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class PythonProblem(Enum):
    """Why there is no answer. The value is fit to be a reason code."""

    NONE = ""
    NOT_CONFIGURED = "python_not_configured"
    """Nobody said which interpreter trains."""
    NOT_FOUND = "python_not_found"
    NOT_STARTED = "python_not_started"
    """It is there and cannot be executed."""
    TOO_OLD = "python_too_old"
    """It runs, and is older than 3.9."""
    CRASHED = "python_crashed"
    """A signal ended it, or it left with an error before it answered."""
    RAISED = "python_raised"
    """The question itself ended in an exception there (a library that cannot be imported)."""
    RUBBISH = "python_rubbish"
    """It ended well and answered nothing, or what is no answer, or far too much."""
    HUNG = "python_hung"
    """It did not answer before the deadline, and was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonAnswer:
    """An answer, or why there is none.

    Attributes:
        said: the answer; None if there is a problem.
        problem: why there is none.
        detail: the interpreter's own last words, for the run's owner alone; untrusted.
        python: the interpreter as it calls itself, or as it was named where it did not say.
        version: its version ("3.12.4"), "" where it did not say.
    """

    said: Mapping[str, Any] | None = None
    problem: PythonProblem = PythonProblem.NONE
    detail: str = ""
    python: str = ""
    version: str = ""
