"""Looks for figures in the files of a folder: ripgrep names the files if it is there, we read them.

Correct without it. What is binary, a link or somebody else's text is left out and counted; what
cannot be read is named.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch, translate
from pathlib import Path
from typing import Final

from pfid.adapters.bounded_process import CannotStartError, run_bounded
from pfid.adapters.figure_texts import UTF_8, Block, NoFileError, blocks, encoding_at
from pfid.formats.figures.prefilter import IN_LINE, prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import Pattern, PatternError, compile_utf8
from pfid.formats.table_headers import Headers

PLACES_MAX: Final = 10_000
BATCH_CHARS: Final = 800_000
"""Of paths in one call, with a pointer each: well below what a program may be given."""
POINTER_CHARS: Final = 9
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
    encodings = {path: _encoding(folder, path, vendored, found) for path in paths}
    readable = [path for path, encoding in encodings.items() if encoding]
    found.read = len(readable)
    plain = [path for path in readable if encodings[path] == UTF_8]
    named = set(_by_ripgrep(folder, plain, prefilter(wanted, by_line=True), environ, found))
    compiled, quick = re.compile(pattern), _quick(pattern)
    for path in readable:
        if path in named or encodings[path] != UTF_8:
            _look_into(folder, path, encodings[path], (compiled, quick), wanted, found)
    return found


def _look_into(
    folder: Path,
    path: str,
    encoding: str,
    patterns: tuple[re.Pattern[str], Pattern | None],
    wanted: Sequence[Wanted],
    found: Searched,
) -> None:
    try:
        for block in blocks(folder / path, encoding, patterns[1]):
            for place in _places(path, block, _Finder(block.text, *patterns), wanted):
                if len(found.places) < PLACES_MAX:
                    found.places.append(place)
                else:
                    found.further += 1
    except OSError:
        found.unread.append(path)


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
    bytewise = pattern.replace(IN_LINE, NO_DIGIT).replace(NO_DIGIT, f"(?-u:{NO_DIGIT})")
    for boundary in (r"\b", r"\B"):
        bytewise = bytewise.replace(boundary, f"(?-u:{boundary})", 1)
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
        size += len(os.fsencode(path)) + POINTER_CHARS
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


class _Finder:
    """Where in a text something may stand, by the quick engine if it takes the pattern."""

    def __init__(self, text: str, pattern: re.Pattern[str], quick: Pattern | None) -> None:
        self._text, self._pattern, self._quick = text, pattern, quick
        self._data = text.encode() if quick is not None else b""
        self._plain = len(self._data) == len(text)
        self._letters = self._bytes = 0

    def behind(self, at: int) -> tuple[int, int] | None:
        """The next place, by its letters; ``at`` is never before the place that was found last."""
        if self._quick is None:
            found = self._pattern.search(self._text, at)
            return None if found is None else found.span()
        match = self._quick.search(self._data, self._to_byte(at))
        if match is None:
            return None
        first, last = match.span()
        if self._plain:
            return first, last
        self._letters += len(self._data[self._bytes : first].decode())
        self._bytes = first
        letters = len(self._data[first:last].decode(errors="replace"))
        return self._letters, self._letters + letters

    def _to_byte(self, at: int) -> int:
        if self._plain:
            return at
        self._bytes += len(self._text[self._letters : at].encode())
        self._letters = at
        return self._bytes


def _places(
    path: str, block: Block, finder: "_Finder", wanted: Sequence[Wanted]
) -> Iterator[Place]:
    text, seen = block.text, set[tuple[int, str]]()
    line, counted_to, headers = block.line, 0, Headers(path, text)
    at = block.above
    while (span := finder.behind(at)) is not None:
        line += text.count("\n", counted_to, span[0])
        counted_to = span[0]
        starts = text.rfind("\n", 0, span[0]) + 1
        begins = max(starts, span[0] - LINE_WINDOW)
        stops = text.find("\n", span[0])
        stops = len(text) if stops < 0 else stops
        ends = min(stops, span[1] + LINE_WINDOW)
        at = ends if ends == stops else ends - SPELLED_CHARS  # where what was read ends
        header = headers.over(begins) if begins == starts else ""
        below = text[ends + 1 : ends + 1 + BELOW_CHARS].partition("\n")[0] if ends == stops else ""
        for one in figures_in(text[begins:ends], wanted, header, below):
            if (begins + one.at, one.key) not in seen:
                seen.add((begins + one.at, one.key))
                yield Place(path, line, one.key, one.text)
