"""What a training process finds in its environment."""

from collections.abc import Mapping
from typing import Final

from pfid.policy.instrument import instrumented

NOT_FOR_CHILDREN: Final = frozenset(
    {
        *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "MAINPID", "FDSTORE"),
        *("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID"),
    }
)
"""What systemd tells one process and means no other (gpud#1232, sensu#1506)."""


def child_environ(
    environ: Mapping[str, str], run_id: str, run_dir: str, instrument: str | None = None
) -> dict[str, str]:
    """Return the child's environment, with the folder ``instrument`` first in Python's path.

    ``PYTHONUNBUFFERED=1`` is set unless the variable is there already: a Python that writes to a
    file keeps its lines back until 8 KiB are full, and neither a watcher nor a person would see
    a step when it happens.
    """
    kept = {name: value for name, value in environ.items() if name not in NOT_FOR_CHILDREN}
    kept = {"PYTHONUNBUFFERED": "1"} | kept | {"PFID_RUN_ID": run_id, "PFID_RUN_DIR": run_dir}
    return kept if instrument is None else instrumented(kept, instrument)


def local_ranks(argv: tuple[str, ...], environ: Mapping[str, str]) -> int:
    """How many processes of this box may write a step file; 1 if nobody says.

    Read from torchrun's and accelerate's options; a rank that is not foreseen writes its file
    all the same, and it is handed over when it appears.
    """
    for place, part in enumerate(argv):
        option, equals, value = part.lstrip("-").replace("-", "_").partition("=")
        if part.startswith("-") and option in _COUNT_OPTIONS:
            return _count(value if equals else "".join(argv[place + 1 : place + 2]))
    return _count(environ.get("LOCAL_WORLD_SIZE", ""))


_COUNT_OPTIONS: Final = frozenset({"nproc_per_node", "num_processes", "num_gpus"})
_RANKS_MAX: Final = 64


def _count(text: str) -> int:
    return min(int(text[:4]), _RANKS_MAX) if text.isascii() and text.isdigit() and int(text) else 1
