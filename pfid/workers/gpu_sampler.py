"""The GPU sampler: reads every GPU at a steady pace and reports, until its owner hangs up.

Run as ``python -m pfid.workers.gpu_sampler SOCKET_FD CELL_FD`` by an owner (pfid.adapters). It is
disposable: a call into the driver may hang, crash or lie here without anybody else noticing. The
index of the device it is about stands in the touch cell, so that the one bad GPU can be held back.
An error that forbids further calls is also heard while a call hangs, by a thread, and told from
there; one that came before this process listened is had from the kernel's log, where that may be
read. It is asked to end with TERM, because killing whoever holds NVML has frozen GPUs
(dcgm-exporter#84), and shuts the driver down politely then.
"""

import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final, NoReturn

from pfid.domain.gpu import FATAL_XIDS, NVML, XidEvent
from pfid.spec.gpu_sampler import GpuReading, GpuSampler, GpuSamplerError
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import Beat, Configure, Opened, Read, Report, Trouble, decode_order, encode
from pfid.workers.bond import die_with_owner, inherited
from pfid.workers.channel import Channel
from pfid.workers.touch_cell import TouchCell

RETRY_FIRST_S: Final = 2.0
RETRY_MAX_S: Final = 60.0
BEAT_S: Final = 5.0
FULL_BYTES: Final = 1024 * 1024
"""Reports that the daemon did not take yet; over it nothing is read."""
OPENING: Final = 1_000
"""In the touch cell while the library as a whole is being opened."""
LEAVE_ON: Final = frozenset({SamplerProblem.DRIVER_MISMATCH})
"""The library in this process is the wrong one, and a process cannot load another."""


class Watched:
    """One sampler, and when it is to be opened again if it could not be read."""

    def __init__(self, sampler: GpuSampler) -> None:
        """Open it at the first chance."""
        self.sampler = sampler
        self.is_open = False
        self.trouble: Trouble | None = None
        self.due_s = 0.0
        self.retry_s = RETRY_FIRST_S


