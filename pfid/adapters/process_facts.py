"""What a living process tells of itself once, at ``pfid attach``: command, environment, output.

Not for a process in D state: reading ``cmdline`` or ``environ`` of one can hang (gpud#1300).
"""

import os
import stat
from pathlib import Path


def owner_uid(pid: int) -> int | None:
    """Effective uid of a process, None if it is gone."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def command_line(pid: int) -> tuple[str, ...]:
    """Its arguments; () if they may not be read."""
    return tuple(_parts(pid, "cmdline"))


def environment(pid: int) -> dict[str, str]:
    """Its environment as it started; {} if it may not be read."""
    pairs = (part.partition("=") for part in _parts(pid, "environ"))
    return {name: value for name, _, value in pairs if name}


def working_directory(pid: int) -> str:
    """Where it works, "" if that may not be read."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - a name of the kernel's, not a path
    except OSError:
        return ""


def _parts(pid: int, what: str) -> list[str]:
    try:
        body = Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(part) for part in body.split(b"\0") if part]


def output_file(pid: int) -> str | None:
    """The regular file that its stdout is, if its name still leads there; None otherwise."""
    try:
        path = os.readlink(f"/proc/{pid}/fd/1")  # noqa: PTH115 - likewise
        opened, named = Path(f"/proc/{pid}/fd/1").stat(), Path(path).stat()
    except OSError:
        return None
    same = os.path.samestat(opened, named)
    return path if same and stat.S_ISREG(named.st_mode) else None


def appends_to(pid: int, path: str) -> bool:
    """Whether it has a file open for appending; False as well if that may not be read.

    Names are compared first: a descriptor that leads to a dead mount is never followed.
    """
    try:
        numbers = [entry.name for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return any(_is(pid, number, path) and _appends(pid, number) for number in numbers)


def _is(pid: int, number: str, path: str) -> bool:
    opened = f"/proc/{pid}/fd/{number}"
    try:
        if os.readlink(opened) != os.path.realpath(path):  # noqa: PTH115 - likewise
            return False
        return os.path.samestat(Path(opened).stat(), Path(path).stat())
    except OSError:
        return False


def _appends(pid: int, number: str) -> bool:
    try:
        told = Path(f"/proc/{pid}/fdinfo/{number}").read_text()
    except OSError:
        return False
    flags = (line.split()[1] for line in told.splitlines() if line.startswith("flags:"))
    return any(int(octal, 8) & os.O_APPEND for octal in flags)
