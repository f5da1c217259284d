"""Looks for figures in the files of a folder: ripgrep names the lines if it is there, we read them.

Correct without it. What is binary, a link or somebody else's text is left out and counted; what
cannot be read is named.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch, translate
from pathlib import Path
from typing import Final

from pfid.adapters.figure_places import Place, Reader, is_separated
from pfid.adapters.figure_ripgrep import Hit, RipgrepError, every_row, lines_by_ripgrep
from pfid.adapters.figure_texts import UTF_8, NoFileError, encoding_at
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.wanted import Wanted

PLACES_MAX: Final = 10_000
BATCHES: Final = 8
BATCH_FEWEST, BATCH_MOST = 2_000, 16_000
"""Files in a batch: while one is read ripgrep searches the next, and each has to be started."""
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
    search = _Search(folder, wanted, environ)
    every = list(paths)
    with (
        ThreadPoolExecutor(1) as asking,
        ThreadPoolExecutor(min(os.cpu_count() or 1, THREADS_MAX)) as looking,
    ):
        asked: deque[tuple[_Batch, Future[_Hits | None]]] = deque()
        for begin, end in _batches(len(every)):
            batch = _batch(folder, every[begin:end], vendored, found)
            asked.append((batch, asking.submit(search.ask, batch)))
            while len(asked) > (end < len(every)):
                oldest, hits = asked.popleft()
                for path, places in search.look(oldest, hits.result(), looking.map):
                    _add(found, path, places)
                    told(f"{begin:,} of {len(every):,} files, {len(found.places):,} places")
            told(f"{end:,} of {len(every):,} files, {len(found.places):,} places")
    found.by = "ripgrep" if search.asks else "python"
    return found


_Batch = dict[str, str]
"""How each file is written, by path."""
_Hits = Mapping[str, Sequence[Hit]]
"""Lines in which something may stand, by path, for each file that was searched."""


class _Search:
    """Asks ripgrep for batches of files as long as it answers, and reads what it names."""

    def __init__(
        self, folder: Path, wanted: Sequence[Wanted], environ: Mapping[str, str] | None
    ) -> None:
        self._folder, self._wanted, self._environ = folder, wanted, environ
        self._reader = Reader(folder, wanted)
        self.asks = True

    def ask(self, batch: _Batch) -> _Hits | None:
        """None where ripgrep is not there or gives up: then every file is read."""
        plain = [path for path, encoding in batch.items() if encoding == UTF_8 and "\n" not in path]
        environ = self._environ if self.asks else None
        hits = _hits(self._folder, plain, self._wanted, self._reader, environ)
        if hits is None:
            self.asks = False
            return None
        return {path: hits.get(path, ()) for path in plain}

    def look(
        self,
        batch: _Batch,
        hits: _Hits | None,
        each: Callable[
            [Callable[[str], list[Place] | None], Sequence[str]], Iterable[list[Place] | None]
        ],
    ) -> Iterator[tuple[str, list[Place] | None]]:
        """Read the files of a batch, or the lines that are named of those that were searched."""
        known = hits or {}
        looked = [path for path in batch if known.get(path, True)]

        def look(path: str) -> list[Place] | None:
            return _look_into(self._reader, path, batch[path], known.get(path))

        yield from zip(looked, each(look, looked), strict=True)


def _batches(many: int) -> Iterator[tuple[int, int]]:
    """Where each begins and ends."""
    size = min(max(many // BATCHES + 1, BATCH_FEWEST), BATCH_MOST)
    yield from ((begin, min(begin + size, many)) for begin in range(0, max(many, 1), size))


def _batch(folder: Path, paths: Sequence[str], vendored: Sequence[str], found: Searched) -> _Batch:
    """The texts among some files."""
    encodings = {path: _encoding(folder, path, vendored, found) for path in paths}
    batch = {path: encoding for path, encoding in encodings.items() if encoding}
    found.read += len(batch)
    return batch


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
    try:
        told = {path for path in columns if reader.is_told_above(path)}
        found: dict[str, Sequence[Hit]] = {}
        for some, worth, below in (
            ([path for path in paths if not is_separated(path)], look.worth, 1),
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
