"""Files of an evaluation's records, each read in the format that it is written in.

Nothing is dropped: what cannot be read as a record is a bad record with its place and why.
"""

import gzip
import hashlib
import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from pfid.adapters import inspect_archives
from pfid.adapters.result_lines import CUT_OFF, SKIP_BYTES, ResultLines, Value
from pfid.config.gates import Records
from pfid.formats.results import inspect_log, json_lines, lm_eval
from pfid.formats.results.logged import Logged
from pfid.formats.results.problems import RecordError, ResultFileError
from pfid.spec.ports.results import BadRecord, ResultRecord

SAY_EVERY_S: Final = 2.0
GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"


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
    _contents: dict[tuple[str, str, str], Path] = field(default_factory=dict)
    _places: dict[tuple[int, int], Path] = field(default_factory=dict)
    _copies: Counter[str] = field(default_factory=Counter)
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
                content = hashlib.sha256()
                stream = io.BufferedReader(_Hashed(raw.readinto, self._digest, content), 1 << 16)
                file = _File(self, path, cast("BinaryIO", stream), run)
                read = file.logged()
                unpacked = file.unpacked()
                while stream.read(SKIP_BYTES):  # the digest is of all of it
                    pass
                at = os.fstat(raw.fileno())
                whole = unpacked or content.hexdigest()
                return self._but_copies(file, read, whole, (at.st_dev, at.st_ino))
        except OSError as error:
            why = error.strerror or str(error)
            raise ResultFileError(f"{path}: cannot be read: {why}") from error

    def _but_copies(
        self, file: "_File", read: Logged, content: str, place: tuple[int, int]
    ) -> Logged:
        """What was read, or nothing where a file of the same task held the same, byte by byte.

        Another file that holds the same is a copy where a run says itself when it was made, and
        either that or a run of a stack which answers the same each time where it does not.
        """
        key = file.task, file.made, content
        alike, itself = self._contents.get(key), self._places.get(place)
        if not read.records or (alike is None and itself is None):
            self._contents[key] = self._places[place] = file.path
            return read
        self._places.setdefault(place, file.path)
        self._copies[file.task] += 1
        if itself is not None:
            return Logged(copy=f"{file.path} was given as {itself} already")
        said = f"{file.path} holds, byte for byte, what {alike} holds"
        return Logged(copy=said) if file.made else Logged(twin=said)

    @property
    def runs(self) -> int:
        """How many repeated runs the files are: logs of one task, or files of lines.

        Where lines say themselves which repeat they are of, one file may hold several.
        """
        lines = 0 if self.how.fields.repeat else self.formats.count("json_lines")
        logs = (n + 1 - self._copies[task] for task, n in self._runs.items())
        return max(lines - self._copies[""], *logs, 1)

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

    def __init__(self, read_into: Callable[[Any], int | None], *digests: Any) -> None:
        self._read_into = read_into
        self._digests = digests

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._read_into(buffer) or 0
        for digest in self._digests:
            digest.update(memoryview(buffer)[:size])
        return size


class _File:
    """One file, whatever it holds."""

    def __init__(self, reader: Reader, path: Path, stream: BinaryIO, run: int) -> None:
        self.reader = reader
        self.how = reader.how
        self.path = path
        self.stream = stream
        self.run = run
        self.task = ""
        self.made = ""
        """When, and under which seed, as far as its log tells: two runs never say the same."""
        self.bad: list[BadRecord] = []
        self._content = hashlib.sha256()
        self._packed: BinaryIO | None = None

    def unpacked(self) -> str:
        """Digest of what a packed file holds, once it was read; "" for any other."""
        if self._packed is None:
            return ""
        with suppress(*CUT_OFF):
            while self._packed.read(SKIP_BYTES):
                pass
        return self._content.hexdigest()

    def logged(self) -> Logged:
        head = cast("io.BufferedReader", self.stream).peek(4)[:4]
        if head == ZIP:
            with inspect_archives.opened(self.path) as archive:
                return self._of_inspect(archive.header, archive.samples)
        stream = self.stream
        if head[:2] == GZIP:
            # One piece at a time: what comes before a cut is read before the cut is met.
            hashed = _Hashed(gzip.GzipFile(fileobj=stream).readinto1, self._content)
            stream = self._packed = cast("BinaryIO", io.BufferedReader(hashed, 1 << 16))
        progress = partial(self.reader.progress, self.path)
        lines = ResultLines(self.path, stream, self.how.line_max_bytes, self._refuse, progress)
        data = lines.begin()
        if isinstance(data, list) and lines.alone():
            return self._lines(lines.listed(data))
        if self._is("inspect", inspect_log.is_log(data)):
            lines.refuse_rest(
                "after_a_log", "a file holds one log of inspect-ai: give each its own"
            )
            return self._inspect(data)
        if self._is("lm_eval", lm_eval.is_sample(data)):
            return self._lm_eval(lines.values())
        return self._lines(lines.values())

    def _is(self, name: str, looks: object) -> bool:
        wanted = self.how.format
        return wanted == name or (wanted == "auto" and bool(looks))

    def _refuse(self, place: str, error: RecordError) -> None:
        self.bad.append(BadRecord(place=place, reason=error.reason, detail=error.detail))

    def _lines(self, lines: Iterable[Value]) -> Logged:
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

    def _lm_eval(self, lines: Iterable[Value]) -> Logged:
        self.reader.formats.append("lm_eval")
        task = lm_eval.task_of(self.path.name) or self.how.family or self.path.stem
        self.task = task
        run = self.reader.run_of(task)
        results = _results_beside(self.path)
        seed = lm_eval.seed_of(results, task)
        self.made = f"{_made_at(self.path, results)} seed {seed}" if results else ""
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

    def _inspect(self, log: Any) -> Logged:
        if not inspect_log.is_log(log):
            raise ResultFileError(f"{self.path}: is no log of inspect-ai")
        samples = log.get("samples") or []
        if not isinstance(samples, list):
            raise ResultFileError(f"{self.path}: its samples are no list")
        return self._of_inspect(
            log,
            ((f"{self.path.name}[{i}]", partial(_same, one)) for i, one in enumerate(samples)),
        )

    def _of_inspect(
        self, header: Mapping[str, Any], samples: Iterable[tuple[str, Callable[[], Any]]]
    ) -> Logged:
        self.reader.formats.append("inspect")
        self.task = inspect_log.task_of(header)
        self.made = "in the log"
        run = self.reader.run_of(self.task)
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


def _same(value: Any) -> Any:
    return value


def _results_beside(path: Path) -> Mapping[str, Any]:
    """The harness's results file of the same run; empty if there is none."""
    beside = path.with_name(f"results_{_date_of(path)}.json")
    try:
        found = json.loads(beside.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if lm_eval.is_results(found) else {}


def _date_of(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl").rpartition("_")[2]


def _made_at(path: Path, results: Mapping[str, Any]) -> str:
    """When the harness's run was made: what it wrote down goes before what its file is called."""
    return str(results.get("date") or _date_of(path))
