"""NVIDIA's GPUs through NVML."""

import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Final

import pynvml

from pfid.domain.gpu import AbsentReason, GpuSample
from pfid.formats.untrusted import printable
from pfid.spec.gpu_sampler import GpuDriver, GpuReading, GpuSamplerError, Heard, Touch
from pfid.spec.ports.gpus import SamplerProblem
from pfid.workers.kernel_xids import KernelXids
from pfid.workers.nvml_calls import Handle, problem, reading
from pfid.workers.nvml_device import Device
from pfid.workers.nvml_events import XidEvents
from pfid.workers.nvml_facts import read_facts
from pfid.workers.nvml_hearing import Hearing, fatal
from pfid.workers.nvml_hung import Alarm, HungListener

MAX_DEVICES: Final = 64
LOOK_AGAIN_S: Final = 60.0
"""A GPU that is gone may come back only after the library was opened anew."""
LOOK_AGAIN_MAX_S: Final = 600.0
"""One that never answers, since this process may not talk to it, is not looked for every minute."""
LISTEN_AGAIN_S: Final = 2.0
VERSION_CHARS: Final = 40


class NvmlSampler:
    """All GPUs of one driver."""

    name = "nvml"

    def __init__(
        self,
        alarm: Alarm | None = None,
        log: KernelXids | None = None,
        before: Heard | None = None,
        places: Collection[str] = (),
    ) -> None:
        """Open nothing.

        Args:
            alarm: told, in a thread, of a fatal error that comes while a call hangs; None to hear
                of it only when the call has come back.
            log: the kernel's, None to hear of nothing that is in no set of events.
            before: up to where errors were heard before this process.
            places: PCI addresses of the cards that were read before it.
        """
        self._devices: list[Device] = []
        self._events = XidEvents()
        self._hearing = Hearing(self._events, log, before, places)
        self._hung = None if alarm is None else HungListener(self._hearing, alarm)
        self._touch: Touch = lambda _: None
        self._skip: frozenset[int] = frozenset()
        self._open = False
        self._facts_told = False
        self._found = 0
        self._opened_s = 0.0
        self._again_s = LOOK_AGAIN_S
        self._listen_due_s = 0.0

    def open(self, skip: frozenset[int], touch: Touch) -> GpuDriver:
        """Start NVML and find the GPUs.

        Raises:
            GpuSamplerError: if NVML does not start.
        """
        with self._round():
            return self._start(skip, touch)

    def _round(self) -> AbstractContextManager[None]:
        return nullcontext() if self._hung is None else self._hung.round()

    def _start(self, skip: frozenset[int], touch: Touch) -> GpuDriver:
        self._skip, self._touch = skip, touch
        self._hearing.bridge(time.time(), opened=False)
        try:
            pynvml.nvmlInit()
        except Exception as error:
            raise problem(error) from error
        self._open = True
        self._opened_s = time.monotonic()
        try:
            self._find()
        except GpuSamplerError as error:
            if not error.xids:
                self.close()
            raise
        return GpuDriver(
            driver=_version(pynvml.nvmlSystemGetDriverVersion),
            library=_version(pynvml.nvmlSystemGetNVMLVersion),
        )

    def _find(self) -> None:
        """Find the GPUs; before anything else is asked of one, errors of all are listened for."""
        self._found = self._count()
        listed: list[tuple[int, Handle, AbsentReason | None]] = []
        for index in range(self._found):
            if index in self._skip:
                continue
            self._touch(index)
            handle = reading(pynvml.nvmlDeviceGetHandleByIndex, index)
            if not isinstance(handle, AbsentReason):
                listed.append((index, handle, self._events.add(handle)))
        self._hearing.bridge(time.time(), opened=True)
        for index, handle, deaf in listed:
            self._touch(index)
            facts = read_facts(handle, index)
            if facts is not None:
                self._events.name(handle, facts.uuid)
                self._devices.append(Device(handle, index, facts, time.monotonic()))
                self._devices[-1].deaf = deaf
        self._hearing.of({d.facts.uuid: d.facts.pci_bus_id for d in self._devices})
        self._listen_due_s = time.monotonic() + LISTEN_AGAIN_S
        self._facts_told = False

    def _listen_anew(self) -> None:
        """Have errors told of every GPU that answers, and know of which they are not."""
        self._events.close()
        self._listen_due_s = time.monotonic() + LISTEN_AGAIN_S
        for device in self._devices:
            self._touch(device.index)
            lost = device.lost
            why = AbsentReason.LOST if lost else self._events.add(device.handle, device.facts.uuid)
            device.deaf = why
        self._hearing.bridge(time.time(), opened=True)
        self._facts_told = False

    def _count(self) -> int:
        count = reading(pynvml.nvmlDeviceGetCount)
        if isinstance(count, AbsentReason):
            raise GpuSamplerError(SamplerProblem.OTHER, f"no count of devices: {count.value}")
        return min(int(count), MAX_DEVICES)

    def read(self, at_s: float, monotonic_s: float) -> GpuReading:
        """Every GPU once; events first, because after a fatal one nothing may be asked.

        Raises:
            GpuSamplerError: if the driver as a whole is gone, or its list of GPUs changed.
        """
        with self._round():
            return self._read(at_s, monotonic_s)

    def _read(self, at_s: float, monotonic_s: float) -> GpuReading:
        xids = self._hearing.read(at_s)
        if fatal(xids):
            return GpuReading(xids=xids)
        try:
            return replace(self._all(at_s, monotonic_s), xids=xids)
        except GpuSamplerError as error:
            if error.xids:
                error.xids = xids + error.xids
            self._events.keep(xids)  # for when the driver answers again
            raise

    def _all(self, at_s: float, monotonic_s: float) -> GpuReading:
        if self._count() != self._found or self._worth_opening_anew(monotonic_s):
            self.close()
            self.open(self._skip, self._touch)
        samples = tuple(self._one(device, at_s, monotonic_s) for device in self._devices)
        changed = [d.look_again(monotonic_s) for d in self._devices]
        facts = None
        if any(changed) or not self._facts_told:
            facts, self._facts_told = tuple(d.told for d in self._devices), True
        lost = tuple(d.facts.uuid for d in self._devices if d.lost)
        back = any(d.deaf is AbsentReason.LOST and not d.lost for d in self._devices)
        if (self._events.broken or back) and monotonic_s >= self._listen_due_s:
            self._listen_anew()
        return GpuReading(
            samples=samples,
            facts=facts,
            lost=lost,
            unheard_s=self._hearing.unheard_s(),
            heard=self._hearing.heard(),
        )

    def _worth_opening_anew(self, monotonic_s: float) -> bool:
        missing = len(self._devices) + len(self._skip) < self._found
        lost = missing or any(d.lost or d.swapped for d in self._devices)
        if not lost:
            self._again_s = LOOK_AGAIN_S
        if not lost or monotonic_s - self._opened_s < self._again_s:
            return False
        self._again_s = min(2 * self._again_s, LOOK_AGAIN_MAX_S)
        return True

    def _one(self, device: Device, at_s: float, monotonic_s: float) -> GpuSample:
        self._touch(device.index)
        return device.read(at_s, monotonic_s)

    def close(self) -> None:
        """Give everything back and shut NVML down; a driver that is gone cannot refuse."""
        if not self._open:
            return
        self._open = False
        with suppress(GpuSamplerError):
            self._events.close()
            for device in self._devices:
                device.close()
        self._devices = []
        with suppress(Exception):
            pynvml.nvmlShutdown()


def _version(call: object) -> str:
    raw = reading(call)  # type: ignore[arg-type]
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return printable(text, VERSION_CHARS) if isinstance(text, str) else ""
