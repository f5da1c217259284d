"""Where a daemon lives: its socket, its state, its page; for the box, or for one run."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import machine_id
from pfid.config.address import Address, parse_address
from pfid.config.load import ConfigFile
from pfid.config.model import Config
from pfid.config.paths import (
    daemon_bind_socket,
    daemon_state_dir,
    engine_dir,
    engine_socket,
    history_dir,
    user_state_dir,
)

STATE_FILE: Final = "pfid.sqlite"
PROOFS_FILE: Final = "proofs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a daemon lives.

    Attributes:
        socket: of the control socket.
        socket_mode: who may connect; 0666 for the box: what a user may do is decided by uid.
        state_dir: for the state file.
        proofs: file in which proofs are kept.
        listen: addresses of the page.
        history: folder of what ended runs leave to later ones, where the state does not last.
        config: read again on SIGHUP.
        engine_of: folder of the one run an embedded engine watches, None for the box.
    """

    socket: Path
    socket_mode: int
    state_dir: Path
    proofs: Path
    listen: tuple[Address, ...]
    history: Path | None = None
    config: ConfigFile = field(default_factory=ConfigFile)
    engine_of: Path | None = None


def box_place(config: Config, file: ConfigFile, environ: MutableMapping[str, str]) -> Place:
    """The box's daemon: systemd's folders, configuration, or the fixed places."""
    socket = Path(config.daemon.socket) if config.daemon.socket else daemon_bind_socket(environ)
    state = config.daemon.state_directory
    state_dir = Path(state) if state else daemon_state_dir(environ)
    return Place(
        socket=socket,
        socket_mode=0o666,
        state_dir=state_dir,
        proofs=state_dir / PROOFS_FILE,
        listen=tuple(parse_address(a) for a in config.page.listen),
        config=file,
    )


def engine_place(run_dir: Path, environ: MutableMapping[str, str]) -> Place:
    """One run's own engine, below its folder; proofs and history are its user's."""
    kept = user_state_dir(environ, machine_id())
    return Place(
        socket=engine_socket(run_dir),
        socket_mode=0o600,
        state_dir=engine_dir(run_dir),
        proofs=kept / PROOFS_FILE,
        listen=(Address("127.0.0.1", 0),),
        history=history_dir(kept),
        engine_of=run_dir,
    )
