"""One GPU, read field by field: what cannot be read is absent with a reason, the rest is there."""

from typing import Any, Final

from pfid.domain.gpu import AbsentReason, GpuFacts, GpuProcess, GpuSample, PowerSource
from pfid.workers import nvml_calls as nvml
from pfid.workers import nvml_values as values
from pfid.workers.nvml_calls import Handle, reading
from pfid.workers.nvml_facts import read_facts
from pfid.workers.nvml_gpm import METRICS, Gpm

PROCESSES_S: Final = 5.0
"""Listing processes is dear on a real driver, and who is on a card does not change every second."""
FACTS_S: Final = 60.0
FIELDS: Final = (
    "utilization",
    "power_w",
    "power_limit_w",
    "energy_j",
    "sm_clock_hz",
    "throttle",
    "memory_used_bytes",
    "temperature_c",
    *METRICS,
    "ecc_uncorrected",
    "processes",
)
"""All that is absent of a GPU that is lost."""


class Device:
    """One GPU and what was read of it last."""

    def __init__(self, handle: Handle, index: int, facts: GpuFacts, now_s: float) -> None:
        """Take a device that was found."""
        self.handle = handle
        self.index = index
        self.facts = facts
        self.lost = False
        self._facts_due_s = now_s + FACTS_S
        self._processes_due_s = now_s
        self._processes: Any = AbsentReason.BLANK
        self._read_s: float | None = None
        self._energy_j: float | None = None
        self._gpm = Gpm()
        self._gpm.open(handle)

    def look_again(self, now_s: float) -> bool:
        """Read the facts if it is time to; whether they changed."""
        if self.lost or now_s < self._facts_due_s:
            return False
        self._facts_due_s = now_s + FACTS_S
        facts = read_facts(self.handle, self.index)
        if facts is None or facts.uuid != self.facts.uuid or facts == self.facts:
            return False
        self.facts = facts
        return True

    def read(self, at_s: float, now_s: float) -> GpuSample:
        """Read everything once.

        Raises:
            GpuSamplerError: if the driver as a whole is gone.
        """
        window_s = None if self._read_s is None else now_s - self._read_s
        self._read_s = now_s
        utilization = values.share(reading(nvml.utilization_percent, self.handle))
        self.lost = utilization is AbsentReason.LOST
        if self.lost:  # one call has told; the others would only ask a dead card again
            self._energy_j = None
            absent = dict.fromkeys(FIELDS, AbsentReason.LOST)
            return GpuSample(uuid=self.facts.uuid, at_s=at_s, window_s=window_s, absent=absent)
        found = self._fields(now_s, window_s)
        found["utilization"] = utilization
        return _sample(found, uuid=self.facts.uuid, at_s=at_s, window_s=window_s)

    def _fields(self, now_s: float, window_s: float | None) -> dict[str, Any]:
        energy_j = values.joules(reading(nvml.energy_mj, self.handle))
        power_w, source = self._power(energy_j, window_s)
        self._energy_j = None if isinstance(energy_j, AbsentReason) else energy_j
        clock_hz = values.within(
            reading(nvml.sm_clock_mhz, self.handle), 0, values.MAX_CLOCK_HZ, 1e6
        )
        errors = values.whole(reading(nvml.ecc_uncorrected, self.handle), values.MAX_COUNT)
        temperature_c = values.within(
            reading(nvml.temperature_c, self.handle), *values.TEMPERATURE_C
        )
        return {
            "power_w": power_w,
            "power_source": source,
            "power_limit_w": values.watts(reading(nvml.power_limit_mw, self.handle)),
            "energy_j": energy_j,
            "sm_clock_hz": clock_hz,
            "throttle": values.throttle(reading(nvml.clock_reasons, self.handle)),
            "temperature_c": temperature_c,
            "ecc_uncorrected": errors,
            "processes": self._who(now_s),
            **self._memory(),
            **self._gpm.read(self.handle),
        }

    def _power(
        self, energy_j: values.Value, window_s: float | None
    ) -> tuple[values.Value, PowerSource | None]:
        """The exact mean where it can be had, else the moment, else the driver's own mean."""
        mean_w = values.mean_power_w(self._energy_j, energy_j, window_s)
        if mean_w is not None:
            return mean_w, PowerSource.ENERGY
        instant_w = values.watts(reading(nvml.instant_power_mw, self.handle))
        if not isinstance(instant_w, AbsentReason):
            return instant_w, PowerSource.INSTANT
        average_w = values.watts(reading(nvml.average_power_mw, self.handle))
        if not isinstance(average_w, AbsentReason):
            return average_w, PowerSource.AVERAGE
        return average_w, None

    def _memory(self) -> dict[str, Any]:
        memory = reading(nvml.memory, self.handle)
        if isinstance(memory, AbsentReason):
            return {"memory_used_bytes": memory, "memory_reserved_bytes": None}
        total, used, reserved = memory
        if not total:
            return {"memory_used_bytes": AbsentReason.NOT_SUPPORTED, "memory_reserved_bytes": None}
        most = min(total, values.MAX_MEMORY_BYTES)
        spare = None if reserved is None else values.whole(reserved, most)
        return {
            "memory_used_bytes": values.whole(used, most),
            "memory_reserved_bytes": None if isinstance(spare, AbsentReason) else spare,
        }

    def _who(self, now_s: float) -> tuple[GpuProcess, ...] | AbsentReason:
        if now_s < self._processes_due_s:
            return self._processes  # type: ignore[no-any-return]
        self._processes_due_s = now_s + PROCESSES_S
        self._processes = _processes(self.handle)
        return self._processes  # type: ignore[no-any-return]

    def close(self) -> None:
        """Give back what the library allocated for it."""
        self._gpm.close()


def _processes(handle: Handle) -> tuple[GpuProcess, ...] | AbsentReason:
    """Who is on it. A list with an impossible pid in it is scrambled and tells nothing."""
    compute = reading(lambda: nvml.processes(handle, graphics=False))
    if isinstance(compute, AbsentReason):
        return compute
    graphics = reading(lambda: nvml.processes(handle, graphics=True))
    drawing = [] if isinstance(graphics, AbsentReason) else graphics
    known = {pid for pid, _, _ in compute}
    listed = [*((p, False) for p in compute), *((p, True) for p in drawing if p[0] not in known)]
    if not values.plausible_pids([pid for (pid, _, _), _ in listed]):
        return AbsentReason.OUT_OF_RANGE
    return tuple(
        GpuProcess(pid=pid, memory_bytes=_bytes(used), instance=instance, graphics=only_draws)
        for (pid, used, instance), only_draws in listed
    )


def _bytes(used: int | None) -> int | None:
    checked = AbsentReason.BLANK if used is None else values.whole(used, values.MAX_MEMORY_BYTES)
    return None if isinstance(checked, AbsentReason) else checked


def _sample(found: dict[str, Any], **known: Any) -> GpuSample:
    absent = {name: v for name, v in found.items() if isinstance(v, AbsentReason)}
    present = {name: v for name, v in found.items() if name not in absent}
    return GpuSample(**known, **present, absent=absent)
