"""Joins the guard of GPU memory to the box's daemon, or to a look of our own where none watches.

Nearly every launch is refused nothing, and loads nothing of what it takes to say why.
"""

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pfid.adapters.control_client import ControlClient
from pfid.adapters.gpu_gate import find_library
from pfid.config.paths import config_file, daemon_socket
from pfid.domain.errors import ControlError, LaunchError, WireError
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import EntityKind
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.workers.installed import GROUP, may_have_entry_points

TIMEOUT_S: Final = 2.0


class _Subject(msgspec.Struct):
    kind: str


class _Said(msgspec.Struct):
    outcome: str
    entity: _Subject


class _Shown(msgspec.Struct):
    verdicts: list[_Said]


def refuse_orphaned_gpus(environ: Mapping[str, str]) -> None:
    """Return if a run with this environment may start on its GPUs.

    A daemon that does not answer in time is no reason against a launch.

    Raises:
        LaunchError: if memory of a GPU it would use is held and nobody who lives holds it.
    """
    why = ""
    with suppress(ControlError, WireError, OSError):
        place = daemon_socket(environ)
        if _listens(place):
            why = _why_not(place, environ)
        elif find_library(environ) is not None or _others(environ):
            from pfid.bootstrap.own_guard import why_not_by_own_look

            why = why_not_by_own_look(environ)
    if why:
        raise LaunchError(why)


def _others(environ: Mapping[str, str]) -> bool:
    """Whether plugins may bring the sampler of another vendor."""
    file = config_file(environ, embedded=True)
    if not may_have_entry_points(GROUP) and (file is None or not file.exists()):
        return False
    from pfid.bootstrap.gpu_plugins import own_sampler_plugins

    return bool(own_sampler_plugins(environ).places)


def _listens(path: Path) -> bool:
    """Whether there is a daemon, however slow; what a killed one left behind is none."""
    if not path.exists():
        return False
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(TIMEOUT_S)
        try:
            knocking.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def _why_not(place: Path, environ: Mapping[str, str]) -> str:
    with ControlClient(place, timeout_s=TIMEOUT_S) as client:
        told = client.ask(GetSnapshot(), SnapshotReply)
    try:
        said = msgspec.convert(told.snapshot, _Shown).verdicts
    except msgspec.ValidationError as error:
        raise WireError(f"the daemon's snapshot: {error}") from error
    if not any(_of_a_gpu_that_fails(verdict) for verdict in said):
        return ""
    from pfid.policy.gpu_guard import refusal
    from pfid.wire.snapshots import snapshot_of

    return refusal(snapshot_of(told), environ)


def _of_a_gpu_that_fails(said: _Said) -> bool:
    return said.outcome == Outcome.FAIL.value and said.entity.kind == EntityKind.GPU.value
