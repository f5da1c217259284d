"""A probe: a script of ours, run by the training interpreter, that answers in JSON lines."""

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pfid.domain.errors import PfidError

TERM_S: Final = 5.0
LINE_MAX: Final = 65_536
TAIL_BYTES: Final = 2_000


class ProbeError(PfidError):
    """A probe could not be started, or ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One line of a probe: what it says and when it came; ``said`` None for its end."""

    at_s: float
    said: dict[str, Any] | None


class ProbeProcess:
    """Starts a script and hands over its lines as they come. Close it: it is ended if it runs."""

    def __init__(
        self, python: str, script: Path, arguments: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        """Start it.

        Raises:
            ProbeError: if the interpreter cannot be started.
        """
        self._lines: queue.SimpleQueue[tuple[float, bytes | None]] = queue.SimpleQueue()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the probe
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter its owner names
                [python, str(script), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=dict(environ),
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            raise ProbeError(f"{python} cannot be started: {error.strerror}") from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is not None:
            while line := stream.readline(LINE_MAX):
                self._lines.put((time.time(), line))
        self._lines.put((time.time(), None))

    def answers(self) -> list[Answer]:
        """What has come since the last call, its end last.

        Lines that are no JSON object (a library that greets) are passed over.
        """
        found: list[Answer] = []
        with contextlib.suppress(queue.Empty):
            while True:
                at_s, line = self._lines.get_nowait()
                said = None if line is None else _object(line)
                if line is None or said is not None:
                    found.append(Answer(at_s=at_s, said=said))
        return found

    def last_words(self) -> str:
        """The end of what it said on stderr."""
        size = os.fstat(self._said.fileno()).st_size
        tail = os.pread(self._said.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode(errors="replace").strip()

    def close(self) -> None:
        """End it, politely first: it may hold a GPU."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(TERM_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(TERM_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
