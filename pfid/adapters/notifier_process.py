"""The owner of a process that tells people: starts it, starts it again, hears how it stands."""

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event, Thread
from typing import Final

import msgspec

from pfid.adapters.worker_size import SizeWatch
from pfid.wire.notify import NotifyOrder, NotifyReport

MODULE: Final = "pfid.workers.notifier"
AGAIN_S: Final = 1.0
AGAIN_MAX_S: Final = 60.0
LASTING_S: Final = 60.0
CLOSE_S: Final = 3.0
_FOR_EVER_S: Final = 86_400.0
_READ_BYTES: Final = 64 * 1024


class NotifierProcess:
    """Runs while the daemon does. ``reports`` holds what each channel said last."""

    def __init__(
        self,
        order: NotifyOrder,
        say: Callable[[str, str], None],
        memory_max_bytes: int | None = None,
    ) -> None:
        """Prepare.

        Args:
            order: for the process.
            say: is told of trouble: channel and what is wrong.
            memory_max_bytes: what the process may hold before it is ended; None for any.
        """
        self._order = order
        self._say = say
        self._memory_max_bytes = memory_max_bytes
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._run, name="pfid-notifier", daemon=True)
        self._reports: dict[str, NotifyReport] = {}
        self._before: dict[str, NotifyReport] = {}

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """End it; what was not told yet stays queued."""
        self._stopping.set()
        process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)

    def counts(self) -> Mapping[str, tuple[int, int]]:
        """Attempts and failures by channel, over all processes."""
        found = {}
        for name, now in dict(self._reports).items():
            old = self._before.get(name, NotifyReport(channel=name))
            found[name] = (old.attempts + now.attempts, old.failed + now.failed)
        return found

    def _run(self) -> None:
        wait_s = AGAIN_S
        while not self._stopping.is_set():
            began_s = time.monotonic()
            self._once()
            lasted = time.monotonic() - began_s >= LASTING_S
            wait_s = AGAIN_S if lasted else min(wait_s * 2, AGAIN_MAX_S)
            self._stopping.wait(wait_s)

    def _once(self) -> None:
        process = self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if process.stdin is None or process.stdout is None:
            return
        with process.stdout:
            try:
                process.stdin.write(msgspec.json.encode(self._order) + b"\n")
                process.stdin.flush()
                for line in self._lines(process):
                    self._heard(line)
            except (OSError, ValueError, msgspec.MsgspecError) as problem:
                self._say("all", f"lost: {problem}")
            finally:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        try:
            process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._before = {
            name: NotifyReport(channel=name, attempts=attempts, failed=failed)
            for name, (attempts, failed) in self.counts().items()
        }
        self._reports = {name: NotifyReport(channel=name) for name in self._before}
        if not self._stopping.is_set():
            self._say("all", f"the notifier ended with {process.returncode}")

    def _lines(self, process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
        """What it says until it ends; one that holds more than it may is ended.

        It leaves the asking of a service manager to its daemon, so it is not asked first.
        """
        if process.stdout is None:
            return
        out, size, rest = process.stdout.fileno(), SizeWatch(self._memory_max_bytes), b""
        poll = select.poll()
        poll.register(out, select.POLLIN)
        while True:
            if size.outgrown(process.pid):
                process.kill()
                self._say("all", f"holds more than {self._memory_max_bytes} bytes and is ended")
                return
            if not poll.poll(size.sooner_s(_FOR_EVER_S) * 1_000):
                continue
            chunk = os.read(out, _READ_BYTES)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def _heard(self, line: bytes) -> None:
        report = msgspec.json.decode(line, type=NotifyReport)
        self._reports[report.channel] = report
        if report.problem:
            self._say(report.channel, report.problem)
