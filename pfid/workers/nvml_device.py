"""One GPU, read field by field: what cannot be read is absent with a reason, the rest is there."""

from dataclasses import replace
from typing import Any, Final

from pfid.domain.gpu import XIDS, AbsentReason, GpuFacts, GpuProcess, GpuSample
from pfid.workers import nvml_calls as nvml
from pfid.workers import nvml_values as values
from pfid.workers.nvml_calls import Handle, reading
from pfid.workers.nvml_facts import read_facts
from pfid.workers.nvml_gpm import METRICS, Gpm
from pfid.workers.nvml_power import PowerMeter

SLOW_READS: Final = 5
"""Limit, temperature and error counts are read every so many times: on a real driver each is a
question to the card's own processor, and none of them moves within a second."""
PROCESSES_S: Final = 5.0
"""Listing processes is dear on a real driver, and who is on a card does not change every second."""
FACTS_S: Final = 60.0
LOST_FIRST_S: Final = 2.0
LOST_MAX_S: Final = 60.0
"""Until a card that is lost is asked again; the time doubles. Without an Xid nobody forbids it, and
a dead card costs a driver more than a living one."""
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
        self.swapped = False
        """Whether its handle names another card than it did."""
        self._ask_due_s = now_s
        self._lost_for_s = LOST_FIRST_S
        self.deaf: AbsentReason | None = None
        """Why its errors are not told, None if they are."""
        self._facts_due_s = now_s + FACTS_S
        self._processes_due_s = now_s
        self._processes: Any = AbsentReason.BLANK
        self._read_s: float | None = None
        self._reads = 0
        self._slow: dict[str, Any] = {}
        self._power = PowerMeter(handle)
        self._gpm = Gpm()
        self._gpm.open(handle)

    @property
    def told(self) -> GpuFacts:
        """What it is, and that its errors are not told if that is so."""
        if self.deaf is None:
            return self.facts
        return replace(self.facts, absent={**self.facts.absent, XIDS: self.deaf})

    def look_again(self, now_s: float) -> bool:
        """Read the facts if it is time to; whether they changed."""
        if self.lost or now_s < self._facts_due_s:
            return False
        self._facts_due_s = now_s + FACTS_S
        if self._gpm.unsure:
            self._gpm.close()
            self._gpm.open(self.handle)
        facts = read_facts(self.handle, self.index)
        self.swapped = facts is not None and facts.uuid != self.facts.uuid
        if facts is None or self.swapped or facts == self.facts:
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
        utilization = self._utilization(now_s)
        if self.lost:  # one call has told; the others would only ask a dead card again
            self._power.forget()
            self._reads = 0
            absent = dict.fromkeys(FIELDS, AbsentReason.LOST)
            return GpuSample(uuid=self.facts.uuid, at_s=at_s, window_s=window_s, absent=absent)
        found = self._fields(now_s)
        found["utilization"] = utilization
        return _sample(found, uuid=self.facts.uuid, at_s=at_s, window_s=window_s)

    def _utilization(self, now_s: float) -> values.Value:
        """Ask for it, and so whether the card is lost; one that is, now and then."""
        if self.lost and now_s < self._ask_due_s:
            return AbsentReason.LOST
        utilization = values.share(reading(nvml.utilization_percent, self.handle))
        self.lost = utilization is AbsentReason.LOST
        if self.lost:
            self._ask_due_s = now_s + self._lost_for_s
            self._lost_for_s = min(2 * self._lost_for_s, LOST_MAX_S)
        else:
            self._lost_for_s = LOST_FIRST_S
        return utilization

    def _fields(self, now_s: float) -> dict[str, Any]:
        slow = self._slowly()
        limit_w = slow["power_limit_w"]
        energy_j, power_w, source = self._power.read(limit_w)
        clock_hz = values.within(
            reading(nvml.sm_clock_mhz, self.handle), 0, values.MAX_CLOCK_HZ, 1e6
        )
        return {
            **slow,
            "power_w": power_w,
            "power_source": source,
            "energy_j": energy_j,
            "sm_clock_hz": clock_hz,
            "throttle": values.throttle(reading(nvml.clock_reasons, self.handle)),
            "processes": self._who(now_s),
            **self._memory(),
            **self._gpm.read(self.handle),
        }

    def _slowly(self) -> dict[str, Any]:
        """What moves slowly, as it was read the last few times."""
        if self._reads % SLOW_READS == 0:
            errors = reading(nvml.ecc_uncorrected, self.handle)
            degrees = reading(nvml.temperature_c, self.handle)
            self._slow = {
                "power_limit_w": values.watts(reading(nvml.power_limit_mw, self.handle)),
                "temperature_c": values.within(degrees, *values.TEMPERATURE_C),
                "ecc_uncorrected": values.whole(errors, values.MAX_COUNT),
            }
        self._reads += 1
        return self._slow

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
    """Who is on it. A list with an impossible pid in it is scrambled and tells nothing.

    Only a list that the card does not have may be missing: whoever stands in one that cannot be
    read just now would be nobody, and what it holds would be held by nobody.
    """
    found: list[GpuProcess] = []
    for kind in nvml.KINDS:
        listed = reading(nvml.processes, handle, kind)
        if isinstance(listed, AbsentReason):
            if kind == nvml.KINDS[0] or listed is not AbsentReason.NOT_SUPPORTED:
                return listed
            continue
        known = {process.pid for process in found}
        found += (
            GpuProcess(
                pid=pid, memory_bytes=_bytes(used), instance=instance, graphics=kind == "Graphics"
            )
            for pid, used, instance in listed
            if pid not in known
        )
    if not values.plausible_pids([process.pid for process in found]):
        return AbsentReason.OUT_OF_RANGE
    return tuple(found)


def _bytes(used: int | None) -> int | None:
    """Memory it holds: never none.

    0 is what a driver says of a process in another namespace (HAMi-core#112).
    """
    if used == 0:
        return None
    checked = AbsentReason.BLANK if used is None else values.whole(used, values.MAX_MEMORY_BYTES)
    return None if isinstance(checked, AbsentReason) else checked


def _sample(found: dict[str, Any], **known: Any) -> GpuSample:
    absent = {name: v for name, v in found.items() if isinstance(v, AbsentReason)}
    present = {name: v for name, v in found.items() if name not in absent}
    return GpuSample(**known, **present, absent=absent)
