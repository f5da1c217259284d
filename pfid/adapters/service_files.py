"""Files and commands of the installed service: read, written whole or not at all, removed, run."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pfid
from pfid.domain.errors import PfidError
from pfid.policy.service_facts import Interpreter
from pfid.policy.service_plan import PLACES, UNIT, Plan

COMMAND_TIMEOUT_S: Final = 300.0
_SHOWN: Final = (
    *("LoadState", "ActiveState", "SubState", "UnitFileState", "MainPID", "NRestarts"),
    "NeedDaemonReload",
)


class ServiceError(PfidError):
    """The service cannot be installed, removed or asked about."""


def shipped() -> dict[str, str]:
    """The unit and what belongs to it, as they came with pfid: in the wheel, or in the checkout.

    Raises:
        ServiceError: if they did not come along.
    """
    package = Path(pfid.__file__).parent
    for folder in (package / "systemd", package.parent / "systemd"):
        if (folder / UNIT).is_file():
            return {name: (folder / name).read_text(encoding="utf-8") for name in PLACES}
    raise ServiceError(f"{package} came without its unit files; install pfid again")


def running_interpreter() -> Interpreter:
    """The Python that runs this, as the unit would call it."""
    executable = Path(sys.executable)
    reads = (
        *(Path(p) for p in (sys.prefix, sys.base_prefix)),
        executable.resolve(),
        Path(pfid.__file__).resolve().parent,
    )
    return Interpreter(
        executable=str(executable),
        reads=tuple(dict.fromkeys(str(p) for p in reads)),
        closed=tuple(dict.fromkeys(str(c) for c in _closed((executable, *reads)))),
    )


def _closed(places: Iterable[Path]) -> Iterable[Path]:
    """Folders on the way that somebody else could not enter."""
    for place in places:
        for folder in reversed(place.parents):
            try:
                mode = folder.stat().st_mode
            except OSError:
                yield folder
                break
            if not mode & stat.S_IXOTH:
                yield folder
                break


def found(root: Path) -> dict[str, str | None]:
    """What stands at each file's place below ``root``; None where nothing does.

    Raises:
        ServiceError: if a file is there and cannot be read.
    """
    return {path: _text(_below(root, path)) for path in PLACES.values()}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"cannot read {path}: {error.strerror}") from error


def carry_out(plan: Plan, root: Path) -> None:
    """Do what a plan says, in its order.

    Raises:
        ServiceError: naming the file or command that failed; what was done before it stays done,
            and the same command goes on from there. Where a file may not be written or removed
            nothing is begun.
    """
    for path in (*(file.path for file in plan.write), *plan.remove):
        _permitted(_below(root, path))
    for command in plan.before:
        _run(command)
    for file in plan.write:
        _write(_below(root, file.path), file.text or "")
    for path in plan.remove:
        _remove(_below(root, path))
    for command in plan.after:
        _run(command)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _permitted(path: Path) -> None:
    """Refuse before the first command: a service is not stopped by who cannot remove it."""
    folder = next(p for p in path.parents if p.is_dir())
    if os.access(folder, os.W_OK | os.X_OK):
        return
    code = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    problem = OSError(code, os.strerror(code))
    raise ServiceError(f"cannot write {path}: {problem.strerror}{_hint(problem)}; nothing was done")


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise ServiceError(f"cannot write {path}: {error.strerror}{_hint(error)}") from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        if path.parent.name.endswith(".d") and path.parent.name.startswith(UNIT):
            path.parent.rmdir()
    except OSError as error:
        if not path.exists():
            return  # the folder holds somebody else's drop-ins
        raise ServiceError(f"cannot remove {path}: {error.strerror}{_hint(error)}") from error


def _hint(error: OSError) -> str:
    return "; run this as root" if isinstance(error, PermissionError) else ""


def _run(command: tuple[str, ...]) -> None:
    shown = " ".join(command)
    try:
        done = subprocess.run(  # noqa: S603 - commands of the plan, no shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServiceError(f"`{shown}` cannot be run: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ServiceError(f"`{shown}` failed with {done.returncode}: {said}")


def unit_facts() -> Mapping[str, str] | None:
    """What systemd says of the unit; None where no systemd runs or answers."""
    if not Path("/run/systemd/system").is_dir():
        return None
    command = ("systemctl", "show", UNIT, f"--property={','.join(_SHOWN)}")
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, capture_output=True, text=True, timeout=10.0, check=False, env=os.environ
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in pairs}
