"""The training interpreter, asked one bounded question at a time.

What is true there (which libraries, which signatures, what a configuration resolves to) only that
interpreter knows. A question is a file of ``pfid/probes``: standard library, Python 3.9 syntax,
one function ``answer(asked)`` that takes and returns JSON objects.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from pfid.domain.interpreter import PythonAnswer, PythonProblem

__all__ = ["PythonAnswer", "PythonPort", "PythonProblem"]


class PythonPort(Protocol):
    """One training interpreter."""

    def ask(
        self, question: str, asked: Mapping[str, Any] | None = None, *, deadline_s: float = 30.0
    ) -> PythonAnswer:
        """Ask a question, at most once at a time.

        Args:
            question: stem of a file in ``pfid/probes``.
            asked: what its ``answer`` is given, a JSON object.
            deadline_s: seconds after which it is ended.
        """
        ...
