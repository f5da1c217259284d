"""That a driver is not to be asked any more, kept where whoever is started next finds it.

After a fatal Xid no call may be made until the driver was loaded anew (DESIGN, section 5). A daemon
that is started again, a probe or a self-test would ask all the same; so the load under which the
error came stands in a file: of the box's daemon in its state and, for everybody to read, beside its
socket and where it outlives the daemon; of a user's own engines and commands in their state.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from pfid.adapters.process_identity import boot_id
from pfid.domain.errors import StateError

MODULE: Final = Path("/sys/module/nvidia")
FILE: Final = "driver-stop-{name}.json"
PRIVATE: Final = 0o600
READABLE: Final = 0o644


class _Stop(msgspec.Struct, frozen=True, kw_only=True):
    load: str
    at_s: float
    format: int = 1


def driver_load(module: Path = MODULE, boot: Callable[[], str] = boot_id) -> str:
    """Which loading of the driver this is: the boot, and the module's number in sysfs.

    sysfs gives every module a new number when it is loaded, and never an old one again. Its times
    say nothing: they are those of the kernel's cache. Where there is no module to be seen (WSL),
    only another boot counts.
    """
    try:
        booted = boot()
    except StateError:
        booted = ""
    number = ""
    with suppress(OSError):
        number = str(module.stat().st_ino)
    return f"{booted}/{number}"


@dataclass(slots=True, kw_only=True)
class DriverStop:
    """Whether the driver as it is loaded now may be asked.

    Attributes:
        own: folder of our own file; None keeps it in this process.
        shown: folders that users may read, where the file is put as well. The file is every
            reader's, and says nothing but which load it was.
        others: folders of files that somebody else writes.
        name: whose driver, as it stands in the file's name.
        load: says which loading of the driver this is.
    """

    own: Path | None = None
    shown: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()
    name: str = "nvml"
    load: Callable[[], str] = driver_load
    _known: str | None = None

    def stands(self) -> bool:
        """Whether a fatal error came since the driver was loaded."""
        now = self.load()
        return self._known == now or any(_read(path) == now for path in self._paths())

    def set(self) -> None:
        """A fatal error came. Only where no file can be written it is known to this process alone.

        A file is for everybody: whoever takes it away ends it for all that heed it.
        """
        self._known = self.load()
        if self.own is not None:
            with suppress(OSError):
                _write(self._path(self.own), _Stop(load=self._known, at_s=time.time()))
                self._known = None
        self._show()

    def show(self) -> None:
        """Let users read what stands: a folder may have gone with the daemon, its state stays."""
        if self.shown and self.stands():
            self._show()

    def _show(self) -> None:
        for folder in self.shown:
            with suppress(OSError):
                _write(self._path(folder), _Stop(load=self.load(), at_s=time.time()), READABLE)

    def clear(self) -> None:
        """An operator says that the driver may be asked again."""
        self._known = None
        for path in (*self._paths(), *map(self._path, self.shown)):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        own = () if self.own is None else (self.own,)
        return [self._path(folder) for folder in (*own, *self.others)]

    def _path(self, folder: Path) -> Path:
        return folder / FILE.format(name=self.name)


def _read(path: Path) -> str | None:
    """The load under which an error came; None if there was none, or nobody can tell."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Stop).load
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, stop: _Stop, mode: int = PRIVATE) -> None:
    path.parent.mkdir(mode=0o755 if mode == READABLE else 0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(msgspec.json.encode(stop))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
