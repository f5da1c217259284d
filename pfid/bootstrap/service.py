"""What the installed service is asked about before anything is placed: the machine as it stands."""

import grp
import pwd
from pathlib import Path
from typing import Final

from pfid.adapters.control_client import ControlClient
from pfid.adapters.revision import running_version
from pfid.adapters.service_files import unit_facts
from pfid.config.load import load
from pfid.config.paths import SYSTEM_CONFIG, daemon_socket
from pfid.domain.errors import PfidError
from pfid.policy.service_facts import Machine, Running
from pfid.policy.service_plan import LEFT
from pfid.wire.control import GetSnapshot, SnapshotReply
from pfid.wire.snapshots import snapshot_of

USER: Final = "pfid"
_ENABLED: Final = frozenset({"enabled", "enabled-runtime"})
ASK_TIMEOUT_S: Final = 5.0
_ACTIVE: Final = frozenset({"active", "reloading", "activating"})


def machine(root: Path) -> Machine:
    """Look at the machine, or at the image of one below ``root``."""
    here = root.resolve() == Path("/")
    user = _user_here() if here else _user_in(root / "etc/passwd")
    return Machine(
        running=_running() if here else None,
        prepared=user and (root / "etc/pfid").is_dir(),
        version=running_version(),
        left=tuple(path for path in LEFT if (root / path.lstrip("/")).exists()),
        user=user,
    )


def _user_here() -> bool:
    try:
        pwd.getpwnam(USER)
        grp.getgrnam(USER)
    except KeyError:
        return False
    return True


def _user_in(passwd: Path) -> bool:
    try:
        lines = passwd.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.startswith(f"{USER}:") for line in lines)


def _running() -> Running | None:
    facts = unit_facts()
    if facts is None:
        return None
    active = facts.get("ActiveState") in _ACTIVE
    return Running(
        needs_reload=facts.get("NeedDaemonReload") == "yes",
        enabled=facts.get("UnitFileState") in _ENABLED,
        active=active,
        version=_answers() if active else None,
    )


def _socket() -> Path:
    """Where the box's configuration says; the usual place where it says nothing or is closed."""
    try:
        told = load(SYSTEM_CONFIG).daemon.socket
    except PfidError:
        told = ""
    return Path(told) if told else daemon_socket({})


def _answers() -> str | None:
    """The version of whoever answers at the box's socket; None for nobody."""
    try:
        client = ControlClient(_socket(), timeout_s=ASK_TIMEOUT_S)
    except PfidError:
        return None
    try:
        reply = client.call(GetSnapshot())
        return snapshot_of(reply).health.version if isinstance(reply, SnapshotReply) else None
    except PfidError:
        return None
    finally:
        client.close()
