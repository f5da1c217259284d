"""Joins the guard of GPU memory to the box's daemon, if one watches."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.config.paths import daemon_socket
from pfid.domain.errors import ControlError, LaunchError, WireError
from pfid.policy.gpu_guard import VISIBLE, refusal
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of

TIMEOUT_S: Final = 2.0


def refuse_orphaned_gpus(environ: Mapping[str, str]) -> None:
    """Return if a run with this environment may start on its GPUs.

    A daemon that is not there or does not answer in time is no reason against a launch.

    Raises:
        LaunchError: if memory of a GPU it would use is held and nobody who lives holds it.
    """
    why = ""
    with suppress(ControlError, WireError, OSError):
        socket = daemon_socket(environ)
        if not socket.exists():
            return
        with ControlClient(socket, timeout_s=TIMEOUT_S) as client:
            snapshot = snapshot_of(client.ask(GetSnapshot(), SnapshotReply))
        why = refusal(snapshot, environ.get(VISIBLE))
    if why:
        raise LaunchError(why)
