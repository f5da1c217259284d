"""Lines of a file of results, each as the JSON value that it holds; gzip is unpacked."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from gzip import BadGzipFile
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from pfid.formats.results.problems import RecordError, ResultFileError

SKIP_BYTES: Final = 1 << 20
BOM: Final = b"\xef\xbb\xbf"
CUT_OFF: Final = (EOFError, zlib.error, BadGzipFile)
Value = tuple[str, int, Any]
"""Place, number and value of a line."""


class ResultLines:
    """Reads one file line by line. What is no JSON is refused and the next one read."""

    def __init__(
        self,
        path: Path,
        stream: BinaryIO,
        limit: int,
        refuse: Callable[[str, RecordError], None],
        progress: Callable[[int], None],
    ) -> None:
        """Take a file.

        Args:
            path: for its name.
            stream: of its bytes, unpacked.
            limit: bytes of a line at most.
            refuse: is told the place of what is no value, and why.
            progress: is told each number before it is read.
        """
        self._path = path
        self._stream = stream
        self._limit = limit
        self._refuse = refuse
        self._progress = progress
        self._lines = self._raw()
        first = next(self._lines, b"")
        self.first = b"" if first is None else first.removeprefix(BOM)

    def begin(self) -> Any:
        """The value of the first line, or of the whole file where that is one; None for neither.

        Raises:
            ResultFileError: if it is one value, and a broken one.
        """
        data = _parsed_or_none(self.first)
        if data is None and self.first.lstrip()[:1] in (b"{", b"[") and self._is_one_value():
            data, self._lines = self._whole(), iter(())
        return data

    def alone(self) -> bool:
        """Whether nothing but blanks follows the first line: else that is not the whole file."""
        for blanks, line in enumerate(self._lines):
            if line is None or line.strip():
                self._lines = chain([b""] * blanks, (line,), self._lines)
                return False
        return True

    def values(self) -> Iterator[Value]:
        """Every line that holds a value; of a list of objects, every entry."""
        more = 0
        for number, line in enumerate(chain((self.first,), self._lines), 1):
            self._progress(number + more)
            place = f"{self._path.name}:{number}"
            if line is not None and not line.strip():
                continue
            try:
                value = _parsed(line, self._limit)
            except RecordError as error:
                self._refuse(place, error)
                continue
            if not _is_batch(value):
                yield place, number + more, value
                continue
            yield f"{place}[0]", number + more, value[0]
            for at, one in enumerate(value[1:], 1):
                more += 1
                self._progress(number + more)
                yield f"{place}[{at}]", number + more, one

    def refuse_rest(self, reason: str, detail: str) -> None:
        """Refuse every line after the first that is not blank."""
        for number, line in enumerate(self._lines, 2):
            if line is None or line.strip():
                self._refuse(f"{self._path.name}:{number}", RecordError(reason, detail))

    def listed(self, data: Iterable[Any]) -> Iterator[Value]:
        """Every entry of a file that is one list."""
        for number, one in enumerate(data):
            self._progress(number)
            yield f"{self._path.name}[{number}]", number, one

    def _is_one_value(self) -> bool:
        """A file of one JSON value over many lines, and not lines of which the first is broken."""
        name = self._path.name.lower()
        return self.first.strip() in (b"{", b"[") or (
            ".jsonl" not in name and name.removesuffix(".gz").endswith(".json")
        )

    def _whole(self) -> Any:
        try:
            return json.loads(self.first + self._stream.read())
        except (ValueError, RecursionError) as error:
            raise ResultFileError(f"{self._path}: is no JSON: {error}") from error
        except CUT_OFF as error:
            raise ResultFileError(f"{self._path}: ends in the middle: {error}") from error

    def _raw(self) -> Iterator[bytes | None]:
        """Every line; None for one that is too long."""
        number = 0
        while True:
            number += 1
            try:
                line = self._stream.readline(self._limit + 1)
                if len(line) > self._limit and not line.endswith(b"\n"):
                    self._to_end_of_line()
                    yield None
                    continue
            except CUT_OFF as error:
                why = f"what is packed in it ends in the middle: {error}"
                self._refuse(f"{self._path.name}:{number}", RecordError("cut_off", why))
                return
            if not line:
                return
            yield line

    def _to_end_of_line(self) -> None:
        while True:
            more = self._stream.readline(SKIP_BYTES)
            if not more or more.endswith(b"\n"):
                return


def _is_batch(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _parsed_or_none(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _parsed(line: bytes | None, limit: int) -> Any:
    if line is None:
        raise RecordError("line_too_long", f"over {limit} bytes (records.line_max_bytes)")
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise RecordError("not_utf8", f"byte {error.start}: {error.reason}") from error
    except RecursionError as error:
        raise RecordError("not_json", "nested too deep") from error
    except ValueError as error:
        raise RecordError("not_json", str(error)[:200]) from error
