"""Looks for figures in the files of a folder: ripgrep names the lines if it is there, we read them.

Correct without it. What is binary, a link or somebody else's text is left out and counted; what
cannot be read is named.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch, translate
from pathlib import Path
from typing import Final

from pfid.adapters.figure_places import Place, Reader, is_separated
from pfid.adapters.figure_ripgrep import Hit, RipgrepError, every_row, lines_by_ripgrep
from pfid.adapters.figure_texts import UTF_8, NoFileError, encoding_at
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.told_rows import records
from pfid.formats.figures.wanted import Wanted

PLACES_MAX: Final = 10_000
THREADS_MAX: Final = 4
"""The quick engine and the disk let others work meanwhile; each may hold a block."""
VENDORED: Final = frozenset(
    {
        ".git",
        "node_modules",
        "vendor",
        "third_party",
        "site-packages",
        ".venv",
        "venv",
        "__pycache__",
    }
)
LOCK_FILES: Final = ("*.lock", "*-lock.json", "*.min.js", "*.map", "*.svg")
_LOCK_FILE: Final = re.compile("|".join(map(translate, LOCK_FILES)))


@dataclass(slots=True)
class Searched:
    """What a search came to.

    Attributes:
        places: where figures stand, in order of file and line; PLACES_MAX at most.
        read: files that were looked through.
        left_out: binary and vendored files, and links.
        unread: files that cannot be read, by path.
        further: places beyond those that are kept.
        by: "ripgrep" or "python".
    """

    places: list[Place] = field(default_factory=list)
    read: int = 0
    left_out: int = 0
    unread: list[str] = field(default_factory=list)
    further: int = 0
    by: str = "python"


def search_files(
    folder: Path,
    paths: Iterable[str],
    wanted: Sequence[Wanted],
    *,
    vendored: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Searched:
    """Look for figures.

    Args:
        folder: the root.
        paths: of the files, from the root.
        wanted: figures.
        vendored: further folders and patterns that are somebody else's text.
        environ: with a PATH on which ripgrep may be; None looks for none.
        told: is told how far it is, often.
    """
    found = Searched()
    pattern = prefilter(wanted)
    if not pattern:
        return found
    encodings: dict[str, str] = {}
    for path in paths:
        encodings[path] = _encoding(folder, path, vendored, found)
        told(f"{len(encodings):,} files looked at for what they are")
    readable = [path for path, encoding in encodings.items() if encoding]
    found.read = len(readable)
    plain = [path for path in readable if encodings[path] == UTF_8 and "\n" not in path]
    reader = Reader(folder, wanted)
    told(f"{len(plain):,} files to be searched")
    hits = _hits(folder, plain, wanted, reader, environ)
    spared = set(plain).difference(hits) if hits is not None else set()
    found.by = "python" if hits is None else "ripgrep"
    looked = [path for path in readable if path not in spared]

    def look(path: str) -> list[Place] | None:
        return _look_into(reader, path, encodings[path], (hits or {}).get(path))

    with ThreadPoolExecutor(min(os.cpu_count() or 1, THREADS_MAX)) as pool:
        for at, places in enumerate(pool.map(look, looked)):
            _add(found, looked[at], places)
            told(f"{at + 1:,} of {len(looked):,} files looked into, {len(found.places):,} places")
    return found


def _hits(
    folder: Path,
    paths: Sequence[str],
    wanted: Sequence[Wanted],
    reader: Reader,
    environ: Mapping[str, str] | None,
) -> Mapping[str, Sequence[Hit]] | None:
    """Lines in which something may stand, by path; None where ripgrep is not there or gives up."""
    pattern = prefilter(wanted, by_line=True)
    columns = [path for path in paths if is_separated(path)]
    look = reader.look

    def worth_of_lines(rows: bytes) -> Iterator[bytes]:
        return look.worth(records(rows))

    try:
        told = {path for path in columns if reader.is_told_above(path)}
        found: dict[str, Sequence[Hit]] = {}
        for some, worth, below in (
            ([path for path in paths if not is_separated(path)], worth_of_lines, 1),
            ([path for path in columns if path not in told], look.worth_of_columns, 0),
            ([path for path in columns if path in told], every_row, 0),
        ):
            found.update(
                lines_by_ripgrep(str(folder), some, pattern, environ, worth, lines_below=below)
            )
    except (RipgrepError, OSError):
        return None
    return found


def _look_into(
    reader: Reader, path: str, encoding: str, hits: Sequence[Hit] | None
) -> list[Place] | None:
    """Figures of a file, or of its lines that are named; None if it cannot be read."""
    try:
        if hits is None:
            return list(reader.whole(path, encoding))
        return list(reader.lines(path, encoding, hits))
    except OSError:
        return None


def _add(found: Searched, path: str, places: list[Place] | None) -> None:
    if places is None:
        found.unread.append(path)
        return
    room = PLACES_MAX - len(found.places)
    found.places += places[:room]
    found.further += len(places[room:])


def walked(folder: Path, closed: list[str]) -> Iterator[str]:
    """Every file below a folder that no repository speaks for, vendored folders left out.

    Args:
        folder: the root.
        closed: folders that cannot be looked into are added here.
    """

    def add(error: OSError) -> None:
        closed.append(os.path.relpath(error.filename, folder))

    for root, folders, files in os.walk(folder, onerror=add):
        folders[:] = sorted(f for f in folders if f not in VENDORED)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(root, name), folder)  # noqa: PTH118 - plain strings


def is_vendored(path: str, vendored: Sequence[str] = ()) -> bool:
    """Whether a file is somebody else's text."""
    parts = path.split("/")
    if VENDORED.intersection(parts) or _LOCK_FILE.match(parts[-1]):
        return True
    return any(
        fnmatch(path, p) or path.startswith(p.rstrip("/") + "/") for p in vendored if p.strip("/")
    )


def _encoding(folder: Path, path: str, vendored: Sequence[str], found: Searched) -> str:
    """How a file is written; "" if it is left out or cannot be read."""
    encoding = ""
    try:
        encoding = "" if is_vendored(path, vendored) else encoding_at(f"{folder}/{path}")
    except NoFileError:
        pass
    except OSError:
        found.unread.append(path)
        return ""
    found.left_out += not encoding
    return encoding
