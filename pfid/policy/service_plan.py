"""What installing pfid as a service comes to: which files, which commands, and what is in the way.

Pure: what stands on disk comes in as texts, what is to be done goes out as a plan. Installing
twice is installing once; a file that somebody else wrote is never overwritten.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

UNIT: Final = "pfid.service"
MARK: Final = (
    "# Placed by `pfid service install`, which overwrites it; use `systemctl edit pfid`.\n"
)
PLACES: Final = {
    UNIT: "/etc/systemd/system/pfid.service",
    "pfid.sysusers": "/etc/sysusers.d/pfid.conf",
    "pfid.tmpfiles": "/etc/tmpfiles.d/pfid.conf",
    "pfid-io.conf": "/etc/systemd/system/pfid.service.d/pfid-io.conf",
}
"""Shipped file to where it goes."""
DROP_IN: Final = "pfid-io.conf"
HIDDEN: Final = {
    "/home": "ProtectHome",
    "/root": "ProtectHome",
    "/run/user": "ProtectHome",
    "/tmp": "PrivateTmp",  # noqa: S108 - a place that is refused, not used
    "/var/tmp": "PrivateTmp",  # noqa: S108 - likewise
}
"""What the unit does not see, and by which of its lines."""
_EXEC: Final = re.compile(r"(?m)^ExecStart=.*$")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_/.+@:,=~-]+\Z")


class FileState(Enum):
    """How a file stands to what would be placed."""

    ABSENT = "absent"
    CURRENT = "current"
    OUTDATED = "outdated"
    FOREIGN = "foreign"
    """Somebody else's; left alone."""


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
class Placed:
    """One file of the service. ``text`` is what is to stand there, None to leave or remove it."""

    path: str
    state: FileState
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, in this order; nothing at all if there are problems.

    Attributes:
        before: commands that come first.
        write: files to write.
        remove: files to remove.
        after: commands that come last.
        problems: what is in the way, each with what to do.
        files: every file and how it stands now.
    """

    before: tuple[tuple[str, ...], ...] = ()
    write: tuple[Placed, ...] = ()
    remove: tuple[str, ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    problems: tuple[str, ...] = ()
    files: tuple[Placed, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is as it should be already."""
        return not (self.before or self.write or self.remove or self.after)


def texts(shipped: Mapping[str, str], interpreter: Interpreter) -> dict[str, str]:
    """What is to stand where, by path."""
    line = f"ExecStart={exec_start(interpreter.executable)}"
    return {
        PLACES[name]: MARK + (_EXEC.sub(lambda _: line, text, count=1) if name == UNIT else text)
        for name, text in shipped.items()
    }


def exec_start(executable: str) -> str:
    """The command line for a unit: systemd expands %, $ and backslashes, and splits at blanks."""
    quoted = executable.replace("\\", "\\\\").replace('"', '\\"')
    escaped = quoted.replace("%", "%%").replace("$", "$$")
    word = escaped if _PLAIN.match(executable) else f'"{escaped}"'
    return f"{word} -P -m pfid daemon"


def states(wanted: Mapping[str, str], found: Mapping[str, str | None]) -> tuple[Placed, ...]:
    """How every file stands; ``found`` is None where there is none."""
    return tuple(
        Placed(path=path, state=_state(text, found.get(path)), text=text)
        for path, text in wanted.items()
    )


def _state(wanted: str, found: str | None) -> FileState:
    if found is None:
        return FileState.ABSENT
    if found == wanted:
        return FileState.CURRENT
    return FileState.OUTDATED if found.startswith(MARK) else FileState.FOREIGN


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


def plan_install(
    shipped: Mapping[str, str],
    interpreter: Interpreter,
    found: Mapping[str, str | None],
    wish: Wish,
) -> Plan:
    """Place the unit and what belongs to it.

    A drop-in that was placed earlier is kept up to date also without ``wish.io``.
    """
    files = states(texts(shipped, interpreter), found)
    chosen = [f for f in files if _is_wanted(f, wish)]
    foreign = [f.path for f in chosen if f.state is FileState.FOREIGN]
    problems = (
        *_hidden(interpreter),
        *_closed(interpreter),
        *(f"{p} is not pfid's own file; move it away, or leave the service to it" for p in foreign),
    )
    write = tuple(f for f in chosen if f.state in {FileState.ABSENT, FileState.OUTDATED})
    if problems:
        return Plan(problems=problems, files=files)
    return Plan(write=write, after=tuple(_after_install(wish, changed=bool(write))), files=files)


def _is_wanted(file: Placed, wish: Wish) -> bool:
    return file.path != PLACES[DROP_IN] or wish.io or file.state is FileState.OUTDATED


def _closed(interpreter: Interpreter) -> Iterator[str]:
    for folder in interpreter.closed:
        if not any(_below(folder, hidden) for hidden in HIDDEN):
            yield f"others may not enter {folder}; open it, or install pfid elsewhere"


def _below(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder + "/")


def _hidden(interpreter: Interpreter) -> Iterator[str]:
    for place in dict.fromkeys((interpreter.executable, *interpreter.reads)):
        for folder, line in HIDDEN.items():
            if _below(place, folder):
                yield (
                    f"{place} is out of the service's sight ({line}=yes hides {folder}); install"
                    " pfid with a Python outside it, say in /opt/pfid"
                )


def _after_install(wish: Wish, *, changed: bool) -> Iterator[tuple[str, ...]]:
    into = (f"--root={wish.root}",) if wish.root else ()
    if changed:
        # By name: a path would be taken from the running system also with --root.
        yield ("systemd-sysusers", *into, "pfid.conf")
        yield ("systemd-tmpfiles", *into, "--create", "pfid.conf")
        if not wish.root:
            yield ("systemctl", "daemon-reload")
    if wish.now:
        yield ("systemctl", *into, "enable", UNIT)
        if not wish.root:
            yield ("systemctl", "restart" if changed else "start", UNIT)


def plan_uninstall(
    shipped: Mapping[str, str],
    interpreter: Interpreter,
    found: Mapping[str, str | None],
    root: str = "",
) -> Plan:
    """Stop the unit and remove what was placed; state, configuration and the user stay."""
    files = states(texts(shipped, interpreter), found)
    ours = {FileState.CURRENT, FileState.OUTDATED}
    remove = tuple(f.path for f in files if f.state in ours)
    into = (f"--root={root}",) if root else ()
    has_unit = PLACES[UNIT] in remove
    now = () if root else ("--now",)
    return Plan(
        before=(("systemctl", *into, "disable", *now, UNIT),) if has_unit else (),
        remove=remove,
        after=(("systemctl", "daemon-reload"),) if remove and not root else (),
        files=files,
    )
