"""Whether there is a reason to start the GPU sampler: a library to load, and nothing against it.

A box without a GPU library pays a few looks at the file system a minute and no process. After a
fatal error nothing may be asked of the driver before it was loaded anew (DESIGN, section 5).
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid.adapters.driver_stop import MODULE, DriverStop
from pfid.adapters.gpu_bus import BusWatch

LIBRARY: Final = "libnvidia-ml.so.1"
FOLDERS: Final = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
    "/lib",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
)
KERNEL_LOG: Final = Path("/dev/kmsg")
CACHE: Final = Path("/etc/ld.so.cache")
LOOK_S: Final = 30.0
"""Between two looks for something that is not there."""
MISMATCH_S: Final = 600.0
"""A library that does not fit its driver is tried again after this, whatever did not change."""


def find_library(environ: Mapping[str, str]) -> Path | None:
    """Where the loader would find NVML, without loading it."""
    given = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for folder in (*given, *FOLDERS):
        path = Path(folder) / LIBRARY
        if path.exists():
            return path
    return CACHE if _in_cache(CACHE) else None


def _in_cache(cache: Path) -> bool:
    """Whether the loader's cache names the library, in a place that is not among the usual."""
    with suppress(OSError):
        return LIBRARY.encode() + b"\0" in cache.read_bytes()
    return False


def identity(path: Path | None) -> tuple[int, int] | None:
    """What changes when a file is replaced or a module loaded anew; None if it is not there."""
    if path is None:
        return None
    with suppress(OSError):
        stat = path.stat()
        return stat.st_ino, stat.st_ctime_ns
    return None


@dataclass(slots=True, kw_only=True)
class GpuGate:
    """Asked by the worker's owner before every start.

    Attributes:
        environ: of this process; the worker inherits the library path.
        monotonic_s: the clock.
        module: folder of the kernel module, which is a new one after every load.
        bus: the GPUs that the kernel sees.
        kernel_log: where errors stand that nobody listened to.
        stop: whether a fatal error forbids it, in this process or one before it.
        on_missing: told when the library is not there, at every look.
        on_stopped: told at every look that a fatal error forbids a start.
        on_open: told when there is nothing against a start.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    monotonic_s: Callable[[], float]
    module: Path = MODULE
    bus: BusWatch = field(default_factory=BusWatch)
    kernel_log: Path = KERNEL_LOG
    stop: DriverStop = field(default_factory=DriverStop)
    on_missing: Callable[[], None] = lambda: None
    on_stopped: Callable[[], None] = lambda: None
    on_open: Callable[[], None] = lambda: None
    _shut_on: tuple[object, object] | None = None
    _until_s: float | None = None

    def wait_s(self) -> float:
        """Seconds until it is worth asking again; 0 if the worker may start."""
        library = find_library(self.environ)
        if library is None:
            self.on_missing()
            return LOOK_S
        if self.stop.stands():
            self.on_stopped()
            return LOOK_S
        if self._shut_on is not None:
            late = self._until_s is not None and self.monotonic_s() >= self._until_s
            if self._shut_on == self._now(library) and not late:
                return LOOK_S
            self._shut_on = self._until_s = None
        self.on_open()
        return 0.0

    def _now(self, library: Path | None) -> tuple[object, object]:
        return identity(library), identity(self.module)

    def shut(self, *, for_s: float) -> None:
        """Let nothing start until library or driver changed, or ``for_s`` seconds have passed."""
        self._shut_on = self._now(find_library(self.environ))
        self._until_s = self.monotonic_s() + for_s

    def release(self) -> None:
        """An operator says that it is fine to try again."""
        self._shut_on = self._until_s = None
        self.stop.clear()
