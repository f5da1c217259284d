"""A function of the user's, driven in the user's interpreter over many inputs at once."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pfid.domain.interpreter import PythonAnswer

Call = Mapping[str, Any]
"""``args`` and ``kwargs`` of one call."""


class Ask(Protocol):
    """The user's interpreter, asked in the folder of the spec."""

    def __call__(
        self, question: str, asked: Mapping[str, Any], *, deadline_s: float
    ) -> PythonAnswer:
        """Ask one question and wait."""
        ...


class NotDrivenError(Exception):
    """It could not be driven. ``problem`` is a reason code, the text the interpreter's own."""

    def __init__(self, problem: str, detail: str) -> None:
        """Keep the last line of what was said."""
        super().__init__((detail.strip().splitlines() or [""])[-1])
        self.problem = problem


def driven(function: str, calls: Sequence[Call], ask: Ask, *, deadline_s: float) -> list[Any]:
    """Call a function with each input; a text among the answers says what came in place of one.

    The inputs travel in a file: an environment holds no hundred long answers.

    Args:
        function: ``module:function``.
        calls: inputs.
        ask: the user's interpreter.
        deadline_s: for all of them.

    Raises:
        NotDrivenError: if there is no answer at all.
    """
    with tempfile.TemporaryDirectory(prefix="pfid-calls-") as folder:
        path = Path(folder) / "calls.json"
        path.write_text(json.dumps(list(calls)), encoding="ascii")
        asked = {"function": function, "calls_file": str(path)}
        found = ask("call_metric", asked, deadline_s=deadline_s)
    if found.said is None:
        raise NotDrivenError(found.problem.value, found.detail)
    if "missing" in found.said:
        raise NotDrivenError("python_raised", str(found.said["missing"]))
    return list(found.said["answers"])
