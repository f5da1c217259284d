"""Which interpreter a command trains with, as far as the command itself says."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

NOT_A_PYTHON: Final = "not_a_python"
"""The command is no interpreter and no script of one."""
BEHIND_A_LAUNCHER: Final = "behind_a_launcher"
"""Something stands before it that may change its environment: name it in the spec."""

_INTERPRETERS: Final = frozenset({"python", "pypy"})
_CHANGES_ENVIRONMENT: Final = frozenset(
    {
        *("uv", "uvx", "poetry", "pdm", "hatch", "pixi", "conda", "mamba", "micromamba", "pipenv"),
        *("docker", "podman", "apptainer", "singularity", "enroot", "srun", "mpirun", "mpiexec"),
        *("bash", "sh", "zsh", "dash", "ksh", "fish", "sudo", "su", "ssh", "make", "just", "tox"),
        *("nox", "systemd-run", "chroot", "unshare", "nsenter", "script"),
    }
)
_TRANSPARENT: Final = frozenset(
    {
        *("nice", "ionice", "nohup", "setsid", "stdbuf", "taskset", "numactl", "chrt", "time"),
        *("timeout", "env", "catchsegv", "prlimit", "setarch", "unbuffer", "strace", "gdb"),
    }
)
_PYTHON_LAUNCHERS: Final = frozenset(
    {
        *("torchrun", "accelerate", "deepspeed", "lightning", "fabric", "composer", "colossalai"),
        *("llamafactory-cli", "axolotl", "tune", "trl", "swift", "ipython", "pytest"),
    }
)
"""Scripts of an interpreter, looked for behind ``nice -n 5`` and the like."""
_FLAGS: Final = frozenset({"-I", "-E", "-s", "-S", "-P"})


class TrainingPython(Struct, frozen=True, kw_only=True):
    """Where to look.

    Attributes:
        program: the interpreter, or the script whose first line names it; "" if neither is known.
        is_script: whether it is a script.
        flags: the interpreter's options that say what it can import.
        environ: variables that the command itself sets for it.
        problem: why there is no program; "" if there is one.
    """

    program: str = ""
    is_script: bool = False
    flags: tuple[str, ...] = ()
    environ: Mapping[str, str]
    problem: str = ""


def training_python(argv: Sequence[str]) -> TrainingPython:
    """Find the interpreter in a command: itself, behind ``nice`` and its kind, or in a script."""
    environ: dict[str, str] = {}
    for place, word in enumerate(argv):
        name = word.rpartition("/")[2]
        before = argv[:place]
        if name.rstrip("0123456789.t") in _INTERPRETERS:
            flags = _leading_flags(argv[place + 1 :])
            return TrainingPython(program=word, flags=flags, environ=environ)
        if name in _CHANGES_ENVIRONMENT:
            return TrainingPython(environ=environ, problem=BEHIND_A_LAUNCHER)
        if name in _TRANSPARENT:
            continue
        variable, equals, value = word.partition("=")
        if equals and variable.isidentifier() and "env" in {b.rpartition("/")[2] for b in before}:
            environ[variable] = value
        elif not before or name in _PYTHON_LAUNCHERS:
            return TrainingPython(program=word, is_script=True, environ=environ)
    return TrainingPython(environ=environ, problem=NOT_A_PYTHON)


def _leading_flags(words: Sequence[str]) -> tuple[str, ...]:
    flags: list[str] = []
    for word in words:
        if not word.startswith("-") or word in {"-c", "-m", "-"}:
            break
        flags += [word] if word in _FLAGS else []
    return tuple(flags)


def shebang(first_line: bytes) -> str:
    """Name the Python that a script's first line names; "" if it names none."""
    if not first_line.startswith(b"#!"):
        return ""
    words = first_line[2:].decode("utf-8", "surrogateescape").split()
    named = training_python([word for word in words if not word.startswith("-")])
    return "" if named.is_script else named.program
