"""A probe: a script of ours, run by the training interpreter, that answers in JSON lines."""

import contextlib
import json
import os
import queue
import signal
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
LINE_MAX: Final = 1 << 20
DRAIN_S: Final = 1.0
"""A probe that has ended is read for so long: its own workers may hold its pipe open."""
TAIL_BYTES: Final = 2_000


class ProbeError(PfidError):
    """A probe could not be started, or ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One line of a probe.

    Attributes:
        at_s: wall clock when it came.
        said: the object; None for the end.
        rubbish: the line, where it is no JSON object.
    """

    at_s: float
    said: dict[str, Any] | None
    rubbish: str = ""


class ProbeProcess:
    """Starts a script and hands over its lines as they come. Close it: it is ended if it runs."""

    def __init__(
        self,
        python: str,
        script: Path,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path | None = None,
    ) -> None:
        """Start it, in ``folder`` or where we are.

        Raises:
            ProbeError: if the interpreter cannot be started.
        """
        self._ended_s: float | None = None
        self._lines: queue.SimpleQueue[tuple[float, bytes | None]] = queue.SimpleQueue()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the probe
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter its owner names
                [python, str(script), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=dict(environ),
                cwd=folder,
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
        return [answer for answer in self.lines(0.0) if not answer.rubbish]

    def lines(self, wait_s: float) -> list[Answer]:
        """Wait for a line, and return what has come since the last call, its end last."""
        found: list[Answer] = []
        with contextlib.suppress(queue.Empty):
            at_s, line = self._lines.get(timeout=wait_s) if wait_s > 0 else self._lines.get_nowait()
            while True:
                found.append(_answer(at_s, line))
                at_s, line = self._lines.get_nowait()
        if not found and self._over():
            found.append(Answer(at_s=time.time(), said=None))
        return found

    def _over(self) -> bool:
        """Whether it ended a while ago although somebody still holds its pipe."""
        if self.status is None:
            return False
        self._ended_s = self._ended_s or time.monotonic()
        return time.monotonic() - self._ended_s > DRAIN_S

    @property
    def status(self) -> int | None:
        """Exit code, or minus the signal that ended it; None while it runs."""
        if self._process.returncode is not None:
            return self._process.returncode
        try:  # seen, not reaped: until it is closed its process group has this number
            seen = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._process.poll()
        if seen is None:
            return None
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def wait_status(self, wait_s: float) -> int | None:
        """Wait for its end; None if it still runs then."""
        until_s = time.monotonic() + wait_s
        while self.status is None and time.monotonic() < until_s:
            time.sleep(0.01)
        return self.status

    def last_words(self) -> str:
        """The end of what it said on stderr."""
        size = os.fstat(self._said.fileno()).st_size
        tail = os.pread(self._said.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode(errors="replace").strip()

    def close(self) -> None:
        """End it and what it has started, politely first: it may hold a GPU."""
        self._signal(signal.SIGTERM)
        self.wait_status(TERM_S)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join(TERM_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()

    def _signal(self, number: signal.Signals) -> None:
        """To its whole process group, which is ours as long as the probe is not reaped."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _answer(at_s: float, line: bytes | None) -> Answer:
    if line is None:
        return Answer(at_s=at_s, said=None)
    said = _object(line)
    text = "" if said is not None else line.decode(errors="replace").strip() or " "
    return Answer(at_s=at_s, said=said, rubbish=text)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
