"""Files of an evaluation's records, read in the format they are written in.

Nothing is dropped: what cannot be read as a record is a bad record with its place and why.
"""

import gzip
import hashlib
import io
import json
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from pfid.adapters.zip_member import MemberError, unpacked
from pfid.config.gates import Records
from pfid.domain.errors import PfidError
from pfid.formats.results import inspect_log, json_lines, lm_eval
from pfid.formats.results.logged import Logged
from pfid.formats.results.problems import RecordError
from pfid.spec.ports.results import BadRecord, ResultRecord

SAY_EVERY_S: Final = 2.0
SKIP_BYTES: Final = 1 << 20
GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"
BOM: Final = b"\xef\xbb\xbf"
CUT_OFF: Final = (EOFError, zlib.error, gzip.BadGzipFile)


class ResultFileError(PfidError):
    """A file of results cannot be read at all."""


@dataclass(kw_only=True)
class Reader:
    """Reads the files of one arm.

    Attributes:
        how: they are read.
        told: how far it is, every two seconds.
        formats: of the files that were read, in order.
    """

    how: Records
    told: Callable[[str], None] = lambda _: None
    formats: list[str] = field(default_factory=list)
    _digest: Any = field(default_factory=hashlib.sha256)
    _runs: dict[str, int] = field(default_factory=dict)
    _seen: int = 0
    _said_at_s: float = field(default_factory=time.monotonic)

    @property
    def digest(self) -> str:
        """Of the bytes of every file that was read, in order."""
        return f"sha256:{self._digest.hexdigest()}"

    def read(self, path: Path, run: int) -> Logged:
        """Read a file.

        Args:
            path: of it.
            run: how many files of the arm came before.

        Raises:
            ResultFileError: if it cannot be read at all.
        """
        try:
            with path.open("rb", buffering=0) as raw:
                hashed = _Hashed(raw, self._digest)
                stream = io.BufferedReader(hashed, 1 << 16)
                read = _File(self, path, cast("BinaryIO", stream), run).logged()
                while stream.read(SKIP_BYTES):  # the digest is of all of it
                    pass
                return read
        except OSError as error:
            why = error.strerror or str(error)
            raise ResultFileError(f"{path}: cannot be read: {why}") from error

    @property
    def runs(self) -> int:
        """How many repeated runs the files are: logs of one task, or files of lines.

        Where lines say themselves which repeat they are of, one file may hold several.
        """
        lines = 0 if self.how.fields.repeat else self.formats.count("json_lines")
        return max(lines, *(n + 1 for n in self._runs.values()), 1)

    def run_of(self, task: str) -> int:
        """How many logs of the same task were read before."""
        self._runs[task] = self._runs.get(task, -1) + 1
        return self._runs[task]

    def progress(self, path: Path, lines: int) -> None:
        """Count one more, and say how far it is, if it is time.

        Raises:
            ResultFileError: if that is more than may be read.
        """
        self._seen += 1
        if self._seen > self.how.max_records:
            raise ResultFileError(
                f"{path}: these are more than {self.how.max_records} records: judge a part of "
                "them, or raise records.max_records (each takes some 1.5 kB and its text)"
            )
        now_s = time.monotonic()
        if now_s - self._said_at_s >= SAY_EVERY_S:
            self._said_at_s = now_s
            self.told(f"{path.name}: {lines} records read")


class _Hashed(io.RawIOBase):
    """A file whose bytes are digested as they are read; each once, in its order."""

    def __init__(self, raw: Any, digest: Any) -> None:
        self._raw = raw
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._raw.readinto(buffer) or 0
        self._digest.update(memoryview(buffer)[:size])
        return size


