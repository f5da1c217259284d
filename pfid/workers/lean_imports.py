"""Loads libraries without what they load for uses that are never made of them.

A process that runs for weeks under a budget of memory keeps whatever it ever imported. While a
library is imported here, such modules are hollow: whatever is asked of them is a class that does
nothing. A module that is loaded already stays as it is, and afterwards an ``import`` gives
everybody the real one. For a program of its own only.

Of this file itself every worker pays, so it imports next to nothing.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, ModuleType
from typing import Final

UNUSED: Final = {"inspect": ("ast",)}
"""What ``dataclasses`` brings in for the signatures of functions written in C, of which it then
says that there are none."""
ABSENT: Final = {"msgspec": ("typing_extensions",)}
"""What ``typing`` has by itself since Python 3.11."""


class _Hollow(ModuleType):
    """Has every public name: a class of its own, so that it can be a base and an exception."""

    def __getattr__(self, name: str) -> type[Exception]:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (_Nothing,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _Nothing(Exception):  # noqa: N818 - stands for whatever it is taken for
    """Takes any arguments."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


def load_lean() -> None:
    """Import what every worker uses, each without what it does not need here."""
    load_without(UNUSED, ABSENT)


def load_without(
    unused: Mapping[str, tuple[str, ...]],
    missing: Mapping[str, tuple[str, ...]],
    told: Mapping[str, Mapping[str, Mapping[str, object]]] = MappingProxyType({}),
) -> None:
    """Import the libraries that are keys, those of ``missing`` first.

    Args:
        unused: by library, what is hollow meanwhile.
        missing: by library, what cannot be imported meanwhile.
        told: by library, what is hollow but for what it holds.
    """
    for library in dict.fromkeys((*missing, *unused, *told)):
        with (
            absent(missing.get(library, ())),
            hollow(unused.get(library, ()), told.get(library, {})),
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
