"""Where pfid keeps things: pure functions of an environment and the machine's id.

A user's state lies below the machine's id because homes are shared over NFS and a process exists
on one machine only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pfid.domain.errors import ConfigError

SYSTEM_RUNTIME: Final = Path("/run/pfid")
SYSTEM_STATE: Final = Path("/var/lib/pfid")
SYSTEM_SHOWN: Final = Path("/var/cache/pfid")
"""What the daemon lets everybody read also while it does not run."""
SYSTEM_CONFIG: Final = Path("/etc/pfid/pfid.toml")
SOCKET_NAME: Final = "control.sock"


def daemon_socket(environ: Mapping[str, str]) -> Path:
    """The box's daemon, as its clients look for it: ``PFID_SOCKET`` or the fixed place.

    ``RUNTIME_DIRECTORY`` is not asked here: a launcher inside some other systemd unit inherits
    that unit's.
    """
    return Path(environ["PFID_SOCKET"]) if environ.get("PFID_SOCKET") else _system_socket()


def daemon_bind_socket(environ: Mapping[str, str]) -> Path:
    """Where the daemon itself binds: ``PFID_SOCKET``, systemd's folder, or the fixed place."""
    if environ.get("PFID_SOCKET"):
        return Path(environ["PFID_SOCKET"])
    first = environ.get("RUNTIME_DIRECTORY", "").split(":")[0]
    return Path(first) / SOCKET_NAME if first else _system_socket()


def _system_socket() -> Path:
    return SYSTEM_RUNTIME / SOCKET_NAME


def daemon_state_dir(environ: Mapping[str, str]) -> Path:
    """The daemon's own state: systemd's ``STATE_DIRECTORY`` or the fixed place."""
    first = environ.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(first) if first else SYSTEM_STATE


def daemon_shown_dir(environ: Mapping[str, str]) -> Path | None:
    """Where the daemon puts what everybody may read also while it does not run, if it has a place.

    systemd's ``CACHE_DIRECTORY``: unlike ``RUNTIME_DIRECTORY`` it does not go with the unit.
    """
    first = environ.get("CACHE_DIRECTORY", "").split(":")[0]
    return Path(first) if first else None


def config_file(environ: Mapping[str, str], *, embedded: bool = False) -> Path | None:
    """The configuration to read when none is named: ``PFID_CONFIG``, else the fixed place.

    Args:
        environ: of the process.
        embedded: for an embedded engine, whose fixed place is the user's own
            (``$XDG_CONFIG_HOME/pfid/pfid.toml``) and never the box's: that one may name places
            which only the daemon can use.

    Returns:
        A path that may not exist, which means the defaults, unless ``PFID_CONFIG`` named it; None
        if there is no place to look.
    """
    if environ.get("PFID_CONFIG"):
        return Path(environ["PFID_CONFIG"])
    if not embedded:
        return SYSTEM_CONFIG
    for variable, below in (("XDG_CONFIG_HOME", ""), ("HOME", ".config")):
        if environ.get(variable, "").startswith("/"):
            return Path(environ[variable]) / below / "pfid" / SYSTEM_CONFIG.name
    return None


def user_state_dir(environ: Mapping[str, str], machine_id: str) -> Path:
    """One user's state on one machine.

    Raises:
        ConfigError: if the environment names no absolute home.
    """
    for variable, below in (("XDG_STATE_HOME", ""), ("HOME", ".local/state")):
        base = environ.get(variable, "")
        if base.startswith("/"):
            return Path(base) / below / "pfid" / machine_id
    problem = "neither HOME nor XDG_STATE_HOME is an absolute path; set one, pfid keeps state there"
    raise ConfigError((problem,))


def names_dir(environ: Mapping[str, str], machine_id: str) -> Path:
    """Locks and the current run of each name."""
    return user_state_dir(environ, machine_id) / "names"


def runs_dir(environ: Mapping[str, str], machine_id: str) -> Path:
    """One folder a run."""
    return user_state_dir(environ, machine_id) / "runs"


def run_dir(environ: Mapping[str, str], machine_id: str, run_id: str) -> Path:
    """Everything of one run that belongs to its user."""
    return runs_dir(environ, machine_id) / run_id


def record_file(run_dir: Path) -> Path:
    """Who the run is, as its launcher captured it."""
    return run_dir / "record.json"


def history_dir(state_dir: Path) -> Path:
    """What a user's runs leave to later ones of their names."""
    return state_dir / "history"


def steps_dir(run_dir: Path) -> Path:
    """Step files, one a rank, created before the run starts so that they can be handed over."""
    return run_dir / "steps"


def engine_dir(run_dir: Path) -> Path:
    """The embedded engine's own folder."""
    return run_dir / "engine"


def engine_socket(run_dir: Path) -> Path:
    """The embedded engine's control socket."""
    return engine_dir(run_dir) / SOCKET_NAME
