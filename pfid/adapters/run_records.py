"""A user's records on disk: one folder a run, one pointer a name, every write a rename."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pfid.config.paths import history_dir, record_file, steps_dir
from pfid.domain.errors import StateError
from pfid.domain.names import run_id as check_run_id
from pfid.domain.names import slug
from pfid.policy.run_name import run_id_stem
from pfid.wire.record import (
    RecordedStop,
    RunRecord,
    decode_record,
    decode_stop,
    encode_record,
)


class _Pointer(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    run_id: str


class RunRecords:
    """Below one user's state folder (see pfid.config.paths)."""

    def __init__(self, state_dir: Path) -> None:
        """Nothing is read or made until asked."""
        self._runs = state_dir / "runs"
        self._names = state_dir / "names"
        self._logs = state_dir / "logs"
        self.digests_file = state_dir / "digests.json"
        """Digests of declared files, kept where their owner wants that."""
        self.history_dir = history_dir(state_dir)
        """What runs leave to later ones."""

    def run_dir(self, run_id: str) -> Path:
        """Folder of one run."""
        return self._runs / run_id

    def lock_file(self, name: str) -> Path:
        """Names that differ have different locks, though their slugs may be the same."""
        return self._names / f"{self._key(name)}.lock"

    def log_lock_files(self, log_paths: Sequence[str]) -> Sequence[Path]:
        """Locks of logs, by where each really lies, in the order in which all take them."""
        real = {os.path.realpath(path) for path in log_paths}
        digests = (hashlib.sha256(os.fsencode(path)).hexdigest()[:24] for path in real)
        return [self._logs / f"{digest}.lock" for digest in sorted(digests)]

    @staticmethod
    def _key(name: str) -> str:
        return (
            f"{slug(name)}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
        )

    def make_run_dir(self, run_id: str, ranks: int, *, instrumented: bool = False) -> Path:
        """Make the folder of a run and its step files, one a rank, ready to be handed over.

        A run that shall report by itself says so in the first of them: whoever reads the files
        knows then that silence is a fault.

        Raises:
            StateError: if that cannot be done.
        """
        folder = self.run_dir(run_id)
        try:
            steps_dir(folder).mkdir(mode=0o700, parents=True)
            folder.chmod(0o700)
            for rank in range(ranks):
                (steps_dir(folder) / step_file_name(rank)).touch(mode=0o600)
            if instrumented:
                (steps_dir(folder) / step_file_name(0)).write_bytes(INSTRUMENTED)
        except OSError as error:
            raise StateError(f"cannot make {folder}: {error.strerror}") from error
        return folder

    def discard_run_dir(self, run_id: str) -> None:
        """Remove the folder of a run that never came to be."""
        folder = self.run_dir(run_id)
        for inside in (steps_dir(folder), folder):
            with suppress(OSError):
                for file in inside.iterdir():
                    file.unlink()
                inside.rmdir()

    def reported_steps(self, run_id: str) -> bool:
        """Whether any of its step files holds a step; the first lines tell."""
        for file in sorted(steps_dir(self.run_dir(run_id)).glob("*.jsonl")):
            with suppress(OSError), file.open("rb") as lines:
                if b'"step":' in lines.read(_FIRST_LINES_BYTES):
                    return True
        return False

    def commit(self, record: RunRecord) -> None:
        """Write a run's record; whoever reads sees the old one or the new one.

        Raises:
            StateError: if it cannot be written.
        """
        _replace(record_file(self.run_dir(record.run_id)), encode_record(record))

    def point_to(self, record: RunRecord) -> None:
        """Say that this is the latest run of its name.

        Raises:
            StateError: if it cannot be written.
        """
        pointer = _Pointer(name=record.name, run_id=record.run_id)
        _replace(self._names / f"{self._key(record.name)}.json", msgspec.json.encode(pointer))

    def read(self, run_id: str) -> RunRecord | None:
        """Read a run's record, None if there is none.

        Raises:
            StateError: if it is corrupt, naming the file.
        """
        file = record_file(self.run_dir(run_id))
        body = _read(file)
        return None if body is None else decode_record(body, str(file))

    def latest(self, name: str) -> tuple[list[RunRecord], list[str]]:
        """Records that may speak of a living run of this name, and what is corrupt.

        The pointer decides. Where it is missing or corrupt, every record of the name's slug is
        read instead, so that a lost pointer does not let a second run in.
        """
        file = self._names / f"{self._key(name)}.json"
        problems: list[str] = []
        try:
            pointed = self._pointed(file)
        except StateError as error:
            problems.append(str(error))
            pointed = None
        if pointed is not None:
            run_ids = [pointed]
        else:
            run_ids = [folder.name for folder in self._runs.glob(f"{run_id_stem(name)}-*")]
        return [
            record for record in self._readable(run_ids, problems) if record.name == name
        ], problems

    def _pointed(self, file: Path) -> str | None:
        body = _read(file)
        if body is None:
            return None
        try:
            return check_run_id(msgspec.json.decode(body, type=_Pointer).run_id)
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
            raise StateError(f"{file} does not name a run: {error}") from error

    def _readable(self, run_ids: list[str], problems: list[str]) -> Iterator[RunRecord]:
        for run_id in run_ids:
            try:
                record = self.read(run_id)
            except StateError as error:
                problems.append(str(error))
            else:
                if record is not None:
                    yield record

    def run_ids(self) -> frozenset[str]:
        """Every run that has a folder."""
        try:
            return frozenset(folder.name for folder in self._runs.iterdir())
        except OSError:
            return frozenset()

    def current(self) -> list[RunRecord]:
        """The latest run of every name; what is corrupt is left out."""
        run_ids = []
        for file in sorted(self._names.glob("*.json")):
            try:
                run_id = self._pointed(file)
            except StateError:
                continue
            if run_id is not None:
                run_ids.append(run_id)
        return list(self._readable(run_ids, []))

    def commit_stop(self, run_id: str, stop: RecordedStop) -> None:
        """Write down who stops a run, and why, before it is made to end.

        Raises:
            StateError: if it cannot be written.
        """
        _replace(self.run_dir(run_id) / "stop.json", encode_record(stop))

    def stop_of(self, run_id: str) -> RecordedStop | None:
        """Who stopped a run, None if nobody did or it is not readable."""
        file = self.run_dir(run_id) / "stop.json"
        try:
            body = _read(file)
            return None if body is None else decode_stop(body, str(file))
        except StateError:
            return None


_FIRST_LINES_BYTES: Final = 1 << 20
INSTRUMENTED: Final = b'{"note":"instrumented"}\n'


def step_file_name(rank: int) -> str:
    """Name of one rank's step file."""
    return f"rank-{rank}.jsonl"


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot read {file}: {error.strerror}") from error


def _replace(file: Path, body: bytes) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_bytes(body)
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StateError(f"cannot write {file}: {error.strerror}") from error
