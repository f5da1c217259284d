"""Descriptors that a launcher hands over: each in its place, and none left open by a refusal."""

from dataclasses import dataclass, field
from typing import Final

from pfid.wire.control import HandedLog, Role
from pfid.wire.reader import StreamKind
from pfid.workers.closing import CLOSER

_KIND: Final = {Role.LOG: StreamKind.LOG, Role.STEPS: StreamKind.STEPS}


@dataclass(slots=True)
class Handed:
    """Descriptors of one request by role; whatever is not taken is closed."""

    pidfds: list[int] = field(default_factory=list)
    files: list[tuple[StreamKind, int, HandedLog]] = field(default_factory=list)

    def close(self) -> None:
        """Close what is left."""
        for fd in (*self.pidfds, *(fd for _, fd, _ in self.files)):
            CLOSER.close(fd)
        self.pidfds.clear()
        self.files.clear()


def sorted_out(roles: list[Role], logs: list[HandedLog], fds: tuple[int, ...]) -> Handed:
    """Put descriptors in their places; what ``logs`` does not speak of is a fresh file."""
    handed = Handed()
    said = iter(logs)
    for role, fd in zip(roles, fds, strict=True):
        if role is Role.PIDFD:
            handed.pidfds.append(fd)
        else:
            handed.files.append((_KIND[role], fd, next(said, HandedLog())))
    return handed


def stored_name(run: str, part: str) -> str:
    """Name under which the service manager keeps a descriptor: ``p`` the pidfd, a number a file."""
    return f"{run}.{part}"


def parse_stored_name(name: str) -> tuple[str, str] | None:
    """Run and part of a stored descriptor's name, None if it is not one of ours."""
    run, dot, part = name.rpartition(".")
    return (run, part) if dot and (part == "p" or part.isdigit()) else None
