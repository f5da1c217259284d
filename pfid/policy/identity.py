"""Whether a record speaks of a process that lives now. Never a name, a pattern or a bare pid."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.identity import ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where the question is asked.

    Attributes:
        machine_id: of this machine.
        boot_id: of this boot.
        pid_namespace: inode of the asker's; None if not readable.
        own_pid: of the asker.
    """

    machine_id: str
    boot_id: str
    pid_namespace: int | None
    own_pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What stands at a pid now.

    Attributes:
        start_ticks: its start; None if not readable.
        dead: a zombie: ended, not reaped.
    """

    start_ticks: int | None
    dead: bool = False


class Standing(Enum):
    """What a recorded identity is worth here and now."""

    ALIVE = "alive"
    UNKNOWN = "something lives at its pid, but a start time is not readable"
    ENDED = "it has ended"
    ZOMBIE = "it has ended and waits to be reaped"
    REUSED = "its pid belongs to another process now"
    OWN_PID = "its pid is the asker's own"
    OTHER_MACHINE = "it is of another machine"
    OTHER_BOOT = "it is of an earlier boot"
    OTHER_NAMESPACE = "it is of another pid namespace"

    @property
    def blocks(self) -> bool:
        """Whether a second run of the name must not start: alive, or nobody can tell."""
        return self in {Standing.ALIVE, Standing.UNKNOWN}


def standing(recorded: ProcessIdentity, here: Here, seen: Seen | None) -> Standing:
    """Judge a record.

    Args:
        recorded: the captured identity.
        here: where it is asked.
        seen: what stands at the recorded pid; None if nothing does.
    """
    elsewhere = _elsewhere(recorded, here)
    if elsewhere is not None:
        return elsewhere
    if recorded.pid == here.own_pid:
        return Standing.OWN_PID
    if seen is None:
        return Standing.ENDED
    if recorded.start_ticks is None or seen.start_ticks is None:
        return Standing.ZOMBIE if seen.dead else Standing.UNKNOWN
    if recorded.start_ticks != seen.start_ticks:
        return Standing.REUSED
    return Standing.ZOMBIE if seen.dead else Standing.ALIVE


def _elsewhere(recorded: ProcessIdentity, here: Here) -> Standing | None:
    if recorded.machine_id != here.machine_id:
        return Standing.OTHER_MACHINE
    if recorded.boot_id != here.boot_id:
        return Standing.OTHER_BOOT
    spaces = {recorded.pid_namespace, here.pid_namespace}
    if None not in spaces and len(spaces) > 1:
        return Standing.OTHER_NAMESPACE
    return None
