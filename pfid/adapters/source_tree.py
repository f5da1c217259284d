"""The Python source of one package on disk: read as text, never imported."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid.formats.python_source.bindings import SourceError, SourceModule, read_module

FILE_MAX_BYTES: Final = 4 << 20
FILES_MAX: Final = 3000
"""Modules that are read for one question; the largest engine known needs 200."""


@dataclass
class SourceTree:
    """A package.

    Attributes:
        folder: that holds its ``__init__.py``.
        package: its name.
    """

    folder: Path
    package: str
    _real: str = field(init=False)
    _read: dict[str, SourceModule | SourceError | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._real = os.path.realpath(self.folder)

    def module(self, name: str) -> SourceModule | None:
        """Read a module; None if there is none of the name.

        Raises:
            SourceError: if it cannot be read, or lies outside the tree.
        """
        if name not in self._read:
            self._read[name] = self._look(name)
        found = self._read[name]
        if isinstance(found, SourceError):
            raise found
        return found

    def _look(self, name: str) -> SourceModule | SourceError | None:
        parts = name.split(".")
        if parts[0] != self.package or not all(part.isidentifier() for part in parts):
            return None
        if len(self._read) > FILES_MAX:
            return SourceError(f"{name} is one module more than anybody would read")
        base = self.folder.joinpath(*parts[1:])
        try:
            for path, package in ((base / "__init__.py", True), (base.with_suffix(".py"), False)):
                if os.path.lexists(path):
                    return read_module(name, self._text(path, name), package=package)
            spaced = base.is_dir() and self._inside(base)
            return read_module(name, "", package=True) if spaced else None
        except SourceError as error:
            return error
        except OSError as error:
            return SourceError(f"{name} cannot be read: {error.strerror or error}")

    def _text(self, path: Path, name: str) -> str:
        if not self._inside(path):
            raise SourceError(f"{name} is a link out of the tree")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            held = os.fstat(descriptor)
            if not stat.S_ISREG(held.st_mode):
                raise SourceError(f"{name} is no regular file")
            if held.st_size > FILE_MAX_BYTES:
                raise SourceError(f"{name} is larger than {FILE_MAX_BYTES} bytes")
            return file.read(FILE_MAX_BYTES).decode("utf-8", "replace")

    def _inside(self, path: Path) -> bool:
        real = os.path.realpath(path)
        return os.path.commonpath((real, self._real)) == self._real
