"""The training interpreter of a launch, asked what is installed in it."""

from typing import TYPE_CHECKING, Final, Protocol

from pfid.adapters.bounded_process import found_program
from pfid.domain.provenance import InterpreterIdentity
from pfid.launch.request import LaunchRequest
from pfid.policy.training_python import NOT_A_PYTHON, shebang, training_python

if TYPE_CHECKING:
    from pfid.adapters.python_introspection import Pending

DEADLINE_S: Final = 30.0
"""A cold network disk takes long to list an environment."""


class Asked(Protocol):
    """A question that is under way, or that could not be asked."""

    def identity(self) -> InterpreterIdentity:
        """Wait for the answer."""
        ...

    def drop(self) -> None:
        """Nobody wants the answer any more."""
        ...


class NotAsked:
    """No question."""

    def __init__(self, problem: str = "not_asked") -> None:
        """Say why."""
        self._problem = problem

    def identity(self) -> InterpreterIdentity:
        """Return the problem."""
        return InterpreterIdentity(problem=self._problem)

    def drop(self) -> None:
        """There is nothing to end."""


class _UnderWay:
    def __init__(self, pending: "Pending") -> None:
        self._pending = pending

    def identity(self) -> InterpreterIdentity:
        from pfid.policy.launch_identity import interpreter_identity

        return interpreter_identity(self._pending.answer())

    def drop(self) -> None:
        self._pending.drop()


def ask(request: LaunchRequest, named: str) -> Asked:
    """Begin to ask.

    Args:
        request: whose command names the interpreter.
        named: the one that the spec names; "" if none.
    """
    environ = dict(request.environ)
    flags: tuple[str, ...] = ()
    if not named:
        found = training_python(request.argv)
        environ |= found.environ
        named, flags = found.program, found.flags
        if found.is_script:
            script = found_program(found.program, environ, request.cwd)
            named = shebang(_first_line(script)) if script is not None else ""
        if not named:
            return NotAsked(found.problem or NOT_A_PYTHON)
    # Loaded where there is somebody to ask: the launcher pays for every module.
    from pfid.adapters.python_introspection import PythonIntrospection

    python = PythonIntrospection(named, environ, request.cwd, imports=False, flags=flags)
    return _UnderWay(python.start("distributions", deadline_s=DEADLINE_S))


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain string
            return file.readline(512)
    except OSError:
        return b""
