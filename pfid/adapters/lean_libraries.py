"""Loads the daemon's libraries without what they load for uses it never makes of them.

structlog brings asyncio, prometheus_client an HTTP server and a client with TLS, APScheduler its
process pools: 12 MiB and a tenth of a second, in a program that runs for weeks under a budget.
While those libraries are imported here, such modules are hollow: whatever is asked of them is a
class that does nothing. A module that is loaded already stays as it is, and afterwards an
``import`` gives everybody the real one. For a program of its own only: where asyncio loggers,
``start_http_server`` or a pool executor are wanted, the libraries are imported as they are.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, ModuleType
from typing import Final

UNUSED: Final = {
    "structlog": ("asyncio",),
    "prometheus_client": (
        "http.server",
        "ssl",
        "urllib.error",
        "urllib.request",
        "wsgiref",
        "wsgiref.simple_server",
    ),
    "apscheduler.schedulers.background": (
        "asyncio",
        "concurrent.futures.process",
        "multiprocessing",
    ),
}
"""By library, what it loads at its top and needs for nothing that the daemon uses."""
TOLD: Final[dict[str, dict[str, dict[str, object]]]] = {
    "apscheduler.schedulers.background": {
        "importlib.metadata": {"version": lambda _: "0", "entry_points": lambda **_: ()}
    }
}
"""By library, what it asks others at its top, and the answer it gets: which version it is, and who
adds kinds of triggers, none of which is used. The real one loads parsers of mail and archives."""
ABSENT: Final = {"structlog": ("rich",), "hashlib": ("_hashlib",)}
"""By library, what it does without where it is not there: colours; OpenSSL, 3 MiB, for digests that
Python brings itself."""


class _Hollow(ModuleType):
    """Has every public name: a class of its own, so that it can be a base and an exception."""

    def __getattr__(self, name: str) -> type[Exception]:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


def load_lean() -> None:
    """Import the libraries, each without what it does not need here."""
    for library in (*ABSENT, *UNUSED):
        with (
            absent(ABSENT.get(library, ())),
            hollow(UNUSED.get(library, ()), TOLD.get(library, {})),
        ):
            importlib.import_module(library)


@contextmanager
def absent(names: tuple[str, ...]) -> Iterator[None]:
    """Have the import of each of ``names`` fail that is not loaded yet."""
    placed = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(placed))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in placed:
            sys.modules.pop(name, None)


@contextmanager
def hollow(
    names: tuple[str, ...], told: Mapping[str, Mapping[str, object]] = MappingProxyType({})
) -> Iterator[None]:
    """Give hollow modules to whoever imports one of ``names`` that is not loaded yet.

    Args:
        names: of modules.
        told: likewise, with what they hold.
    """
    placed = {name: _Hollow(name) for name in (*names, *told) if name not in sys.modules}
    for name, module in placed.items():
        module.__path__ = []  # a package, whose parts are hollow too or missing
        vars(module).update(told.get(name, {}))
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
            _forget(name, module)


def _forget(name: str, module: ModuleType) -> None:
    """A parent package keeps what was imported from it as an attribute."""
    parent, _, child = name.rpartition(".")
    package = sys.modules.get(parent)
    if package is not None and vars(package).get(child) is module:
        delattr(package, child)
