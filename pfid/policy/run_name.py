"""What a run is called when its owner does not say: the stem of the script it runs."""

from collections.abc import Sequence
from typing import Final

from pfid.domain.names import RUN_NAME_MAX_CHARS, RunId, run_id, slug

LAUNCHERS: Final = frozenset(
    {"torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "uv", "env"}
    | {
        "poetry",
        "pdm",
        "conda",
        "nice",
        "ionice",
        "time",
        "timeout",
        "numactl",
        "taskset",
        "stdbuf",
    }
)
"""Programs that start another program; the run is named after that one."""

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})

_SCRIPT_SUFFIXES: Final = (".py", ".sh", ".bash", ".jl", ".R", ".lua")
_MODULES_THAT_LAUNCH: Final = ("torch.distributed", "accelerate.commands", "deepspeed.launcher")


def default_name(argv: Sequence[str]) -> str:
    """Return a name for the command, never empty.

    ``python -m pkg.train`` is ``train``, ``torchrun --nproc-per-node 4 train.py`` is ``train``,
    ``python -c ...`` is ``python``.
    """
    program = _stem(argv[0]) if argv else "run"
    inline = _inline_code(argv, program)
    if inline is not None:
        return default_name(inline.split()) if program in SHELLS and inline else _clip(program)
    module = _module(argv, program)
    if module is not None:
        return _clip(module.removesuffix(".__main__").rpartition(".")[2])
    script = next((part for part in argv[1:] if _is_script(part)), None)
    if script is not None and (program in LAUNCHERS | SHELLS or _is_python(program)):
        return _clip(_stem(script))
    return _clip(program)


def _inline_code(argv: Sequence[str], program: str) -> str | None:
    """The text after ``-c`` of a shell or Python, None if a script or module comes first."""
    if program not in SHELLS and not _is_python(program):
        return None
    for place, part in enumerate(argv[1:], start=1):
        if _is_script(part) or part == "-m":
            return None
        if part == "-c":
            return "".join(argv[place + 1 : place + 2])
    return None


def _module(argv: Sequence[str], program: str) -> str | None:
    """The module after ``-m`` or ``--module``, unless it is itself a launcher of a script."""
    if program in SHELLS:
        return None
    for place, part in enumerate(argv[1:-1], start=1):
        if _is_script(part):
            return None
        names_module = part == "-m" or (part == "--module" and program in LAUNCHERS)
        if names_module and not argv[place + 1].startswith(_MODULES_THAT_LAUNCH):
            return argv[place + 1]
    return None


def _is_python(program: str) -> bool:
    return program.rstrip("0123456789.") in {"python", "pypy"}


def _is_script(part: str) -> bool:
    return part.endswith(_SCRIPT_SUFFIXES) and not part.startswith("-")


def _stem(path: str) -> str:
    name = path.rstrip("/").rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    return stem if stem and f".{suffix}" in _SCRIPT_SUFFIXES else name


def _clip(name: str) -> str:
    return "".join(c for c in name if c.isprintable()).strip()[:RUN_NAME_MAX_CHARS] or "run"


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
