"""Step times with no line changed: what the child's environment needs, and what it cannot reach.

Python looks for ``sitecustomize`` when it starts. A folder that holds pfid's own stands first in
``PYTHONPATH``; from there torch's step hooks are put on (pfid/trainer/site). An interpreter that
is told to look at no environment never finds it, and that is said before the run begins.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

CALL: Final = (
    "call pfid.trainer.StepReporter().report() after each optimizer step instead, or launch with "
    "an interpreter that reads PYTHONPATH"
)
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*t?\Z")
_TAKES_ARGUMENT: Final = frozenset("WXQ")
_BLIND_FLAGS: Final = {
    "I": "runs isolated (-I)",
    "E": "ignores the environment (-E)",
    "S": "does not import site (-S)",
}
_CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl", "enroot"})
_OTHER_USERS: Final = frozenset({"sudo", "doas", "su", "runuser"})
_CLEAN: Final = frozenset({"--cleanenv", "--contain", "--containall", "-e", "-c", "-C"})


def instrumented(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the environment with the folder first in ``PYTHONPATH``, once."""
    before = environ.get("PYTHONPATH", "")
    others = [p for p in before.split(":") if p != folder] if before else []
    return {**environ, "PYTHONPATH": ":".join([folder, *others])}


def blind(argv: Sequence[str]) -> str | None:
    """Why a command's interpreter cannot see, as far as its words tell; None if it may."""
    for place, part in enumerate(argv):
        program, rest = part.rsplit("/", 1)[-1], argv[place + 1 :]
        if _PYTHON.match(program):
            return _interpreter(part, rest)
        why = _wrapper(program, rest)
        if why is not None:
            return why
    return None


def _interpreter(program: str, options: Sequence[str]) -> str | None:
    skip = False
    for option in options:
        if skip:
            skip = False
        elif not option.startswith("-") or option in {"-", "--"} or option.startswith("--"):
            return None
        else:
            for letter in option[1:]:
                if letter in _BLIND_FLAGS:
                    return f"{program} {_BLIND_FLAGS[letter]}"
                if letter in "cm":
                    return None
                if letter in _TAKES_ARGUMENT:
                    skip = option.endswith(letter)
                    break
    return None


def _wrapper(program: str, options: Sequence[str]) -> str | None:
    if program == "env":
        return _env(options)
    if program in _OTHER_USERS:
        return f"{program} hands over no PYTHONPATH"
    if program in _CONTAINERS:
        return f"{program} starts a container, which sees neither the environment nor the folder"
    if program in {"apptainer", "singularity"} and _CLEAN.intersection(options):
        return f"{program} is told to start from a clean environment"
    if program in {"srun", "sbatch"} and any(_exports_nothing(option) for option in options):
        return f"{program} is told to hand over no environment"
    return None


def _env(options: Sequence[str]) -> str | None:
    for place, option in enumerate(options):
        following = options[place + 1] if place + 1 < len(options) else ""
        if option in {"-", "-i", "--ignore-environment"}:
            return "env -i drops the environment"
        if option == "--unset=PYTHONPATH" or (option, following) == ("-u", "PYTHONPATH"):
            return "env takes PYTHONPATH away"
        if option.startswith("PYTHONPATH="):
            return "env sets another PYTHONPATH"
        if not option.startswith("-") and "=" not in option and options[place - 1] != "-u":
            return None
    return None


def _exports_nothing(option: str) -> bool:
    return option.startswith("--export=") and "ALL" not in option.split("=", 1)[1].split(",")
