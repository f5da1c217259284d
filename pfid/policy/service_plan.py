"""What installing pfid as a service comes to: which files, which commands, and what is in the way.

Pure: what stands on disk comes in as texts, what is to be done goes out as a plan. Installing
twice is installing once; a file that somebody else wrote is never overwritten.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.policy.service_facts import Interpreter, Machine, Running, Wish

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
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\"'\\]")
"""What systemd refuses in the path of a program, however it is written."""
LEFT: Final = {
    "/var/lib/pfid": "runs, verdicts and events",
    "/var/cache/pfid": "the word that a GPU met a fatal error",
    "/etc/pfid": "the configuration",
}
"""What uninstalling leaves, and what it is."""


class FileState(Enum):
    """How a file stands to what would be placed."""

    ABSENT = "absent"
    CURRENT = "current"
    OUTDATED = "outdated"
    FOREIGN = "foreign"
    """Somebody else's; left alone."""


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
        notes: what is left as it is, and how it would be changed.
        instead: what would be done were nothing in the way; None where nothing is.
    """

    before: tuple[tuple[str, ...], ...] = ()
    write: tuple[Placed, ...] = ()
    remove: tuple[str, ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    problems: tuple[str, ...] = ()
    files: tuple[Placed, ...] = ()
    notes: tuple[str, ...] = ()
    instead: "Plan | None" = None

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
    """The command line for a unit: systemd expands %, and splits at blanks.

    A $ is expanded in the arguments and not in the path, so that none can be written for both;
    a colon in front has it left alone.
    """
    escaped = executable.replace("%", "%%")
    colon = ":" if "$" in executable else ""
    word = escaped if _PLAIN.match(executable) else f'"{colon}{escaped}"'
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


def plan_install(
    shipped: Mapping[str, str],
    interpreter: Interpreter,
    found: Mapping[str, str | None],
    wish: Wish,
    machine: Machine,
) -> Plan:
    """Place the unit and what belongs to it.

    A drop-in that was placed earlier is kept up to date also without ``wish.io``. What an earlier
    attempt left undone is done, and a daemon of another version is started again.
    """
    files = states(texts(shipped, interpreter), found)
    chosen = [f for f in files if _is_wanted(f, wish)]
    foreign = [f.path for f in chosen if f.state is FileState.FOREIGN]
    problems = (
        *_unreachable(wish, machine),
        *_hidden(interpreter),
        *_closed(interpreter),
        *_unwritable(interpreter),
        *(f"{p} is not pfid's own file; move it away, or leave the service to it" for p in foreign),
    )
    write = tuple(f for f in chosen if f.state in {FileState.ABSENT, FileState.OUTDATED})
    after = tuple(_after_install(wish, machine, changed=bool(write)))
    plan = Plan(
        write=write,
        after=after,
        files=files,
        notes=tuple(_notes(wish, machine, changed=bool(write))),
    )
    return Plan(problems=problems, files=files, instead=plan) if problems else plan


def _unreachable(wish: Wish, machine: Machine) -> Iterator[str]:
    if machine.running is None and not wish.root:
        yield (
            "no systemd answers here, so there is nothing to install a unit into; `pfid run` needs"
            " none, and --root works on the image of a system"
        )


def _unwritable(interpreter: Interpreter) -> Iterator[str]:
    if _UNSAFE.search(interpreter.executable):
        yield (
            f"systemd starts nothing at {interpreter.executable!r}: a path with a quote, a"
            " backslash or a control character; install pfid elsewhere"
        )


def _is_stale(machine: Machine) -> bool:
    """Whether what runs is not what is installed; one that does not say is an older one."""
    running = machine.running
    if running is None or not running.active or running.version is None:
        return False
    return running.version != machine.version


def _notes(wish: Wish, machine: Machine, *, changed: bool) -> Iterator[str]:
    running = machine.running
    if running is None or not running.active or wish.now:
        return
    if _is_stale(machine):
        old = running.version or "an older version"
        yield f"the service runs {old}, this is {machine.version}; --now starts it again"
    elif changed:
        yield "the service runs with the files as they were; --now starts it again"


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


def _after_install(wish: Wish, machine: Machine, *, changed: bool) -> Iterator[tuple[str, ...]]:
    into = (f"--root={wish.root}",) if wish.root else ()
    running = machine.running or Running()
    if changed or not machine.prepared:
        # By name: a path would be taken from the running system also with --root.
        yield ("systemd-sysusers", *into, "pfid.conf")
        yield ("systemd-tmpfiles", *into, "--create", "pfid.conf")
    if (changed or running.needs_reload) and not wish.root:
        yield ("systemctl", "daemon-reload")
    if wish.now and (changed or not running.enabled):
        yield ("systemctl", *into, "enable", UNIT)
    if wish.now and not wish.root:
        if running.active and (changed or running.needs_reload or _is_stale(machine)):
            yield ("systemctl", "restart", UNIT)
        elif not running.active:
            yield ("systemctl", "start", UNIT)


def plan_uninstall(
    shipped: Mapping[str, str],
    interpreter: Interpreter,
    found: Mapping[str, str | None],
    root: str,
    machine: Machine,
) -> Plan:
    """Stop the unit and remove what was placed; state, configuration and the user stay."""
    files = states(texts(shipped, interpreter), found)
    ours = {FileState.CURRENT, FileState.OUTDATED}
    remove = tuple(f.path for f in files if f.state in ours)
    into = (f"--root={root}",) if root else ()
    has_unit = PLACES[UNIT] in remove
    now = () if root else ("--now",)
    told = bool(root) or machine.running is not None
    return Plan(
        before=(("systemctl", *into, "disable", *now, UNIT),) if has_unit and told else (),
        remove=remove,
        after=(("systemctl", "daemon-reload"),) if remove and told and not root else (),
        files=files,
        notes=tuple(_left(machine)),
    )


def _left(machine: Machine) -> Iterator[str]:
    """What stays, for whoever wants it gone too."""
    for path in machine.left:
        yield f"{path} stays ({LEFT[path]}); `rm -r {path}` if it is not wanted any more"
    if machine.user:
        yield "the user pfid stays, for it owns what is left; `userdel pfid` when nothing is"