class SamplerLoop:
    """Orders in, readings out."""

    def __init__(self, channel: Channel, cell: TouchCell) -> None:
        """Take over both."""
        self._channel = channel
        self._talking = threading.RLock()
        """Whoever writes to the owner, or says which device is next, holds it."""
        self._cell = cell
        self._configured: Configure | None = None
        self._watched: list[Watched] = []
        self._due_s = time.monotonic()
        self._beat_due_s = 0.0
        self._poll = select.poll()

    def run(self) -> None:
        """Work until the owner hangs up."""
        try:
            while not self._channel.closed:
                self._wait()
                for body in self._channel.receive() or ():
                    self._configure(decode_order(body))
                self._flush()
                now_s = time.monotonic()
                if now_s >= self._due_s:
                    self._turn()
                elif now_s >= self._wake_s():
                    self._repeat_troubles()
        finally:
            self._close_all()

    def _wait(self) -> None:
        waiting = select.POLLOUT if self._channel.pending_bytes else 0
        self._poll.register(self._channel.fileno(), select.POLLIN | waiting)
        self._poll.poll(max(self._wake_s() - time.monotonic(), 0.0) * 1000)

    def _wake_s(self) -> float:
        """When there is something to say: a reading, or a beat where the next one is far off.

        The owner ends whoever is silent for long, however long the interval is.
        """
        soon = self._due_s <= self._beat_due_s + BEAT_S
        return self._due_s if soon else min(self._due_s, self._beat_due_s)

    def _configure(self, order: Configure) -> None:
        before = self._configured
        if before is None:
            self._report(Beat())  # what follows may take a while
            self._flush()
            self._watched = [Watched(s) for s in self._samplers(order)]
            if not self._watched:
                self._leave(SamplerProblem.NO_LIBRARY, "no plugin brings a sampler")
        elif (before.skip, before.look) != (order.skip, order.look):
            self._close_all()
        self._configured = order
        self._due_s = time.monotonic()

    def _close_all(self) -> None:
        """Have everything opened anew, without what is held back now."""
        for watched in self._watched:
            if watched.is_open:
                watched.is_open = False
                watched.sampler.close()
            watched.due_s = 0.0

    def _samplers(self, order: Configure) -> list[GpuSampler]:
        if not order.plugins:
            from pfid.workers.kernel_xids import KernelXids
            from pfid.workers.nvml_sampler import NvmlSampler

            heard = order.heard
            log = KernelXids(Path(order.kernel_log), None if heard is None else heard.record)
            return [NvmlSampler(self._alarm, log, heard, order.places)]
        from pfid.workers.gpu_plugins import collect_samplers

        samplers, problems = collect_samplers(order.plugins)
        for name, what in problems:
            self._report(Trouble(sampler=name, problem=SamplerProblem.OTHER, detail=what))
        return samplers

    def _turn(self) -> None:
        """Read what is due, and say at least that there is nothing to say."""
        configured = self._configured
        now_s = time.monotonic()
        every_s = BEAT_S if configured is None else configured.interval_s
        self._due_s = next_due_s(now_s, every_s)
        if configured is None or self._channel.pending_bytes > FULL_BYTES:
            self._beat()
            return
        told = [self._attend(watched, configured) for watched in self._watched]
        if any(told):
            self._beat_due_s = now_s + BEAT_S
        elif now_s >= self._beat_due_s:
            self._repeat_troubles()

    def _beat(self) -> None:
        self._beat_due_s = time.monotonic() + BEAT_S
        self._report(Beat())

    def _repeat_troubles(self) -> None:
        self._beat()
        for watched in self._watched:
            if watched.trouble is not None:
                self._report(watched.trouble)

    def _attend(self, watched: Watched, configured: Configure) -> bool:
        """Open or read one sampler; whether there was something to tell."""
        if not watched.is_open and time.monotonic() < watched.due_s:
            return False
        try:
            if not watched.is_open:
                self._open(watched, configured)
            got = watched.sampler.read(time.time(), time.monotonic())
            self._cell.clear()  # whatever holds us up now is no device's fault
            self._tell(watched, got)
        except GpuSamplerError as error:
            self._failed(watched, error)
        finally:
            self._cell.clear()
        return True

    def _open(self, watched: Watched, configured: Configure) -> None:
        self._cell.set(OPENING)
        driver = watched.sampler.open(frozenset(configured.skip), self._touch)
        watched.is_open, watched.trouble = True, None
        watched.retry_s = RETRY_FIRST_S
        self._report(
            Opened(sampler=watched.sampler.name, driver=driver.driver, library=driver.library)
        )

    def _touch(self, index: int) -> None:
        with self._talking:  # not after a fatal error that is being told
            self._cell.set(index)

    def _tell(self, watched: Watched, got: GpuReading) -> None:
        fatal = any(event.code in FATAL_XIDS for event in got.xids)
        if got.samples or got.facts is not None or got.xids:
            self._report(
                Read(
                    sampler=watched.sampler.name,
                    at_s=time.time(),
                    samples=got.samples,
                    facts=got.facts,
                    lost=got.lost,
                    xids=got.xids,
                    unheard_s=got.unheard_s,
                    heard=got.heard,
                )
            )
        else:
            self._report(Beat())
        if fatal:
            for each in self._watched:  # nothing more is asked of the driver, not even to close
                each.is_open = False
            self._leave(SamplerProblem.FATAL_XID, "", sampler=watched.sampler.name)

    def _failed(self, watched: Watched, error: GpuSamplerError) -> None:
        if error.xids:
            self._tell(watched, GpuReading(xids=error.xids))
        if watched.is_open:
            watched.is_open = False
            watched.sampler.close()
        name = watched.sampler.name
        if error.problem in LEAVE_ON:
            self._leave(error.problem, error.detail, sampler=name)
        watched.trouble = Trouble(sampler=name, problem=error.problem, detail=error.detail)
        watched.due_s = time.monotonic() + watched.retry_s
        watched.retry_s = min(watched.retry_s * 2, RETRY_MAX_S)
        self._report(watched.trouble)

    def _alarm(self, xids: tuple[XidEvent, ...]) -> NoReturn:
        """A fatal error came while a call hangs: tell it and be gone, in the thread that heard it.

        The call need not come back for that. Should the kernel keep the process for it, the owner
        has been told all the same.
        """
        with self._talking:
            try:
                self._report(Read(sampler=NVML, at_s=time.time(), samples=(), xids=xids))
                self._farewell(SamplerProblem.FATAL_XID, "", sampler=NVML)
            finally:
                os._exit(0)

    def _leave(self, problem: SamplerProblem, detail: str, *, sampler: str = "") -> NoReturn:
        """Say why, and end; the owner decides when there is a reason to start another."""
        with self._talking:
            self._farewell(problem, detail, sampler=sampler)
            raise SystemExit(0)

    def _farewell(self, problem: SamplerProblem, detail: str, *, sampler: str) -> None:
        self._report(Trouble(sampler=sampler, problem=problem, detail=detail, leaving=True))
        until_s = time.monotonic() + 2.0
        poll = select.poll()  # one of its own: the other may be in use by the other thread
        poll.register(self._channel.fileno(), select.POLLOUT)
        while self._channel.pending_bytes and not self._channel.closed:
            if time.monotonic() > until_s:
                break
            poll.poll(100)
            self._flush()

    def _report(self, report: Report) -> None:
        with self._talking:
            self._channel.send(encode(report))

    def _flush(self) -> None:
        with self._talking:
            self._channel.flush()


def next_due_s(now_s: float, every_s: float) -> float:
    """The next multiple of the interval that is not too soon.

    By the same clock the daemon judges at multiples of parts of a second, and the reader of logs
    beats: what comes together wakes it once. A reading too soon would be of too short a time.
    """
    return ((now_s + every_s / 2) // every_s + 1) * every_s


def _asked_to_end(*_: object) -> NoReturn:
    """Unwind, so that the driver is let go of."""
    raise SystemExit(0)


def main() -> None:
    """Take over what the owner handed down and work until it hangs up."""
    die_with_owner()
    channel, cell = inherited(sys.argv[1:])
    signal.signal(signal.SIGTERM, _asked_to_end)
    SamplerLoop(channel, cell).run()


if __name__ == "__main__":
    main()
