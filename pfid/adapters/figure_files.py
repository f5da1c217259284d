"""Looks for figures in the files of a folder: ripgrep names the files if it is there, we read them.

Correct without it. What is binary, huge, a link or somebody else's text is left out and counted;
what cannot be read is named.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch, translate
from pathlib import Path
from typing import Final

from pfid.adapters.bounded_process import CannotStartError, run_bounded
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import Pattern, PatternError, compile_utf8
from pfid.formats.table_headers import Headers

FILE_MAX_BYTES: Final = 32 * 1024 * 1024
SNIFF_BYTES: Final = 8_192
PLACES_MAX: Final = 10_000
BATCH_CHARS: Final = 100_000
RIPGREP_S: Final = 120.0
NO_DIGIT: Final = "[^0-9]"
"""To ripgrep a byte that is no text is no letter either, unless it is asked for bytes."""
LINE_WINDOW: Final = 2_000
"""So much of a very long line, around what the prefilter found, is read as one."""
SPELLED_CHARS: Final = 200
"""So much behind a figure says what it is."""
BELOW_CHARS: Final = 120
"""So much of the next line, on which the unit of a last number may stand."""
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a figure stands: file from the folder, line, and how it is spelled there."""

    path: str
    line: int
    key: str
    text: str


@dataclass(slots=True)
class Searched:
    """What a search came to.

    Attributes:
        places: where figures stand, in order of file and line; PLACES_MAX at most.
        read: files that were looked through.
        left_out: binary, huge and vendored files, and links.
        unread: files that cannot be read, by path.
        by: "ripgrep" or "python".
    """

    places: list[Place] = field(default_factory=list)
    read: int = 0
    left_out: int = 0
    unread: list[str] = field(default_factory=list)
    by: str = "python"


def search_files(
    folder: Path,
    paths: Iterable[str],
    wanted: Sequence[Wanted],
    *,
    vendored: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Searched:
    """Look for figures.

    Args:
        folder: the root.
        paths: of the files, from the root.
        wanted: figures.
        vendored: further folders and patterns that are somebody else's text.
        environ: with a PATH on which ripgrep may be; None looks for none.
    """
    found = Searched()
    pattern = prefilter(wanted)
    if not pattern:
        return found
    readable = [path for path in paths if _is_text(folder, path, vendored, found)]
    found.read = len(readable)
    candidates = _by_ripgrep(folder, readable, pattern, environ, found)
    compiled, quick = re.compile(pattern), _quick(pattern)
    for path in candidates:
        text = _text(folder, path, quick, found)
        for place in _places(path, text, compiled, wanted):
            if len(found.places) < PLACES_MAX:
                found.places.append(place)
    return found


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


def _is_text(folder: Path, path: str, vendored: Sequence[str], found: Searched) -> bool:
    if is_vendored(path, vendored):
        found.left_out += 1
        return False
    try:
        descriptor = os.open(f"{folder}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _not_opened(folder, path, found)
    try:
        about = os.fstat(descriptor)
        regular = stat.S_ISREG(about.st_mode) and about.st_size <= FILE_MAX_BYTES
        text = regular and b"\0" not in os.pread(descriptor, SNIFF_BYTES, 0)
    except OSError:
        found.unread.append(path)
        return False
    finally:
        os.close(descriptor)
    found.left_out += not text
    return text


def _not_opened(folder: Path, path: str, found: Searched) -> bool:
    """What is no file, or went away, is left out; a file that is closed to us is named."""
    try:
        is_file = stat.S_ISREG((folder / path).lstat().st_mode)
    except FileNotFoundError:
        is_file = False
    except OSError:
        is_file = True
    if not is_file:
        found.left_out += 1
    else:
        found.unread.append(path)
    return False


def _by_ripgrep(
    folder: Path,
    paths: list[str],
    pattern: str,
    environ: Mapping[str, str] | None,
    found: Searched,
) -> list[str]:
    """Files in which something may stand; all of them where ripgrep is not there or gives up."""
    program = None if environ is None else shutil.which("rg", path=environ.get("PATH"))
    if program is None or environ is None:
        return paths
    options = ["--files-with-matches", "--null", "--text", "--no-config", "--no-messages"]
    bytewise = pattern.replace(NO_DIGIT, f"(?-u:{NO_DIGIT})")
    head = [program, *options, "--no-ignore", "--hidden", "--regexp", bytewise, "--"]
    named: set[str] = set()
    for batch in _batches([f"{folder}/{path}" for path in paths]):
        try:
            done = run_bounded([*head, *batch], environ, deadline_s=RIPGREP_S)
        except CannotStartError:
            return paths
        if done.exit_code not in (0, 1) or done.overflowed:
            return paths
        named.update(done.out.decode(errors="surrogateescape").split("\0"))
    found.by = "ripgrep"
    return [path for path in paths if f"{folder}/{path}" in named]


def _batches(paths: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + 1
        batch.append(path)
        if size > BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _quick(pattern: str) -> Pattern | None:
    """An engine that reads twenty times as fast; None if it does not take so long a pattern."""
    try:
        return compile_utf8(pattern)
    except PatternError:
        return None


def _text(folder: Path, path: str, quick: Pattern | None, found: Searched) -> str:
    """What a file holds; "" if no figure can stand in it."""
    try:
        body = (folder / path).read_bytes()
    except OSError:
        found.unread.append(path)
        return ""
    try:
        text = body.decode()
    except UnicodeDecodeError:  # the quick engine would stumble over the same
        return body.decode(errors="replace")
    return "" if quick is not None and quick.search(body) is None else text


def _places(
    path: str, text: str, pattern: re.Pattern[str], wanted: Sequence[Wanted]
) -> Iterator[Place]:
    seen: set[tuple[int, str]] = set()
    line, counted_to, headers = 1, 0, Headers(path, text)
    read_to, to_its_end = 0, False
    for match in pattern.finditer(text):
        if match.start() < read_to and (to_its_end or match.end() + SPELLED_CHARS <= read_to):
            continue
        line += text.count("\n", counted_to, match.start())
        counted_to = match.start()
        starts = text.rfind("\n", 0, match.start()) + 1
        begins = max(starts, match.start() - LINE_WINDOW)
        stops = text.find("\n", match.start())
        stops = len(text) if stops < 0 else stops
        ends = min(stops, match.end() + LINE_WINDOW)
        read_to, to_its_end = ends, ends == stops
        header = headers.over(begins) if begins == starts else ""
        below = text[ends + 1 : ends + 1 + BELOW_CHARS].partition("\n")[0] if ends == stops else ""
        for one in figures_in(text[begins:ends], wanted, header, below):
            if (begins + one.at, one.key) not in seen:
                seen.add((begins + one.at, one.key))
                yield Place(path, line, one.key, one.text)
