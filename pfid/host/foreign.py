"""Third-party plugins: which there are, and who could have put them there. Nothing is imported."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from pfid.host.plugins import PluginKind, PluginSource, Problem
from pfid.workers.installed import GROUP, may_have_entry_points


def entry_points() -> Iterator[PluginSource]:
    """Entry points of group ``pfid.plugins`` of every installed distribution."""
    if not may_have_entry_points(GROUP):
        return
    from importlib import metadata  # 15 ms, and a megabyte: only where there are any

    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        version = point.dist.version if point.dist is not None else ""
        yield PluginSource(
            name=point.name, kind=PluginKind.ENTRY_POINT, place=point.value, version=version
        )


def directory(path: Path, own_uid: int) -> tuple[tuple[PluginSource, ...], tuple[Problem, ...]]:
    """The plugin files of one configured directory.

    A directory or file that anybody but root or the daemon's user can write is refused: whoever
    can write a plugin is the daemon's user.
    """
    try:
        refusal = _writable_by_others(path, own_uid) or _reachable_by_others(path)
        files = sorted(path.iterdir()) if not refusal else []
    except OSError as error:
        refusal, files = f"cannot be read: {error.strerror}", []
    if refusal:
        return (), (Problem(plugin=path.name or str(path), what=f"plugin directory {refusal}"),)
    looked = [_file(f, own_uid) for f in files if f.suffix == ".py" and f.name[0] not in "._"]
    return (
        tuple(found for found in looked if isinstance(found, PluginSource)),
        tuple(found for found in looked if isinstance(found, Problem)),
    )


def _file(path: Path, own_uid: int) -> PluginSource | Problem:
    try:
        refusal = _writable_by_others(path, own_uid)
    except OSError as error:
        refusal = f"cannot be read: {error.strerror}"
    if refusal:
        return Problem(plugin=path.stem, what=f"plugin file {refusal}", check=path.stem)
    return PluginSource(name=path.stem, kind=PluginKind.FILE, place=str(path))


def _writable_by_others(path: Path, own_uid: int) -> str:
    """Say why a path is not trusted, "" if it is; looks at the target of a symlink and the link."""
    for status in (path.lstat(), path.stat()):
        if status.st_uid not in {0, own_uid}:
            return (
                f"belongs to uid {status.st_uid}: only root's or the daemon's own are loaded; "
                "chown it"
            )
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "can be written by its group or by everybody: chmod go-w"
    return ""


def _reachable_by_others(path: Path) -> str:
    """Whoever can write a folder above can put another directory in this one's place."""
    for folder in path.absolute().parents:
        mode = folder.stat().st_mode
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            return f"lies in {folder}, which others can write: chmod go-w it, or move the plugins"
    return ""


def foreign_plugins(
    directories: Iterable[str], *, own_uid: int | None = None, with_entry_points: bool = True
) -> tuple[tuple[PluginSource, ...], tuple[Problem, ...]]:
    """Every third-party plugin, and what is wrong with those that are refused."""
    uid = os.geteuid() if own_uid is None else own_uid
    sources = list(entry_points()) if with_entry_points else []
    problems: list[Problem] = []
    for place in directories:
        found, refused = directory(Path(place), uid)
        sources += found
        problems += refused
    return tuple(sources), tuple(problems)
