"""A real process with a log and a step file of its own, handed over as any run is."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from pfid.adapters import process_identity
from pfid.adapters.control_client import ControlClient
from pfid.adapters.run_records import INSTRUMENTED
from pfid.bootstrap.attached_log import attached_log
from pfid.domain.errors import PfidError
from pfid.domain.names import RunId, run_id
from pfid.domain.verdict import Entity, EntityKind
from pfid.wire.control import HandedLog, Register, Registered, Role
from pfid.wire.record import RecordedLog, RecordedProcess, RunRecord, recorded

LIFE_S: Final = 900
EATEN_BYTES: Final = 400_000_000
EATER: Final = f"import sys; sys.stdin.readline(); held = bytearray(b'x') * {EATEN_BYTES}"
DELIVERY_S: Final = 60.0
_STATE_FIELD: Final = 2


class CannotPlantError(PfidError):
    """A fault cannot be planted on this machine, or not by this user: nothing is shown by that."""


class NotDeliveredError(PfidError):
    """A planted fault did not arrive, so what follows would prove nothing."""


class Home(Protocol):
    """Where a canary's process is put before anybody hears of it."""

    def take(self, pid: int) -> None:
        """Put a process there."""
        ...


class Canary:
    """One synthetic run. Close it: its process ends and its descriptors are given back."""

    def __init__(
        self,
        client: ControlClient,
        folder: Path,
        *,
        expect_step_s: float | None = None,
        appends_to: "Canary | None" = None,
        name: str = "",
        home: Home | None = None,
    ) -> None:
        """Start the process and register it.

        Args:
            client: of the daemon.
            folder: an empty one, for log and step file.
            expect_step_s: as ``--expect-step`` says it.
            appends_to: an earlier one, to whose log it appends as it is.
            name: one that it shares with other canaries; else it has its own.
            home: where its process is put first.

        Raises:
            ControlError: if the daemon does not take it.
            CannotPlantError: if it cannot be told here whose log it appends to.
        """
        self.run_id: RunId = run_id(f"selftest-{secrets.token_hex(6)}")
        self.entity = Entity(EntityKind.RUN, self.run_id)
        self._name = name or f"selftest canary {self.run_id}"
        self._written: dict[int, bytes] = {}
        with contextlib.ExitStack() as undo:
            self.log: Path = folder / "canary.log" if appends_to is None else appends_to.log
            self._log_fd = self._file(undo, self.log)
            self._steps_fd = self._file(undo, folder / "canary.steps.jsonl")
            self._process = subprocess.Popen(  # noqa: S603 - a fixed command
                [sys.executable, "-I", "-S", "-c", EATER] if home else ["/bin/sleep", str(LIFE_S)],
                stdin=subprocess.PIPE,
                stdout=self._log_fd,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            undo.callback(self._end)
            if home is not None:
                home.take(self._process.pid)
            self._pidfd = os.pidfd_open(self._process.pid)
            undo.callback(os.close, self._pidfd)
            self._identity = self._captured()
            log = self.record(() if appends_to is None else (appends_to.record(),)).logs[0]
            if appends_to is not None and not log.file_id:
                raise CannotPlantError("the file system here does not tell one file from another")
            self.metrics_url = self._register(client, expect_step_s, log)
            self._undo = undo.pop_all()

    def _file(self, undo: contextlib.ExitStack, path: Path) -> int:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        undo.callback(os.close, fd)
        return fd

    def _captured(self) -> RecordedProcess:
        captured = process_identity.capture(self._process.pid)
        os.close(captured.pidfd)
        return recorded(captured.identity)

    def record(self, earlier: Sequence[RunRecord] = ()) -> RunRecord:
        """What an attach would write down of it now, its log looked at beside earlier runs'."""
        log = attached_log(os.path.realpath(self.log), self._identity, earlier)
        return RunRecord(
            run_id=self.run_id,
            name=self._name,
            process=self._identity,
            started_at_s=time.time(),
            logs=[log],
        )

    def _register(
        self, client: ControlClient, expect_step_s: float | None, log: RecordedLog
    ) -> str | None:
        request = Register(
            name=self._name,
            run_id=self.run_id,
            pid=self._process.pid,
            start_ticks=None,
            started_at_s=time.time(),
            expect_step_s=expect_step_s,
            synthetic=True,
            roles=[Role.PIDFD, Role.LOG, Role.STEPS],
            logs=[
                HandedLog(begins_at=log.begins_at, size_at_start=log.older_bytes),
                HandedLog(),
            ],
        )
        fds = (self._pidfd, self._log_fd, self._steps_fd)
        return client.ask(request, Registered, fds).metrics_url

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def say(self, *lines: str) -> None:
        """Append lines to the log.

        Raises:
            NotDeliveredError: if they cannot be read back from the descriptor that was handed over.
        """
        self._append(self._log_fd, "".join(f"{line}\n" for line in lines).encode())

    def step(self, indices: Iterable[int], seconds: float) -> None:
        """Append steps to the step file.

        Raises:
            NotDeliveredError: likewise.
        """
        records = (
            {"step": i, "seconds": seconds, "phase": "train", "clock": "reported"} for i in indices
        )
        self._append(self._steps_fd, "".join(f"{json.dumps(r)}\n" for r in records).encode())

    def instrument(self) -> None:
        """Begin the step file as ``pfid run --instrument`` does.

        Raises:
            NotDeliveredError: likewise.
        """
        self._append(self._steps_fd, INSTRUMENTED)

    def _append(self, fd: int, data: bytes) -> None:
        at = os.fstat(fd).st_size
        os.write(fd, data)
        if os.pread(fd, len(data), at) != data:
            raise NotDeliveredError("what was written cannot be read back from the file")

    def kill(self) -> None:
        """Kill the process; its parent, which is us, does not reap it.

        Raises:
            NotDeliveredError: if it lives on.
        """
        self._send(signal.SIGKILL)
        self._until("Z", "was not killed")

    def eat(self) -> None:
        """Have a process that was started with a home take more memory than that gives.

        Raises:
            NotDeliveredError: if it lives on.
        """
        if self._process.stdin is not None:
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()
        self._until("Z", "was not killed for memory")

    def stop(self) -> None:
        """Stop the process (state T).

        Raises:
            NotDeliveredError: if it runs on.
        """
        self._send(signal.SIGSTOP)
        self._until("T", "was not stopped")

    def go_on(self) -> None:
        """Let a stopped process run again.

        Raises:
            NotDeliveredError: if it stays stopped.
        """
        self._send(signal.SIGCONT)
        self._until("SR", "does not run again")

    def _send(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self._pidfd, number)

    def _until(self, states: str, problem: str) -> None:
        """Wait for the kernel itself to say so."""
        until_s = time.monotonic() + DELIVERY_S
        while self._state() not in states:
            if time.monotonic() > until_s:
                raise NotDeliveredError(f"the canary {problem}")
            time.sleep(0.005)

    def _state(self) -> str:
        line = Path(f"/proc/{self._process.pid}/stat").read_text()
        return line.rpartition(")")[2].split()[0]

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def close(self) -> None:
        """End the process and give the descriptors back."""
        self._undo.close()
