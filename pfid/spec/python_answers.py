"""What every check that asks the training interpreter can say when it does not answer."""

from collections.abc import Callable, Iterator
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.spec.answers import Answers
from pfid.spec.control import Control
from pfid.spec.ports.python import PythonProblem
from pfid.spec.world import World

PYTHON_SENTENCES: Final = {
    PythonProblem.NOT_CONFIGURED: "no training interpreter is named; name it in the spec",
    PythonProblem.NOT_FOUND: "the training interpreter does not exist; name another in the spec",
    PythonProblem.NOT_STARTED: "the training interpreter cannot be executed",
    PythonProblem.TOO_OLD: "the training interpreter is older than Python 3.9",
    PythonProblem.CRASHED: "the training interpreter died before it answered",
    PythonProblem.RAISED: "what was asked ended in an exception in the training interpreter",
    PythonProblem.RUBBISH: "the training interpreter answered what is no answer",
    PythonProblem.HUNG: "the training interpreter did not answer in time",
}
PYTHON_ANSWERS: Final = {
    problem.value: (Outcome.UNKNOWN, sentence) for problem, sentence in PYTHON_SENTENCES.items()
}
"""To be spread into a check's :class:`Answers`: every code is UNKNOWN and names the problem."""
PYTHON_REMEDIES: Final = {
    "python_not_configured": "name the interpreter: `python` in the spec, or the command's option.",
    "python_not_found": "name an interpreter that is there: its lines name the one that was tried.",
    "python_not_started": "name an interpreter that can be executed, or mend its rights.",
    "python_too_old": "name an interpreter of Python 3.9 or later.",
    "python_crashed": "run that interpreter by hand: its lines hold its last words.",
    "python_raised": "install what that interpreter lacks: its lines hold what it raised.",
    "python_rubbish": "see what that interpreter prints at its start: only the answer may come.",
    "python_hung": "see what that interpreter waits for at its start, or give it more time.",
}
"""What to do, whichever check says so."""


def python_controls(answers: Answers, world: Callable[[str], World]) -> Iterator[Control]:
    """One control a problem: ``world`` makes the world in which the interpreter has it."""
    for code in PYTHON_ANSWERS:
        yield answers.control(code, code, world(code))
