"""What a run is called when its owner does not say: the stem of the script it runs."""

import shlex
from collections.abc import Sequence
from typing import Final

from pfid.domain.names import RUN_NAME_MAX_CHARS, RunId, run_id, slug
from pfid.policy.wrapping import WRAPPERS, unwrapped, without_assignments

LAUNCHERS: Final = frozenset(
    {"torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "colossalai"}
    | {"nsys", "ncu", "perf", "strace", "kernprof", "memray", "py-spy", "xvfb-run", "composer"}
)
"""Programs that start another one after options that are too many to know: the first script or
interpreter among their arguments is it."""

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})

_SCRIPT_SUFFIXES: Final = (".py", ".sh", ".bash", ".jl", ".R", ".lua")
_MODULES_THAT_LAUNCH: Final = frozenset(
    {"torch.distributed", "accelerate.commands", "deepspeed.launcher", "cProfile", "profile", "pdb"}
    | {"trace", "runpy", "coverage", "debugpy", "kernprof", "memray", "viztracer", "scalene"}
)
_VALUED_OF_PYTHON: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_PREPARES: Final = frozenset(
    {"cd", "source", ".", "export", "set", "ulimit", "module", "umask", "unset", "pushd", "trap"}
    | {"echo", "mkdir", "sleep", "exit", "wait"}
)
"""What a shell's inline text does before it comes to the point."""
_CUTS: Final = frozenset({"&&", "||", ";", "|", "&", ";;"})


def default_name(argv: Sequence[str]) -> str:
    """Return a name for the command, never empty.

    ``python -m pkg.train`` is ``train``, ``torchrun --nproc-per-node 4 train.py`` is ``train``,
    ``nohup nice -n 5 python train.py`` is ``train``, ``python -c ...`` is ``python``.
    """
    if not argv:
        return named("run")
    program = _stem(argv[0])
    inner = unwrapped(program, argv)
    if inner is not None:
        return default_name(inner)
    if program in SHELLS:
        return _of_shell(program, argv[1:])
    if _is_python(program):
        return _of_python(program, argv[1:])
    if program in LAUNCHERS:
        return _of_launcher(program, argv[1:])
    return named(program)


def _of_shell(program: str, arguments: Sequence[str]) -> str:
    for place, part in enumerate(arguments):
        if part.startswith("-") and not part.startswith("--") and part.endswith("c"):
            inline = "".join(arguments[place + 1 : place + 2])
            return _of_inline(program, inline)
        if _is_script(part):
            return named(_stem(part))
    script = next((part for part in arguments if not part.startswith(("-", "+"))), program)
    return named(_stem(script))


def _of_inline(program: str, text: str) -> str:
    """The first command of a shell's text that does not only prepare."""
    try:
        words = list(shlex.shlex(text, posix=True, punctuation_chars=";&|"))
    except ValueError:  # an open quote
        words = text.replace("'", " ").replace('"', " ").split()
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in _CUTS:
            command.append(word)
            continue
        meant = without_assignments(command)
        if meant and meant[0] not in _PREPARES:
            return default_name(meant)
        command = []
    return named(program)


def _of_python(program: str, arguments: Sequence[str]) -> str:
    """The module after ``-m``, else the first argument that is no option of the interpreter."""
    at = 0
    while at < len(arguments):
        part, rest = arguments[at], arguments[at + 1 :]
        if part in _VALUED_OF_PYTHON:
            at += 2
            continue
        if not part.startswith("-"):
            return _of_file(part)
        option, glued = _last_option(part)
        if option == "c" or part == "-":
            break
        if option == "m":
            module, rest = (glued, rest) if glued else ("".join(rest[:1]), rest[1:])
            if _launches(module):
                return _of_launcher(program, rest)
            return _of_module(module, program)
        at += 1
    return named(program)


def _last_option(part: str) -> tuple[str, str]:
    """``-um`` ends in ``m``; ``-mpkg`` is ``m`` with its value glued on."""
    if part.startswith("--"):
        return "", ""
    for place, letter in enumerate(part[1:], start=1):
        if letter in "cm":
            return letter, part[place + 1 :]
        if letter in "WX":
            return "", ""
    return "", ""


def _of_launcher(program: str, arguments: Sequence[str]) -> str:
    for place, part in enumerate(arguments):
        rest = arguments[place + 1 :]
        if part in {"-m", "--module"} and rest and not _launches(rest[0]):
            return _of_module(rest[0], program)
        if _is_script(part):
            return _of_file(part)
        if rest and _starts_others(_stem(part)) and not part.startswith("-"):
            return default_name(arguments[place:])
    return named(program)


def _starts_others(program: str) -> bool:
    return _is_python(program) or program in SHELLS | LAUNCHERS or program in WRAPPERS


def _launches(module: str) -> bool:
    parts = module.split(".")
    return not _MODULES_THAT_LAUNCH.isdisjoint({parts[0], ".".join(parts[:2])})


def _of_module(module: str, program: str) -> str:
    return named(module.removesuffix(".__main__").rpartition(".")[2] or program)


def _of_file(path: str) -> str:
    """A script's stem; of a package's ``__main__.py`` the package's."""
    stem = _stem(path)
    if stem != "__main__":
        return named(stem)
    return named(_stem(path.rstrip("/").rpartition("/")[0]) or stem)


def _is_python(program: str) -> bool:
    return program.removesuffix("-dbg").rstrip("0123456789.") in {"python", "pypy", "ipython"}


def _is_script(part: str) -> bool:
    return part.endswith(_SCRIPT_SUFFIXES) and not part.startswith("-")


def _stem(path: str) -> str:
    name = path.rstrip("/").rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    return stem if stem and f".{suffix}" in _SCRIPT_SUFFIXES else name


def named(name: str) -> str:
    """Return what of a text may be a run's name, never empty."""
    return "".join(c for c in name if c.isprintable()).strip()[:RUN_NAME_MAX_CHARS] or "run"


def name_fault(name: str) -> str:
    """Return why a run cannot be called so; "" if it can."""
    if not 0 < len(name.strip()) <= RUN_NAME_MAX_CHARS:
        return f"must have 1 to {RUN_NAME_MAX_CHARS} characters"
    if not name.isprintable():
        return "must be printable UTF-8 text, without control or invisible characters"
    return ""


_LOG_STEM_MAX_BYTES: Final = 150
"""A file's name may have 255 in all; a stamp and what marks an unfinished file come on top."""


def log_name(name: str) -> str:
    """Return what the log of a run of this name is called by default, short enough to be rotated.

    It hides from nobody and is no option to the tools it is given to.
    """
    stem = named(name.replace("/", "-")).lstrip(".- ")
    clipped = stem.encode()[:_LOG_STEM_MAX_BYTES].decode(errors="ignore").rstrip()
    return f"{clipped or 'run'}.log"


_STEM_MAX_CHARS: Final = 34


def run_id_stem(name: str) -> str:
    """What every run id of this name begins with (other names may share it)."""
    return slug(name, _STEM_MAX_CHARS)


def new_run_id(name: str, stamp: str, nonce: str) -> RunId:
    """Return an id of name, start and nonce.

    Args:
        name: the run's name.
        stamp: UTC, ``YYYYMMDDTHHMMSSZ``.
        nonce: six or so of ``[a-z0-9]``; two launches within a second differ by it.
    """
    return run_id(f"{run_id_stem(name)}-{stamp.lower()}-{nonce}")
