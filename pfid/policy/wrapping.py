"""Commands that start another command: what is left when they are taken off.

``nohup nice -n 5 env A=b python x.py`` is ``python x.py``. Their options are known exactly, so
that ``timeout 10 ./train`` is ``./train`` and not ``10``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own arguments end.

    Attributes:
        valued: options whose value is the next argument.
        leading: arguments of its own before the command.
        assignments: whether ``NAME=value`` may stand before the command.
        verbs: sub-commands that wrap; others do not. Empty if it has none.
    """

    valued: frozenset[str] = frozenset()
    leading: int = 0
    assignments: bool = False
    verbs: frozenset[str] = frozenset()


def _valued(options: str) -> frozenset[str]:
    return frozenset(options.split())


_RUN: Final = frozenset({"run"})
_CONDA: Final = Wrapper(valued=_valued("-n --name -p --prefix --cwd"), verbs=_RUN)
WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "exec": Wrapper(valued=_valued("-a")),
    "command": Wrapper(),
    "unbuffer": Wrapper(),
    "env": Wrapper(valued=_valued("-u --unset -C --chdir"), assignments=True),
    "nice": Wrapper(valued=_valued("-n --adjustment")),
    "ionice": Wrapper(valued=_valued("-c --class -n --classdata")),
    "chrt": Wrapper(valued=_valued("-T -P -D"), leading=1),
    "time": Wrapper(valued=_valued("-f --format -o --output")),
    "timeout": Wrapper(valued=_valued("-k --kill-after -s --signal"), leading=1),
    "stdbuf": Wrapper(valued=_valued("-i --input -o --output -e --error")),
    "taskset": Wrapper(leading=1),
    "numactl": Wrapper(
        valued=_valued(
            "-C --physcpubind -m --membind -N --cpunodebind -i --interleave -p --preferred"
        )
    ),
    "prlimit": Wrapper(),
    "sudo": Wrapper(
        valued=_valued("-u --user -g --group -h --host -p --prompt -C -D --chdir -R -T -U"),
        assignments=True,
    ),
    "doas": Wrapper(valued=_valued("-u -C")),
    "setpriv": Wrapper(
        valued=_valued("--reuid --regid --ruid --euid --rgid --egid --groups --pdeathsig")
    ),
    "systemd-run": Wrapper(
        valued=_valued("-p --property -u --unit -E --setenv --uid --gid --slice --description")
    ),
    "uv": Wrapper(
        valued=_valued("--with --with-editable -p --python --project --directory --extra --group")
        | _valued("--env-file --index-url --with-requirements --only-group --package"),
        verbs=_RUN,
    ),
    "poetry": Wrapper(valued=_valued("-C --directory -P --project"), verbs=_RUN),
    "pdm": Wrapper(valued=_valued("-p --project -s --site-packages"), verbs=_RUN),
    "pipenv": Wrapper(verbs=_RUN),
    "hatch": Wrapper(valued=_valued("-e --env"), verbs=_RUN),
    "pixi": Wrapper(valued=_valued("-e --environment --manifest-path"), verbs=_RUN),
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
}


def unwrapped(program: str, argv: Sequence[str]) -> Sequence[str] | None:
    """Return what the wrapper starts; None if it is none, or starts nothing.

    Args:
        program: name of what ``argv`` starts, without folders.
        argv: the whole command.
    """
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    rest = _after_options(argv[1:], wrapper)
    if wrapper.verbs:
        if not rest or rest[0] not in wrapper.verbs:
            return None
        rest = _after_options(rest[1:], wrapper)
    return rest[wrapper.leading :] or None


def without_assignments(argv: Sequence[str]) -> Sequence[str]:
    """Leave out ``NAME=value`` in front of a command."""
    at = 0
    while at < len(argv) and _is_assignment(argv[at]):
        at += 1
    return argv[at:]


def _after_options(arguments: Sequence[str], wrapper: Wrapper) -> Sequence[str]:
    at = 0
    while at < len(arguments):
        part = arguments[at]
        if part == "--":
            at += 1
            break
        if not (part.startswith("-") or (wrapper.assignments and _is_assignment(part))):
            break
        at += 2 if part in wrapper.valued else 1
    rest = arguments[at:]
    return without_assignments(rest) if wrapper.assignments else rest


def _is_assignment(part: str) -> bool:
    name, equals, _ = part.partition("=")
    return bool(equals) and name.isidentifier()
