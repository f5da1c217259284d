"""What a declared folder holds: its files, and those that its links lead to.

A link's name says nothing of the content behind it: an edit there changes the data and no name. So
links are gone through, wherever they lead. Only a link to a folder within the declared one is
recorded as such, because what it leads to is read already.
"""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

FILES_MAX: Final = 100_000
"""A folder of more is refused: nobody waits for it at every launch."""
LINKS_DEEP: Final = 40
"""Folders beyond each other by links; the kernel, too, goes no further."""


class FolderError(Exception):
    """Why the folder has no digest; a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is in it.

    Attributes:
        files: name within, path to be read and size, in the order of their names.
        links: name within and the folder in the declared one that it leads to.
    """

    files: tuple[tuple[str, str, int], ...]
    links: tuple[tuple[str, str], ...]


def content_of(folder: str) -> Content:
    """List a folder.

    Raises:
        FolderError: ``dangling_link``, ``link_loop`` (through folders too), ``not_regular`` (a link
            to a device or a pipe), ``too_many_files``.
        OSError: if a folder cannot be read.
    """
    listing = _Listing(root=os.path.realpath(folder))
    listing.walk(folder, "", (listing.root,))
    return Content(files=tuple(sorted(listing.files)), links=tuple(sorted(listing.links)))


@dataclass(slots=True, kw_only=True)
class _Listing:
    root: str
    files: list[tuple[str, str, int]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    followed: int = 0

    def walk(self, folder: str, below: str, through: tuple[str, ...]) -> None:
        """Go through a folder that was reached ``through`` these: real paths, one a link."""
        for entry in _entries(folder):
            name = f"{below}{entry.name}"
            if entry.is_symlink():
                self._link(entry, name, through)
            elif entry.is_dir(follow_symlinks=False):
                self.walk(entry.path, f"{name}/", through)
            elif entry.is_file(follow_symlinks=False):
                self._file(name, entry.path, entry.stat(follow_symlinks=False).st_size)

    def _link(self, entry: "os.DirEntry[str]", name: str, through: tuple[str, ...]) -> None:
        found = _behind(entry.path)
        if stat.S_ISREG(found.st_mode):
            self._file(name, entry.path, found.st_size)
        elif not stat.S_ISDIR(found.st_mode):
            raise FolderError("not_regular")
        else:
            self._folder(entry.path, name, through)

    def _folder(self, path: str, name: str, through: tuple[str, ...]) -> None:
        real = os.path.realpath(path)
        if real != self.root and _holds(self.root, real):
            self.links.append((name, os.path.relpath(real, self.root)))
        elif len(through) > LINKS_DEEP or _leads_back(real, path, through):
            raise FolderError("link_loop")
        else:
            self.followed += 1
            self.walk(real, f"{name}/", (*through, real))
        self._bounded()

    def _file(self, name: str, path: str, size_bytes: int) -> None:
        self.files.append((name, path, size_bytes))
        self._bounded()

    def _bounded(self) -> None:
        if len(self.files) + len(self.links) + self.followed > FILES_MAX:
            raise FolderError("too_many_files")


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        yield from entries


def _behind(path: str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - a plain string
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FolderError("dangling_link") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FolderError("link_loop") from error
        raise


def _leads_back(real: str, link: str, through: tuple[str, ...]) -> bool:
    """Whether a folder holds one that led to it, or the link itself."""
    here = os.path.realpath(os.path.dirname(link))  # noqa: PTH120 - a plain string
    return any(_holds(real, place) for place in (*through, here))


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