class _File:
    """One file, whatever it holds."""

    def __init__(self, reader: Reader, path: Path, stream: BinaryIO, run: int) -> None:
        self.reader = reader
        self.how = reader.how
        self.path = path
        self.stream = stream
        self.run = run
        self.bad: list[BadRecord] = []

    def logged(self) -> Logged:
        head = cast("io.BufferedReader", self.stream).peek(4)[:4]
        if head == ZIP:
            return self._archive()
        if head[:2] == GZIP:
            self.stream = cast("BinaryIO", gzip.GzipFile(fileobj=self.stream))
        first, rest = self._first_line()
        data = _parsed_or_none(first)
        if data is None and first.lstrip()[:1] in (b"{", b"[") and self._one_document(first):
            data, rest = self._whole(first), iter(())
        if isinstance(data, list):
            return self._lines(self._listed(data))
        if self._is("inspect", inspect_log.is_log(data)):
            return self._inspect(cast("dict[str, Any]", data))
        numbered = self._numbered(first, rest)
        if self._is("lm_eval", lm_eval.is_sample(data)):
            return self._lm_eval(numbered)
        return self._lines(numbered)

    def _is(self, name: str, looks: object) -> bool:
        wanted = self.how.format
        return wanted == name or (wanted == "auto" and bool(looks))

    def _place(self, number: int) -> str:
        return f"{self.path.name}:{number}"

    def _one_document(self, first: bytes) -> bool:
        """A file of one JSON value over many lines, and not lines of which the first is broken."""
        return first.strip() in (b"{", b"[") or (
            ".jsonl" not in self.path.name.lower()
            and (self.path.name.lower().removesuffix(".gz").endswith(".json"))
        )

    def _whole(self, first: bytes) -> Any:
        try:
            return json.loads(first + self.stream.read())
        except (ValueError, RecursionError) as error:
            raise ResultFileError(f"{self.path}: is no JSON: {error}") from error
        except CUT_OFF as error:
            raise ResultFileError(f"{self.path}: ends in the middle: {error}") from error

    def _first_line(self) -> tuple[bytes, Iterator[bytes | None]]:
        lines = self._raw_lines()
        first = next(lines, b"")
        return (b"" if first is None else first.removeprefix(BOM)), lines

    def _raw_lines(self) -> Iterator[bytes | None]:
        """Every line; None for one that is too long."""
        limit = self.how.line_max_bytes
        number = 0
        while True:
            number += 1
            try:
                line = self.stream.readline(limit + 1)
                if len(line) > limit and not line.endswith(b"\n"):
                    self._to_end_of_line()
                    yield None
                    continue
            except CUT_OFF as error:
                why = f"what is packed in it ends in the middle: {error}"
                self.bad.append(BadRecord(place=self._place(number), reason="cut_off", detail=why))
                return
            if not line:
                return
            yield line

    def _to_end_of_line(self) -> None:
        while True:
            more = self.stream.readline(SKIP_BYTES)
            if not more or more.endswith(b"\n"):
                return

    def _listed(self, data: list[Any]) -> Iterator[tuple[str, int, Any]]:
        for number, one in enumerate(data):
            self.reader.progress(self.path, number)
            yield f"{self.path.name}[{number}]", number, one

    def _numbered(
        self, first: bytes, rest: Iterable[bytes | None]
    ) -> Iterator[tuple[str, int, Any]]:
        """Place, number and value of every line that holds one."""
        for number, line in enumerate((x for part in ((first,), rest) for x in part), 1):
            self.reader.progress(self.path, number)
            place = self._place(number)
            if line is not None and not line.strip():
                continue
            try:
                yield place, number, _parsed(line, self.how.line_max_bytes)
            except RecordError as error:
                self._refuse(place, error)

    def _refuse(self, place: str, error: RecordError) -> None:
        self.bad.append(BadRecord(place=place, reason=error.reason, detail=error.detail))

    def _lines(self, lines: Iterable[tuple[str, int, Any]]) -> Logged:
        self.reader.formats.append("json_lines")
        found: list[ResultRecord] = []
        for place, number, data in lines:
            line = json_lines.Line(
                data=data, number=number, place=place, run=self.run, family=self.how.family
            )
            try:
                found.append(json_lines.record_of(line, self.how.fields))
            except RecordError as error:
                self._refuse(place, error)
        return Logged(records=tuple(found), bad=tuple(self.bad))

    def _lm_eval(self, lines: Iterable[tuple[str, int, Any]]) -> Logged:
        self.reader.formats.append("lm_eval")
        task = lm_eval.task_of(self.path.name) or self.how.family or self.path.stem
        run = self.reader.run_of(task)
        results = _results_beside(self.path)
        seed = lm_eval.seed_of(results, task)
        found: list[ResultRecord] = []
        for place, _, data in lines:
            try:
                found += lm_eval.records_of(data, task, place, run, seed)
            except RecordError as error:
                self._refuse(place, error)
        return Logged(
            records=tuple(lm_eval.merged(found)),
            bad=tuple(self.bad),
            instrument=lm_eval.instrument_of(results, task),
            declared=lm_eval.declared_of(results, task),
        )

    def _inspect(self, log: dict[str, Any]) -> Logged:
        if not inspect_log.is_log(log):
            raise ResultFileError(f"{self.path}: is no log of inspect-ai")
        samples = log.get("samples") or []
        if not isinstance(samples, list):
            raise ResultFileError(f"{self.path}: its samples are no list")
        return self._of_inspect(
            log,
            ((f"{self.path.name}[{i}]", partial(_same, one)) for i, one in enumerate(samples)),
        )

    def _archive(self) -> Logged:
        try:
            with zipfile.ZipFile(self.path) as archive:
                header = self._member(archive, self._header_name(archive))
                if not inspect_log.is_log(header):
                    raise ResultFileError(f"{self.path}: is an archive, and no log of inspect-ai")
                names = [n for n in archive.namelist() if _is_sample(n)]
                return self._of_inspect(
                    header,
                    (
                        (f"{self.path.name}:{name}", partial(self._member, archive, name))
                        for name in names
                    ),
                )
        except (zipfile.BadZipFile, RecordError) as error:
            raise ResultFileError(f"{self.path}: the archive is broken: {error}") from error

    def _header_name(self, archive: zipfile.ZipFile) -> str:
        """A log that was not finished has its beginning in a journal only."""
        names = archive.namelist()
        found = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
        if found is None:
            raise ResultFileError(f"{self.path}: is an archive, and no log of inspect-ai")
        return found

    def _member(self, archive: zipfile.ZipFile, name: str) -> Any:
        try:
            value = json.loads(unpacked(archive, name))
        except (ValueError, RecursionError) as error:
            raise RecordError("not_json", str(error)[:200]) from error
        except (zipfile.BadZipFile, MemberError, *CUT_OFF) as error:
            raise RecordError("cut_off", str(error)[:200]) from error
        if name.startswith("_journal") and isinstance(value, dict):
            value = {"status": "started", **value}
        return value

    def _of_inspect(
        self, header: Mapping[str, Any], samples: Iterable[tuple[str, Callable[[], Any]]]
    ) -> Logged:
        self.reader.formats.append("inspect")
        run = self.reader.run_of(inspect_log.task_of(header))
        found: list[ResultRecord] = []
        for number, (place, sample) in enumerate(samples, 1):
            self.reader.progress(self.path, number)
            try:
                found.append(inspect_log.record_of(sample(), header, place, run))
            except RecordError as error:
                self._refuse(place, error)
        return Logged(
            records=tuple(found),
            bad=tuple(self.bad),
            instrument=inspect_log.instrument_of(header),
            declared=inspect_log.declared_of(header),
        )


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _same(value: Any) -> Any:
    return value


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


def _results_beside(path: Path) -> Mapping[str, Any]:
    """The harness's results file of the same run; empty if there is none."""
    date = path.name.removesuffix(".gz").removesuffix(".jsonl").rpartition("_")[2]
    beside = path.with_name(f"results_{date}.json")
    try:
        found = json.loads(beside.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if lm_eval.is_results(found) else {}
