"""Whom the driver means, seen from a container into which the host's procfs is mounted.

A driver counts processes as the host does. With ``HOST_PROC`` (as other exporters call it) naming
the host's procfs, ``NSpid`` there tells the numbers that a process has further in. A number alone
says little, since every container has a process 7: the process must have begun at the same tick
under both names, and stand in the same namespace where that may be read.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.domain.process_stat import ProcStat
from pfid.formats.proc_stat import parse_proc_stat

VARIABLE: Final = "HOST_PROC"
OWN: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class HostPids:
    """Translates the host's numbers into ours.

    Attributes:
        host: the host's procfs, None where it is not mounted.
        own: ours.
    """

    host: Path | None
    own: Path = OWN

    def own_pid(self, pid: int) -> int | None:
        """What we call a process of the host; None if it is none of ours, or nobody can tell."""
        if self.host is None:
            return None
        there = self.host / str(pid)
        found = _stat(there)
        inner = _numbers(there)[1:]
        if found is None:
            return None
        return next((n for n in reversed(inner) if _same(there, found, self.own / str(n))), None)


def host_pids(environ: Mapping[str, str] = os.environ) -> HostPids:
    """As the environment says; a folder that is no absolute path is none."""
    named = environ.get(VARIABLE, "")
    return HostPids(Path(named) if named.startswith("/") else None)


def _same(there: Path, found: ProcStat, here: Path) -> bool:
    ours = _stat(here)
    if ours is None or (ours.start_ticks, ours.comm) != (found.start_ticks, found.comm):
        return False
    return len({_namespace(there), _namespace(here)} - {None}) < 2


def _namespace(process: Path) -> str | None:
    try:
        return str((process / "ns" / "pid").readlink())
    except OSError:
        return None


def _stat(process: Path) -> ProcStat | None:
    try:
        return parse_proc_stat((process / "stat").read_bytes())
    except (OSError, ValueError):
        return None


def _numbers(process: Path) -> list[int]:
    """The process's numbers, from the outermost namespace that procfs shows to its own."""
    try:
        lines = (process / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    told = next((line for line in lines if line.startswith("NSpid:")), "")
    return [int(word) for word in told.split()[1:] if word.isdecimal()]
