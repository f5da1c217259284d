"""What installing pfid as a service goes by: its Python, the machine, and what is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """The Python that runs pfid.

    Attributes:
        executable: as it is called; in a virtual environment the environment's.
        reads: every folder it needs: its own, that of the Python below it, pfid's.
        closed: folders on the way to those that others may not enter.
    """

    executable: str
    reads: tuple[str, ...]
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What whoever installs asks for.

    Attributes:
        io: place the drop-in for the two capabilities.
        now: enable the unit, start it, and start it again where it ran with other files.
        root: an image's root to install into, "" for the running system.
    """

    io: bool = False
    now: bool = False
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What systemd and the daemon say of the unit now.

    Attributes:
        needs_reload: whether systemd has not read the files as they stand.
        enabled: whether it is started at boot.
        active: whether it runs.
        version: of the pfid that answers at the socket; "" for one that does not say, None where
            none answers.
    """

    needs_reload: bool = False
    enabled: bool = False
    active: bool = False
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the service is installed, as it stands.

    Attributes:
        running: None where no systemd answers; so it is for the image of a system.
        prepared: whether the user and the folders of the service are there.
        version: of the pfid that installs.
        left: paths of ``LEFT`` that are there.
        user: whether the user is there.
    """

    running: Running | None = None
    prepared: bool = False
    version: str = ""
    left: tuple[str, ...] = ()
    user: bool = False
