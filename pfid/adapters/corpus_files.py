"""The text of a corpus, piece by piece: files, folders, unpacked ``.gz``, a field of JSON lines.

Nothing is dropped in silence: files that are no text are counted, lines without the field are
counted, and so are places whose bytes are no UTF-8. What cannot be read ends the reading.
"""

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

import msgspec

from pfid.domain.errors import PfidError

BLOCK_BYTES: Final = 1 << 20
SNIFF_BYTES: Final = 8_192
LINE_MAX_BYTES: Final = 256 * 1024 * 1024
JSON_LINES: Final = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


class CorpusError(PfidError):
    """A corpus that cannot be read."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of one document.

    Attributes:
        text: UTF-8 as it stands; a character is never cut.
        file: number of the file, in the order of reading.
        line: of the file, for JSON lines; 0 else.
        offset: bytes before it in the document: the unpacked file, or the field.
        new: whether a document begins.
    """

    text: bytes
    file: int
    line: int
    offset: int
    new: bool


@dataclass(slots=True)
class CorpusReading:
    """Reads a corpus once.

    Attributes:
        paths: files and folders.
        key: of JSON lines, dotted; ``*`` takes every entry of a list.
        files: read so far, by their paths.
        left_out: files in folders that are no text, and links.
        bad_bytes: places whose bytes are no UTF-8.
        bad_lines: JSON lines that hold no such field, or no JSON.
        told: given bytes read and bytes on disk, after each block.
    """

    paths: Sequence[Path]
    key: str = "text"
    files: list[Path] = field(default_factory=list)
    left_out: int = 0
    bad_bytes: int = 0
    bad_lines: int = 0
    told: Callable[[int, int], None] | None = None
    _read_bytes: int = 0
    _all_bytes: int = 0

    def pieces(self) -> Iterator[Piece]:
        """Read everything.

        Raises:
            CorpusError: for a path that is not there, cannot be read, or is no text.
        """
        named = [(path, self._sized(path)) for path in self.paths]
        every = [(path, size, True) for path, size in named if size is not None]
        for folder in (path for path, size in named if size is None):
            every += [(path, size, False) for path, size in self._below(folder)]
        self._all_bytes = sum(size for _, size, _ in every)
        for path, _, is_named in every:
            yield from self._of_file(path, is_named=is_named)

    def _sized(self, path: Path) -> int | None:
        """Size of a file; None for a folder."""
        try:
            about = path.stat()
        except OSError as error:
            raise CorpusError(f"{path}: {error.strerror}") from error
        if stat.S_ISDIR(about.st_mode):
            return None
        if not stat.S_ISREG(about.st_mode):
            raise CorpusError(f"{path}: is no file and no folder")
        return about.st_size

    def _below(self, folder: Path) -> Iterator[tuple[Path, int]]:
        def refuse(error: OSError) -> None:
            raise CorpusError(f"{error.filename}: {error.strerror}") from error

        for root, folders, files in os.walk(folder, onerror=refuse):
            folders.sort()
            for name in sorted(files):
                path = Path(root, name)
                about = path.lstat()
                if stat.S_ISREG(about.st_mode):
                    yield path, about.st_size
                else:
                    self.left_out += 1

    def _of_file(self, path: Path, *, is_named: bool) -> Iterator[Piece]:
        packed = path.name.endswith(".gz")
        try:
            with path.open("rb") as raw:
                opened = cast("IO[bytes]", gzip.GzipFile(fileobj=raw) if packed else raw)
                if b"\0" in _peeked(opened):
                    if is_named:
                        raise CorpusError(f"{path}: is no text: it holds NUL bytes")
                    self.left_out += 1
                    return
                self.files.append(path)
                lines = path.name.endswith(JSON_LINES)
                read = self._json_lines(opened, raw) if lines else self._blocks(opened, raw)
                yield from read
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CorpusError(f"{path}: {why}") from error

    def _blocks(self, opened: IO[bytes], raw: IO[bytes]) -> Iterator[Piece]:
        offset, kept, new = 0, b"", True
        while block := opened.read(BLOCK_BYTES):
            text, kept = _whole(kept + block)
            self.bad_bytes += _bad(text)
            yield Piece(text, len(self.files) - 1, 0, offset, new)
            offset, new = offset + len(text), False
            self._tell(raw)
        self.bad_bytes += _bad(kept)
        if kept:
            yield Piece(kept, len(self.files) - 1, 0, offset, new)
        self._read_bytes += raw.tell()

    def _json_lines(self, opened: IO[bytes], raw: IO[bytes]) -> Iterator[Piece]:
        decode = msgspec.json.Decoder().decode
        keys = self.key.split(".")
        told = 0
        for number, line in enumerate(iter(lambda: opened.readline(LINE_MAX_BYTES), b""), 1):
            if not line.strip():
                continue
            try:
                texts = list(_texts(decode(line), keys))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                texts = []
            self.bad_lines += not texts
            for text in texts:
                body = text.encode(errors="replace")
                yield Piece(body, len(self.files) - 1, number, 0, new=True)
            told += len(line)
            if told > BLOCK_BYTES:
                told = 0
                self._tell(raw)
        self._read_bytes += raw.tell()

    def _tell(self, raw: IO[bytes]) -> None:
        if self.told is not None:
            self.told(self._read_bytes + raw.tell(), self._all_bytes)


def _peeked(opened: IO[bytes]) -> bytes:
    """The first bytes; the file stands at its beginning again."""
    head = opened.read(SNIFF_BYTES)
    opened.seek(0)
    return head


def _whole(text: bytes) -> tuple[bytes, bytes]:
    """Cut before a character that is not whole yet."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 != 0x80:  # it begins a character (RFC 3629)
            needs = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
            return (text, b"") if needs <= back else (text[:-back], text[-back:])
    return text, b""


def _bad(text: bytes) -> int:
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").count("\ufffd") - text.count(b"\xef\xbf\xbd")
    return 0


def _texts(value: Any, keys: Sequence[str]) -> Iterator[str]:
    """Every text at a dotted path."""
    if not keys:
        if isinstance(value, str):
            yield value
        return
    key, rest = keys[0], keys[1:]
    if isinstance(value, dict) and key in value:
        yield from _texts(value[key], rest)
    elif isinstance(value, list) and key == "*":
        for one in value:
            yield from _texts(one, rest)
    elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        yield from _texts(value[int(key)], rest)
